//! What the history tells of the run, read from its file when no daemon has it open, and listed by the daemon before.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags};

use super::api;
use super::record::Record;
use crate::failure::Failure;

/// A policy's run within a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) sweep: String,
    pub(super) policy: String,
    /// Since the beginning of all.
    pub(super) began: Duration,
    /// `None` where nobody wrote down an end.
    pub(super) ended: Option<Duration>,
    pub(super) outcome: Option<String>,
    pub(super) removed: u64,
    pub(super) error: Option<String>,
}

const RUNS: &str = "SELECT sweep.id, run.policy, sweep.began_ms, coalesce(run.ended_ms, sweep.ended_ms), run.outcome, run.removed, run.error
    FROM run JOIN sweep ON sweep.id = run.sweep ORDER BY sweep.began_ms, sweep.id, run.policy";

/// All runs, in the order of their beginning.
pub(super) fn runs(ledger: &Path, record: &Record) -> Result<Vec<Run>, Failure> {
    let connection = Connection::open_with_flags(ledger, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut statement = connection.prepare(RUNS)?;
    let mut rows = statement.query([])?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next()? {
        let since = |millis: i64| Timestamp::from_millisecond(millis).map(|moment| record.since_begin(moment));
        runs.push(Run {
            sweep: row.get(0)?,
            policy: row.get(1)?,
            began: since(row.get(2)?)?,
            ended: row.get::<_, Option<i64>>(3)?.map(since).transpose()?,
            outcome: row.get(4)?,
            removed: u64::try_from(row.get::<_, i64>(5)?)?,
            error: row.get(6)?,
        });
    }
    Ok(runs)
}

/// The sweeps that the daemon lists, page by page.
pub(super) async fn listed(port: u16) -> Result<Vec<String>, Failure> {
    let (mut sweeps, mut place) = (Vec::new(), "/api/v1/sweeps?limit=200".to_owned());
    loop {
        let page = api::document(port, &place).await?;
        let of_page = page["sweeps"].as_array().ok_or("the daemon lists no sweeps")?;
        sweeps.extend(of_page.iter().filter_map(|sweep| sweep["sweep"].as_str()).map(str::to_owned));
        match page["next_before"].as_str() {
            Some(before) => place = format!("/api/v1/sweeps?limit=200&before={before}"),
            None => return Ok(sweeps),
        }
    }
}
