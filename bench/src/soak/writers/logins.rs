//! Rows of PostgreSQL with three children each. A row of which one is missing is no whole one, and so not there.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use super::super::book::Promise;
use super::super::site::Site;
use super::line::Line;
use super::{Desk, Looker, Writer};
use crate::failure::Failure;

const ADDED: i64 = 10;

const INSERT: &str = "WITH new AS (INSERT INTO logins (id) SELECT unnest($1::bigint[]) RETURNING id)
    INSERT INTO login_events (login_id) SELECT id FROM new, generate_series(1, 3)";
const FINISH: &str =
    "UPDATE logins SET finished_at = timestamptz 'epoch' + $2 * interval '1 millisecond' WHERE id = ANY ($1)";
const LOOK: &str =
    "SELECT l.id FROM logins l JOIN login_events e ON e.login_id = l.id GROUP BY l.id HAVING count(*) = 3";

pub(super) struct Clerk {
    desk: Desk,
    line: Line,
    open: Vec<i64>,
}

impl Clerk {
    pub(super) fn new(desk: Desk, site: &Arc<Site>) -> Self {
        Self { desk, line: Line::new(site), open: Vec::new() }
    }

    async fn begin(&mut self) -> Result<(), Failure> {
        let ids = self.desk.numbers(ADDED);
        let insert = sqlx::query(INSERT).bind(&ids).execute(self.line.open().await?).await;
        let inserted = self.line.after(insert);
        for id in ids {
            let promise = if inserted.is_ok() { Promise::for_ever() } else { Promise::doubtful(Timestamp::MAX) };
            self.desk.book.enter(id.to_string(), promise);
            // One in twenty is never finished.
            if inserted.is_ok() && id % 20 != 0 {
                self.open.push(id);
            }
        }
        inserted.map(drop)
    }

    async fn finish(&mut self) -> Result<(), Failure> {
        let finished = self.desk.record.now().as_millisecond() + i64::try_from(self.desk.life().as_millis())?;
        let due = Timestamp::from_millisecond(finished)?;
        let ids = std::mem::take(&mut self.open);
        // From when on it may be gone is said before, and from when on it must be, after.
        for id in &ids {
            self.desk.book.enter(id.to_string(), Promise { until: due, due: Timestamp::MAX });
        }
        let update = sqlx::query(FINISH).bind(&ids).bind(finished).execute(self.line.open().await?).await;
        self.line.after(update)?;
        for id in &ids {
            self.desk.book.move_to(&id.to_string(), due, true);
        }
        Ok(())
    }
}

#[async_trait]
impl Writer for Clerk {
    async fn write(&mut self) -> Result<(), Failure> {
        self.finish().await?;
        self.begin().await
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
        let ids = sqlx::query_scalar::<_, i64>(LOOK).fetch_all(line.open().await?).await;
        Ok(line.after(ids)?.iter().map(i64::to_string).collect())
    }
}
