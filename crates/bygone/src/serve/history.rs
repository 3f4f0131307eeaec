//! The history, as something to be swept.

use std::path::Path;

use bygone_sql::SourceUrl;

use crate::problem::Problem;

/// The file of the ledger, as a source names it. One that no source could name could never be swept.
pub(super) fn file(ledger: &Path) -> Result<String, Problem> {
    let unfit = |reason: String| {
        let message = format!("the history cannot be kept in {}: {reason}", ledger.display());
        Problem::usage(message, "name a directory of another name: `--state DIR`")
    };
    let ledger = std::path::absolute(ledger).map_err(|error| unfit(error.to_string()))?;
    let text = ledger.to_str().ok_or_else(|| unfit("its path is no text".to_owned()))?;
    SourceUrl::parse(&format!("sqlite:{text}")).map_err(|error| unfit(error.to_string()))?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;

    use bygone_core::{Boundary, CancellationToken, Clock, PolicyReport, SystemClock};
    use bygone_server::{Ledger, Run, Standing};
    use jiff::{SignedDuration, Timestamp};
    use rusqlite::Connection;
    use tempfile::TempDir;
    use uuid::Uuid;

    use super::*;
    use crate::assembly::{Access, assemble};
    use crate::config::{Config, HISTORY, ProcessEnv, parse};
    use crate::sweep;

    const FILE: &str = "[source.s]\nurl = \"sqlite:a.db\"\n[[policy]]\nname = \"p\"\nsource = \"s\"\ntable = \"t\"\n\
                        deadline = \"d\"\nkeep = \"1d\"\n[serve.history]\nkeep = \"30d\"\n";
    const KEEP: SignedDuration = SignedDuration::from_hours(30 * 24);

    /// A ledger whose entries a test writes by itself.
    struct Archive {
        _directory: TempDir,
        file: String,
        conn: Connection,
        clock: Arc<dyn Clock>,
        boundary: Timestamp,
    }

    impl Archive {
        async fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("ledger.db");
            let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
            Ledger::open(&path, Arc::clone(&clock)).await.unwrap();
            let conn = Connection::open(&path).unwrap();
            conn.pragma_update(None, "foreign_keys", true).unwrap();
            let boundary = "2026-06-01T12:00:00Z".parse().unwrap();
            Self { file: file(&path).unwrap(), _directory: directory, conn, clock, boundary }
        }

        /// Sweep number `n`, which ended so long after it would be just old enough. Without an end, it runs.
        fn write(&self, n: u128, after: Option<SignedDuration>, runs: &[(&str, &str)]) {
            let id = Uuid::from_u128(n).to_string();
            let ended = after.map(|after| (self.boundary - KEEP + after).as_millisecond());
            self.conn
                .execute("INSERT INTO sweep VALUES (?1, 0, ?2, 'schedule', 'complete', '{}')", (&id, ended))
                .unwrap();
            for (policy, outcome) in runs {
                let sql = "INSERT INTO run (sweep, policy, ended_ms, outcome) VALUES (?1, ?2, ?3, ?4)";
                self.conn.execute(sql, (&id, policy, ended, outcome)).unwrap();
            }
        }

        /// Sweeps whatever may go, in pages of three.
        async fn sweep(&self) -> PolicyReport {
            let mut config = self.config();
            let policy = config.policies.iter_mut().find(|policy| policy.name == HISTORY).unwrap();
            policy.budget.page = Some(3);
            let policies = config.policies.iter().filter(|policy| policy.name == HISTORY).collect();
            let mut assembly = assemble(&config, policies, Access::Write, &self.clock).await;
            assembly.boundary = Boundary::at(self.boundary);
            let stop = CancellationToken::new();
            let report = sweep::execute(&config, assembly, &BTreeMap::new(), &self.clock, stop).await;
            report.policies.into_iter().next().unwrap()
        }

        fn config(&self) -> Config {
            parse("bygone.toml", FILE, Path::new(""), &ProcessEnv).unwrap().with_history(&self.file)
        }

        fn left(&self) -> BTreeSet<u128> {
            let mut statement = self.conn.prepare("SELECT id FROM sweep").unwrap();
            let ids = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
            ids.map(|id| Uuid::parse_str(&id.unwrap()).unwrap().as_u128()).collect()
        }

        /// Everything that alarms, `status` and the next run go by.
        async fn stands(&self, policies: &[&str]) -> Vec<(Standing, Vec<Run>, Option<Timestamp>)> {
            let path = Path::new(&self.file);
            let ledger = Ledger::look(path, Arc::clone(&self.clock)).await.unwrap().unwrap();
            let mut stands = Vec::new();
            for policy in policies {
                let (runs, completed) = ledger.lately(policy, 16).await.unwrap();
                stands.push((ledger.standing(policy).await.unwrap(), runs, completed));
            }
            stands
        }
    }

    const MS: SignedDuration = SignedDuration::from_millis(1);

    /// So many runs after it that a sweep is not needed any more, all of them young.
    fn later_runs(archive: &Archive, policy: &str) {
        (0..16).for_each(|n| archive.write(1_000 + n, Some(KEEP), &[(policy, "complete")]));
    }

    #[tokio::test]
    async fn a_sweep_is_forgotten_once_it_ended_longer_ago_than_keep_and_no_moment_before() {
        let archive = Archive::new().await;
        for (n, after) in [(1, -MS), (2, SignedDuration::ZERO), (3, MS)] {
            archive.write(n, Some(after), &[("p", "complete"), ("q", "failed")]);
        }
        later_runs(&archive, "p");
        (0..16).for_each(|n| archive.write(2_000 + n, Some(KEEP), &[("q", "complete")]));
        let report = archive.sweep().await;
        assert_eq!((report.outcome.as_str(), report.tally.removed, report.error), ("complete", 1, None));
        let mut young: BTreeSet<u128> = (1_000..1_016).chain(2_000..2_016).collect();
        young.extend([2, 3]);
        assert_eq!(archive.left(), young);
        let runs =
            archive.conn.query_row("SELECT count(*) FROM run WHERE sweep LIKE '%-000000000001'", [], |row| row.get(0));
        assert_eq!(runs, Ok(0), "its runs go along");
        let runs = archive.conn.query_row("SELECT count(*) FROM run", [], |row| row.get(0));
        assert_eq!(runs, Ok(2 * 2 + 32));
    }

    #[tokio::test]
    async fn what_standings_need_stays_however_old_it_is() {
        let archive = Archive::new().await;
        let old = |n: i64| Some(SignedDuration::from_hours(n - 100_000));
        for n in 0..40_u32 {
            let (id, at) = (u128::from(n), old(n.into()));
            archive.write(100 + id, at, &[("steady", "complete")]);
            archive.write(200 + id, at, &[("broken", if n == 3 { "complete" } else { "failed" })]);
            // The last of it that was complete stands beside one that nobody needs.
            archive.write(
                300 + id,
                at,
                &[("shared", if n == 5 { "complete" } else { "refused" }), ("steadier", "complete")],
            );
        }
        // Two that run, one of them since long before others of its policy.
        archive.write(50, None, &[("steady", "")]);
        archive.write(400, None, &[("steady", "")]);
        (0..16).for_each(|n| archive.write(500 + n, old(50), &[("steadier", "complete")]));
        archive.write(600, old(0), &[("yearly", "complete")]);
        let policies = ["steady", "broken", "shared", "steadier", "yearly"];
        let before = archive.stands(&policies).await;

        let report = archive.sweep().await;
        assert_eq!((report.outcome.as_str(), report.error.as_deref()), ("complete", None));
        let left: BTreeSet<u128> = (124..140)
            .chain([50])
            .chain([203])
            .chain(224..240)
            .chain([305])
            .chain(324..340)
            .chain([400])
            .chain(500..516)
            .chain([600])
            .collect();
        assert_eq!(archive.left(), left);
        assert_eq!(report.tally.removed, 24 + 23 + 23);
        assert_eq!(report.tally.kept_back.total(), 0, "what stays is not even bygone");
        assert_eq!(archive.stands(&policies).await, before);
        assert!(report.pages > 20, "in pages: {}", report.pages);
        assert_eq!(archive.sweep().await.tally.removed, 0);
    }

    #[test]
    fn a_file_that_no_source_could_name_is_refused() {
        assert!(file(Path::new("/srv/what?/ledger.db")).is_err());
        assert_eq!(file(Path::new("/srv/state/ledger.db")).unwrap(), "/srv/state/ledger.db");
    }
}
