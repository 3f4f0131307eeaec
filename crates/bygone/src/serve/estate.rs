//! The configuration, as the daemon sees it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::{Clock, Gate, TargetError, Turn, WindowGate};
use bygone_server::{Bound, Estate, PolicyCard};
use bygone_sql::SourceTurn;

use super::turn::{DirectoryTurn, FreeTurn};
use crate::assembly::{Access, assemble, directory, gates_of, source_options};
use crate::config::{Config, Place, Policy, Schedule};
use crate::problem::Problem;

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
            let (name, source) = (policy.name.clone(), policy.source.clone());
            let schedule = schedule.map(|schedule| schedule.with_jitter(jitter));
            let gates = windows(policy, clock).into_iter().chain(gates[source.as_str()].iter().cloned()).collect();
            cards.push(PolicyCard { name, source, schedule, gates });
        }
        Ok(Self { config, cards, clock: Arc::clone(clock) })
    }

    /// How many policies run by themselves, and those that never do.
    pub(super) fn scheduled(&self) -> (usize, Vec<&str>) {
        let idle: Vec<&str> =
            self.cards.iter().filter(|card| card.schedule.is_none()).map(|card| card.name.as_str()).collect();
        (self.cards.len() - idle.len(), idle)
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
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bygone_core::ManualClock;
    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::config::{ProcessEnv, parse};

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
