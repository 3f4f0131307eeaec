//! The configuration, as the daemon sees it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::{Clock, ErrorKind, Gate, TargetError, Turn, WindowGate};
use bygone_server::{Bound, Estate, PolicyCard};
use bygone_sql::SourceTurn;

use super::turn::{DirectoryTurn, FreeTurn};
use crate::assembly::{Access, assemble, directory, gates_of, source_options};
use crate::config::{Config, Place, Policy, Schedule};
use crate::plan;
use crate::problem::Problem;

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Policies of a file.
pub(super) struct Configured {
    config: Config,
    cards: Vec<PolicyCard>,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for Configured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Configured").field("cards", &self.cards).finish_non_exhaustive()
    }
}

impl Configured {
    pub(super) fn new(config: Config, clock: &Arc<dyn Clock>) -> Result<Self, Problem> {
        // The policies of a source share its gates, and with them what those remember.
        let gates: BTreeMap<&str, Vec<Arc<dyn Gate>>> =
            config.sources.values().map(|source| (source.name.as_str(), gates_of(source, clock))).collect();
        let mut cards = Vec::with_capacity(config.policies.len());
        for policy in &config.policies {
            let schedule = policy.schedule.as_ref().map(Schedule::timed).transpose();
            // The file was read by the same rules.
            let schedule = schedule.map_err(|error| Problem::failed(format!("{}: {error}", policy.name)))?;
            let jitter = Duration::try_from(policy.jitter).unwrap_or(Duration::ZERO);
            let schedule = schedule.map(|schedule| schedule.with_jitter(jitter));
            let of_source = gates[policy.source.as_str()].iter().cloned();
            let gates = windows(policy, clock).into_iter().chain(of_source).collect();
            // Where it may run in some hours only, a day may pass from one complete run to the next.
            let interval_least = if policy.windows.is_empty() { Duration::ZERO } else { DAY };
            cards.push(PolicyCard { schedule, gates, interval_least, ..PolicyCard::new(&policy.name, &policy.source) });
        }
        Ok(Self { config, cards, clock: Arc::clone(clock) })
    }

    /// Those that never run by themselves.
    pub(super) fn idle(&self) -> Vec<&str> {
        self.cards.iter().filter(|card| card.schedule.is_none()).map(|card| card.name.as_str()).collect()
    }

    /// How many policies run by themselves, in words.
    pub(super) fn status(&self) -> String {
        match self.cards.len() - self.idle().len() {
            1 => "1 policy runs by its time".to_owned(),
            scheduled => format!("{scheduled} policies run by their times"),
        }
    }
}

fn windows(policy: &Policy, clock: &Arc<dyn Clock>) -> Option<Arc<dyn Gate>> {
    let windows = policy.windows.clone();
    (!windows.is_empty()).then(|| Arc::new(WindowGate::new(Arc::clone(clock), windows)) as Arc<dyn Gate>)
}

#[async_trait]
impl Estate for Configured {
    fn policies(&self) -> &[PolicyCard] {
        &self.cards
    }

    async fn take_turn(&self, source: &str) -> Result<Option<Arc<dyn Turn>>, TargetError> {
        let place = self.config.sources[source].place;
        Ok(match place {
            Place::Database => {
                let options = source_options(&self.config, source, Access::Write)?;
                SourceTurn::take(&options, &self.clock).await?.map(|turn| turn as Arc<dyn Turn>)
            }
            Place::Directory => {
                let path = directory(self.config.sources[source].url.expose())?;
                DirectoryTurn::take(&path)?.map(|turn| turn as Arc<dyn Turn>)
            }
            Place::Bucket => Some(Arc::new(FreeTurn) as Arc<dyn Turn>),
        })
    }

    async fn bind(&self, _: &str, policies: &[String]) -> Bound {
        let policies = self.config.policies.iter().filter(|policy| policies.contains(&policy.name)).collect();
        let assembly = assemble(&self.config, policies, Access::Write, &self.clock).await;
        let boundary = assembly.boundary;
        // What went wrong stands in the report, and the engine logs it.
        let jobs = assembly.into_jobs(&BTreeMap::new(), |_, _| {}).await;
        Bound { boundary, jobs }
    }

    async fn plan(&self, policy: &str) -> Result<serde_json::Value, TargetError> {
        let policies = self.config.policies.iter().filter(|known| known.name == policy).collect();
        let assembly = assemble(&self.config, policies, Access::Read, &self.clock).await;
        // What went wrong stands in the plan.
        let plan = plan::make(&self.config, assembly, |problem| problem.exit).await;
        serde_json::to_value(plan).map_err(|error| TargetError::new(ErrorKind::Failed, error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bygone_core::{ManualClock, SystemClock};
    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::config::{ProcessEnv, load, parse};

    #[tokio::test]
    async fn a_plan_is_the_document_of_the_verb_and_writes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.db");
        let conn = rusqlite::Connection::open(&path).unwrap();
        conn.execute_batch(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, at TEXT NOT NULL);
             INSERT INTO t (at) VALUES ('2020-01-01T00:00:00Z'), ('2020-01-02T00:00:00Z'), ('2999-01-01T00:00:00Z')",
        )
        .unwrap();
        let policy = |name: &str, table: &str| {
            format!("[[policy]]\nname = '{name}'\nsource = 's'\ntable = '{table}'\ndeadline = 'at'\nkeep = '1d'\n")
        };
        let text = format!("[source.s]\nurl = 'sqlite:{}'\n{}{}", path.display(), policy("p", "t"), policy("q", "x"));
        let file = directory.path().join("bygone.toml");
        std::fs::write(&file, text).unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let estate = Configured::new(load(&file, &ProcessEnv).unwrap(), &clock).unwrap();

        let document = estate.plan("p").await.unwrap();
        let read: plan::Plan = serde_json::from_value(document.clone()).unwrap();
        assert_eq!((read.policies.len(), read.policies[0].would_remove), (1, Some(2)));
        assert_eq!(read.policies[0].definition, plan::definition(&estate.config, &estate.config.policies[0]));
        assert_eq!(serde_json::to_value(&read).unwrap(), document);
        let refused = estate.plan("q").await.unwrap();
        assert_eq!(refused["outcome"], "refused");
        assert!(refused["policies"][0]["error"].as_str().unwrap().contains("`x`"), "{refused}");
        let left: u32 = conn.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!(left, 3);
    }

    const FILE: &str = "[source.s]\nurl = \"sqlite:a.db\"\n[[policy]]\nname = \"p\"\nsource = \"s\"\ntable = \"t\"\n\
                        deadline = \"d\"\nkeep = \"1d\"\nschedule = \"0 30 2 * * * Europe/Stockholm\"\n";

    fn next_run(lines: &str) -> Timestamp {
        let config = parse("bygone.toml", &format!("{FILE}{lines}"), Path::new(""), &ProcessEnv).unwrap();
        let now: Timestamp = "2026-11-18T00:00:00Z".parse().unwrap();
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(now));
        let estate = Configured::new(config, &clock).unwrap();
        estate.policies()[0].schedule.as_ref().unwrap().next_after(now, "p").unwrap()
    }

    #[test]
    fn a_run_is_put_off_by_the_policys_jitter() {
        let exact = next_run("");
        assert_eq!(exact, "2026-11-18T01:30:00Z".parse().unwrap());
        let off = next_run("jitter = \"20m\"").duration_since(exact);
        assert!(SignedDuration::ZERO < off && off < SignedDuration::from_mins(20), "{off}");
    }
}
