//! The history of a daemon, read beside it.

use std::time::Duration;

use bygone_testkit::wait::Wait;
use rusqlite::{Connection, OpenFlags};

use super::world::World;

/// A policy's run that has ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PastRun {
    pub(crate) outcome: String,
    pub(crate) removed: u32,
    /// What stopped it, in words.
    pub(crate) stopped_by: Option<String>,
}

/// The runs of a daemon over one policy, in their order. Those of its own history do not count.
pub(crate) fn runs(world: &World, state: &str) -> Vec<PastRun> {
    let path = world.path(state).join("ledger.db");
    let ledger = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let sql = "SELECT run.outcome, removed, json_extract(report, '$.policies[0].stopped_by') \
               FROM run JOIN sweep ON sweep = id WHERE sweep.ended_ms IS NOT NULL AND policy <> 'bygone-history' ORDER BY id";
    let mut statement = ledger.prepare(sql).unwrap();
    let run =
        |row: &rusqlite::Row<'_>| Ok(PastRun { outcome: row.get(0)?, removed: row.get(1)?, stopped_by: row.get(2)? });
    statement.query_map([], run).unwrap().map(Result::unwrap).collect()
}

/// Waits until so many runs have ended in this way.
pub(crate) async fn until_told(world: &World, state: &str, outcome: &str, times: usize) {
    let mut wait = Wait::up_to(Duration::from_mins(1));
    while runs(world, state).iter().filter(|run| run.outcome == outcome).count() < times {
        assert!(wait.again().await, "not {times} runs that were {outcome}: {:?}", runs(world, state));
    }
}
