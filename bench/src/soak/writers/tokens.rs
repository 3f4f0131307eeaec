//! Rows of PostgreSQL with a deadline, which is moved for some just before it comes, and for some just after.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use super::super::book::Promise;
use super::super::part::Part;
use super::super::site::Site;
use super::line::Line;
use super::{Desk, Looker, Writer};
use crate::failure::Failure;

const ADDED: i64 = 50;
const MOVED: usize = 12;
/// So long before and after their deadline rows are given another one.
const NEAR: [SignedDuration; 2] = [SignedDuration::from_secs(2), SignedDuration::from_secs(3)];

const INSERT: &str = "INSERT INTO tokens (id, expires_at)
    SELECT id, timestamptz 'epoch' + ms * interval '1 millisecond' FROM unnest($1::bigint[], $2::bigint[]) AS new (id, ms)";
const MOVE: &str = "UPDATE tokens SET expires_at = timestamptz 'epoch' + $2 * interval '1 millisecond'
    WHERE id = ANY ($1) RETURNING id";

pub(super) struct Clerk {
    desk: Desk,
    line: Line,
}

impl Clerk {
    pub(super) fn new(desk: Desk, site: &Arc<Site>) -> Self {
        Self { desk, line: Line::new(site) }
    }

    /// From when on a row with this deadline is due.
    fn due(&self, deadline: i64) -> Result<Timestamp, Failure> {
        let keep = i64::try_from(Part::Tokens.keep(self.desk.pace).as_millis())?;
        Ok(Timestamp::from_millisecond(deadline + keep)?)
    }

    async fn add(&mut self) -> Result<(), Failure> {
        let ids = self.desk.numbers(ADDED);
        // Some have no deadline, and stay.
        let deadlines: Vec<Option<i64>> =
            ids.iter().map(|id| (id % 50 != 0).then(|| self.desk.end_of_life())).collect();
        let insert = sqlx::query(INSERT).bind(&ids).bind(&deadlines).execute(self.line.open().await?).await;
        let inserted = self.line.after(insert);
        for (id, deadline) in ids.into_iter().zip(deadlines) {
            let promise =
                deadline.map_or(Ok(Promise::for_ever()), |deadline| self.due(deadline).map(Promise::until))?;
            let promise = if inserted.is_ok() { promise } else { Promise::doubtful(promise.due) };
            self.desk.book.enter(id.to_string(), promise);
        }
        inserted.map(drop)
    }

    async fn move_some(&mut self) -> Result<(), Failure> {
        let (now, [after, before]) = (self.desk.record.now(), NEAR);
        let near = self.desk.book.some(&mut self.desk.chance, MOVED, now - after, now + before);
        let ids: Vec<i64> = near.iter().filter_map(|id| id.parse().ok()).collect();
        let deadline = self.desk.end_of_life();
        let due = self.due(deadline)?;
        let moved =
            sqlx::query_scalar::<_, i64>(MOVE).bind(&ids).bind(deadline).fetch_all(self.line.open().await?).await;
        match self.line.after(moved) {
            // The others have been swept.
            Ok(moved) => {
                for id in moved {
                    self.desk.book.move_to(&id.to_string(), due, true);
                }
                Ok(())
            }
            Err(error) => {
                for id in &near {
                    self.desk.book.move_to(id, due, false);
                }
                Err(error)
            }
        }
    }
}

#[async_trait]
impl Writer for Clerk {
    async fn write(&mut self) -> Result<(), Failure> {
        self.add().await?;
        self.move_some().await
    }
}

pub(super) struct Reader(Line);

impl Reader {
    pub(super) fn new(site: &Arc<Site>) -> Self {
        Self(Line::new(site))
    }
}

#[async_trait]
impl Looker for Reader {
    async fn look(&mut self) -> Result<BTreeSet<String>, Failure> {
        let Self(line) = self;
        let ids = sqlx::query_scalar::<_, i64>("SELECT id FROM tokens").fetch_all(line.open().await?).await;
        Ok(line.after(ids)?.iter().map(i64::to_string).collect())
    }
}
