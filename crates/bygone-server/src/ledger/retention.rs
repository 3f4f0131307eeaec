//! What a policy over the ledger must know of it: old sweeps go by the engine, like any other row.
//!
//! However old they are, those stay that tell how policies stand: alarms, the next run and `status` are read from the last
//! runs, and a policy that runs once a year has its last runs further back than anybody keeps history.

use super::Ledger;
use crate::watch::RUNS_KEPT;

impl Ledger {
    /// The table of sweeps.
    pub const SWEEPS: &str = "sweep";
    /// What tells them apart.
    pub const KEY: &str = "id";
    /// When they ended, in milliseconds since 1970.
    pub const ENDED: &str = "ended_ms";
    /// The rows that go along with a sweep, and the column of them that points at it.
    pub const RUNS: [&str; 2] = ["run", "sweep"];

    /// The condition that a sweep meets which may go: it has ended, and each run in it has as many later ones of its policy as
    /// are looked at, and was not the last that was complete.
    pub fn dispensable() -> String {
        let others = RUNS_KEPT - 1;
        format!(
            "ended_ms IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM run AS mine WHERE mine.sweep = id AND (
                    (SELECT later.sweep FROM run AS later
                     WHERE later.policy = mine.policy AND later.sweep > mine.sweep AND later.ended_ms IS NOT NULL
                     ORDER BY later.sweep LIMIT 1 OFFSET {others}) IS NULL
                    OR mine.outcome = 'complete' AND NOT EXISTS (
                        SELECT 1 FROM run AS later
                        WHERE later.policy = mine.policy AND later.sweep > mine.sweep AND later.outcome = 'complete')))"
        )
    }
}
