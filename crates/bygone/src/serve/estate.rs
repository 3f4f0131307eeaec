//! The configuration, as the daemon sees it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::{Boundary, Clock, ErrorKind, Gate, TargetError, Turn, WindowGate};
use bygone_files::stage::{Quota, StageError, WhenFull};
use bygone_lease::LeaseStore;
use bygone_server::{
    Absent, Bound, Estate, Explanation, Inspection, NoLeases, PolicyCard, SourceCard, SourceKind, StageArea, Staged,
};
use bygone_sql::SourceTurn;
use futures_util::future::join_all;
use jiff::SignedDuration;

use super::areas::{AreaPlace, Areas};
use super::inspect::inspect;
use super::turn::{DirectoryTurn, FreeTurn};
use crate::assembly::{
    Access, BoundTarget, IdleGate, LeaseSource, LeaseStores, Sketch, assemble, assemble_over, directory, gates_of,
    lease_turn, source_options,
};
use crate::config::{self, Config, HISTORY, Place, Policy, Schedule, Source, Subject};
use crate::meaning::meaning;
use crate::plan;
use crate::problem::Problem;

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Policies of a file.
pub(super) struct Configured {
    config: Config,
    cards: Vec<PolicyCard>,
    sources: Vec<SourceCard>,
    clock: Arc<dyn Clock>,
    /// All who use a lease store in this daemon share it, now and after a change of the file.
    stores: Arc<LeaseStores>,
    /// The same for staging areas.
    areas: Arc<Areas>,
}

impl fmt::Debug for Configured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Configured").field("cards", &self.cards).finish_non_exhaustive()
    }
}

impl Configured {
    pub(super) fn new(
        config: Config,
        clock: &Arc<dyn Clock>,
        stores: &Arc<LeaseStores>,
        areas: &Arc<Areas>,
    ) -> Result<Self, Problem> {
        // The policies of a source share its gates, and with them what those remember.
        let of_source = |source: &Source| {
            let idle = IdleGate::of(&config, source, stores).map(|gate| Arc::new(gate) as Arc<dyn Gate>);
            gates_of(source, clock).into_iter().chain(idle).collect()
        };
        let gates: BTreeMap<&str, Vec<Arc<dyn Gate>>> =
            config.sources.values().map(|source| (source.name.as_str(), of_source(source))).collect();
        let mut cards = Vec::with_capacity(config.policies.len());
        for policy in &config.policies {
            let schedule = times_of(policy)?;
            let of_source = gates[policy.source.as_str()].iter().cloned();
            let gates = windows(policy, clock).into_iter().chain(of_source).collect();
            // Where it may run in some hours only, a day may pass from one complete run to the next.
            let interval_least = if policy.windows.is_empty() { Duration::ZERO } else { DAY };
            let lag_max = policy.lag_max.and_then(|most| Duration::try_from(most).ok());
            let card = PolicyCard::new(&policy.name, &policy.source);
            let is_of_history = policy.source == HISTORY;
            let meaning = if is_of_history { config.serve.history.meaning() } else { meaning(policy) };
            let is_of_leases = matches!(policy.subject, Subject::Leases(_));
            cards.push(PolicyCard { meaning, schedule, gates, is_of_leases, interval_least, lag_max, ..card });
        }
        let card = |(name, gates): (&str, _)| SourceCard { name: name.to_owned(), kind: kind_of(&config, name), gates };
        let sources = gates.into_iter().map(card).collect();
        let (clock, stores, areas) = (Arc::clone(clock), Arc::clone(stores), Arc::clone(areas));
        Ok(Self { config, cards, sources, clock, stores, areas })
    }

    /// What all policies say of the staging area of a source: the strictest bounds of each kind, and how long a file stays
    /// at least.
    fn stage(&self, source: &str) -> Option<(Quota, SignedDuration)> {
        let stages = self.config.policies.iter().filter(|policy| policy.source == source);
        let stages: Vec<&config::Stage> = stages.filter_map(|policy| policy.subject.stage()).collect();
        let least = |bound: fn(&config::Stage) -> Option<u64>| stages.iter().filter_map(|stage| bound(stage)).min();
        let quota = Quota {
            max_bytes: least(|stage| stage.max_bytes),
            max_count: least(|stage| stage.max_count),
            min_free: stages.iter().filter_map(|stage| stage.min_free).max(),
            when_full: WhenFull::Refuse,
        };
        let keep = stages.iter().map(|stage| stage.keep).min()?;
        Some((quota, keep))
    }

    /// Where the staging area of a source is, and how long files stay in it.
    fn area(&self, source: &str) -> Option<(AreaPlace, SignedDuration)> {
        let (quota, keep) = self.stage(source)?;
        let directory = directory(self.config.sources.get(source)?.url.expose()).ok()?;
        Some((AreaPlace { directory, quota }, keep))
    }

    /// It is the daemon's from here on: lease stores and staging areas of sources that are no more are let go, and stores that
    /// are to be idle are looked after.
    pub(super) fn take_over(&self) {
        self.stores.keep_only(|name| self.has_leases(name));
        self.areas.keep_only(|name| self.stage(name).is_some());
        for source in self.config.sources.values() {
            if let Some(gate) = IdleGate::of(&self.config, source, &self.stores) {
                // Nobody knows how a store was used before it was opened: a policy that runs once a day must not find out then.
                tokio::spawn(async move { gate.attend().await });
            }
        }
    }

    /// Those that never run by themselves.
    pub(super) fn idle(&self) -> Vec<&str> {
        self.of_file().filter(|card| card.schedule.is_none()).map(|card| card.name.as_str()).collect()
    }

    /// The policies of the file: that of the history is the daemon's own.
    fn of_file(&self) -> impl Iterator<Item = &PolicyCard> {
        self.cards.iter().filter(|card| card.source != HISTORY)
    }

    /// How many policies run by themselves, in words.
    pub(super) fn status(&self) -> String {
        match self.of_file().count() - self.idle().len() {
            1 => "1 policy runs by its time".to_owned(),
            scheduled => format!("{scheduled} policies run by their times"),
        }
    }
}

/// What a source is: its policies know what a directory or a bucket is used as.
fn kind_of(config: &Config, source: &str) -> SourceKind {
    let mut subjects = config.policies.iter().filter(|policy| policy.source == source).map(|policy| &policy.subject);
    let used_as = subjects.find_map(|subject| match subject {
        Subject::Leases(_) => Some(SourceKind::LeaseStore),
        Subject::Stage(_) => Some(SourceKind::StagingArea),
        Subject::Rows(_) | Subject::Tree(_) | Subject::Prefix(_) => None,
    });
    used_as.unwrap_or(match config.sources[source].place {
        Place::Database => SourceKind::Database,
        Place::Directory => SourceKind::Directory,
        Place::Bucket => SourceKind::Bucket,
    })
}

/// How a target would go about its work.
async fn outline(target: &mut BoundTarget, boundary: Boundary) -> Result<Explanation, TargetError> {
    Ok(match target {
        BoundTarget::Rows(rows) => match rows.outline(boundary).await? {
            Some(plan) => Explanation {
                place: plan.table,
                walk: Some(plan.walk.as_str().to_owned()),
                why: Some(plan.why),
                index: plan.index,
                statements: plan.statements,
                findings: Vec::new(),
            },
            None => Explanation::default(),
        },
        BoundTarget::Other(_, Sketch { place, walk, why, .. }) => {
            let (walk, why) = (Some((*walk).to_owned()), Some((*why).to_owned()));
            Explanation { place: place.clone(), walk, why, ..Explanation::default() }
        }
    })
}

/// When a policy runs by itself.
pub(crate) fn times_of(policy: &Policy) -> Result<Option<bygone_core::Schedule>, Problem> {
    let schedule = policy.schedule.as_ref().map(Schedule::timed).transpose();
    // The file was read by the same rules.
    let schedule = schedule.map_err(|error| Problem::failed(format!("{}: {error}", policy.name)))?;
    let jitter = Duration::try_from(policy.jitter).unwrap_or(Duration::ZERO);
    Ok(schedule.map(|schedule| schedule.with_jitter(jitter)))
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
            Place::Bucket if self.has_leases(source) => lease_turn(&self.config, source, &self.stores).await?,
            Place::Bucket => Some(Arc::new(FreeTurn) as Arc<dyn Turn>),
        })
    }

    async fn bind(&self, _: &str, policies: &[String]) -> Bound {
        let policies = self.config.policies.iter().filter(|policy| policies.contains(&policy.name)).collect();
        let assembly = assemble_over(&self.config, policies, Access::Write, &self.clock, &self.stores).await;
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

    fn sources(&self) -> &[SourceCard] {
        &self.sources
    }

    async fn inspect(&self, source: &str) -> Result<Inspection, TargetError> {
        inspect(&self.config, source, kind_of(&self.config, source), &self.clock).await
    }

    async fn explain(&self, policy: &str) -> Result<Explanation, TargetError> {
        let named = self.config.policies.iter().find(|known| known.name == policy);
        let Some(named) = named else { return Ok(Explanation::default()) };
        // What one policy leaves in the way of another is known where all of the source are there.
        let policies = self.config.policies.iter().filter(|other| other.source == named.source).collect();
        let assembly = assemble(&self.config, policies, Access::Read, &self.clock).await;
        let boundary = assembly.boundary;
        let Some(at) = assembly.bound.iter().position(|bound| bound.policy.name == policy) else {
            return Ok(Explanation::default());
        };
        let found = assembly.findings_of(&assembly.bound[at], false).await?;
        let Some(bound) = assembly.bound.into_iter().nth(at) else { return Ok(Explanation::default()) };
        let mut explanation = outline(&mut bound.target?, boundary).await?;
        explanation.findings = found.into_iter().map(Into::into).collect();
        Ok(explanation)
    }

    fn has_leases(&self, source: &str) -> bool {
        LeaseSource::of(&self.config, source).is_some()
    }

    async fn leases(&self, source: &str, absent: Absent) -> Result<LeaseStore, NoLeases> {
        let source = LeaseSource::of(&self.config, source).ok_or(NoLeases::NoSuchSource)?;
        self.stores.get(&source, absent).await
    }

    async fn stage_area(&self, source: &str, absent: Absent) -> Result<Option<StageArea>, StageError> {
        let Some((place, keep)) = self.area(source) else { return Ok(None) };
        let stage = self.areas.get(source, &place, absent).await?;
        Ok(Some(StageArea { stage, keep }))
    }

    async fn staged(&self) -> Vec<Staged> {
        let of = async |source: &String| {
            let (place, _) = self.area(source)?;
            let metrics = self.areas.totals(source, &place).await?;
            Some(Staged { source: source.clone(), metrics })
        };
        join_all(self.config.sources.keys().map(of)).await.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bygone_core::{ManualClock, SystemClock};
    use jiff::Timestamp;

    use super::*;
    use crate::config::{ProcessEnv, load, parse};

    fn areas(clock: &Arc<dyn Clock>) -> Arc<Areas> {
        Arc::new(Areas::new(clock))
    }

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
        let stores = Arc::new(LeaseStores::new(&clock));
        let estate = Configured::new(load(&file, &ProcessEnv).unwrap(), &clock, &stores, &areas(&clock)).unwrap();

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
        let estate = Configured::new(config, &clock, &Arc::new(LeaseStores::new(&clock)), &areas(&clock)).unwrap();
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
