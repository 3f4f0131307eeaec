//! Rows of a SQLite file that two processes write.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, TransactionBehavior};
use tokio::task::block_in_place;

use super::super::book::Promise;
use super::super::site::Site;
use super::{Desk, Looker, Writer};
use crate::failure::Failure;

const ADDED: i64 = 25;
const MOVED: usize = 6;
const NEAR: SignedDuration = SignedDuration::from_secs(2);

fn connect(site: &Site) -> Result<Connection, Failure> {
    let connection = Connection::open(site.till())?;
    connection.busy_timeout(Duration::from_secs(30))?;
    Ok(connection)
}

pub(super) struct Clerk {
    desk: Desk,
    connection: Connection,
}

impl Clerk {
    pub(super) fn new(desk: Desk, site: &Arc<Site>) -> Result<Self, Failure> {
        Ok(Self { desk, connection: connect(site)? })
    }

    fn add(&mut self) -> Result<(), Failure> {
        let ids = self.desk.numbers(ADDED);
        let rows: Vec<(i64, Option<i64>)> =
            ids.into_iter().map(|id| (id, (id % 50 != 0).then(|| self.desk.end_of_life()))).collect();
        let inserted = self.insert(&rows);
        for (id, deadline) in rows {
            let promise = match deadline {
                Some(deadline) => Promise::until(Timestamp::from_millisecond(deadline)?),
                None => Promise::for_ever(),
            };
            let promise = if inserted.is_ok() { promise } else { Promise::doubtful(promise.due) };
            self.desk.book.enter(id.to_string(), promise);
        }
        Ok(inserted?)
    }

    fn insert(&mut self, rows: &[(i64, Option<i64>)]) -> rusqlite::Result<()> {
        let change = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for row in rows {
            change.prepare_cached("INSERT INTO codes (id, expires_ms) VALUES (?1, ?2)")?.execute(*row)?;
        }
        change.commit()
    }

    fn move_some(&mut self) -> Result<(), Failure> {
        let now = self.desk.record.now();
        for id in self.desk.book.some(&mut self.desk.chance, MOVED, now - NEAR, now + NEAR) {
            let deadline = self.desk.end_of_life();
            let moved = self
                .connection
                .prepare_cached("UPDATE codes SET expires_ms = ?2 WHERE id = ?1")?
                .execute((id.parse::<i64>()?, deadline));
            if !matches!(moved, Ok(0)) {
                self.desk.book.move_to(&id, Timestamp::from_millisecond(deadline)?, moved.is_ok());
            }
            moved?;
        }
        Ok(())
    }
}

#[async_trait]
impl Writer for Clerk {
    async fn write(&mut self) -> Result<(), Failure> {
        block_in_place(|| {
            self.add()?;
            self.move_some()
        })
    }
}

pub(super) struct Reader(Connection);

impl Reader {
    pub(super) fn new(site: &Arc<Site>) -> Result<Self, Failure> {
        connect(site).map(Self)
    }
}

#[async_trait]
impl Looker for Reader {
    async fn look(&mut self) -> Result<BTreeSet<String>, Failure> {
        let Self(connection) = self;
        block_in_place(|| {
            let mut statement = connection.prepare_cached("SELECT id FROM codes")?;
            let ids = statement.query_map([], |row| Ok(row.get::<_, i64>(0)?.to_string()))?;
            Ok(ids.collect::<Result<_, _>>()?)
        })
    }
}
