//! The daemon: a lane for each source, and what they share.

mod answers;
mod configuration;
mod hold;
mod lane;
mod look;
mod recorder;
mod timetable;
mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bygone_core::{Clock, Consent};
use jiff::Timestamp;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use self::answers::Answers;
pub use self::answers::NotTold;
use self::configuration::Configured;
pub use self::configuration::{Configuration, Rejected, RestartNeeded};
pub(crate) use self::hold::Holds;
use self::lane::{Lane, Request};
pub use self::look::ClosedGate;
use self::recorder::Recorder;
pub use self::recorder::{Happening, RunningPolicy, RunningSweep, What};
use self::turns::Turns;
pub use self::turns::{TurnHolder, TurnSeen};
use crate::estate::{Estate, PolicyCard};
use crate::inspection::{Explanation, Inspection};
use crate::ledger::{Ledger, LedgerError};
use crate::watch::{Ahead, Alarm, AlarmRules, Lately, Meter, Next, RUNS_KEPT, Standing, alarms_of};

/// Sweeps that may wait for their lane; beyond, the daemon says that it has too much to do.
const REQUESTS_MAX: usize = 16;
/// What a slow watcher may be behind by before it is told that it missed something.
const WATCHED_MAX: usize = 1_024;

/// Why a sweep that somebody asked for did not begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotStarted {
    /// There is no such policy.
    #[error("there is no policy `{0}`")]
    NoSuchPolicy(String),
    /// Policies of one source at a time.
    #[error("the policies are of several sources: ask for those of one")]
    SeveralSources,
    /// Another daemon, or a person, is sweeping that source.
    #[error("another sweeper has the turn")]
    SweptByAnother,
    /// As many as may are waiting already.
    #[error("too many sweeps are waiting")]
    TooMany,
    /// The daemon is about to end.
    #[error("the daemon is ending")]
    Ending,
}

/// What the lanes share.
#[derive(Debug)]
struct Shared {
    clock: Arc<dyn Clock>,
    ledger: Ledger,
    holds: Arc<Holds>,
    watchers: broadcast::Sender<Happening>,
    rules: AlarmRules,
    /// When it began to look after policies.
    since: Timestamp,
    lately: Lately,
    ahead: Ahead,
    meter: Arc<Meter>,
    /// The sweeps that run: no more than there are lanes.
    running: Mutex<BTreeMap<Uuid, Arc<Recorder>>>,
    configured: Configured,
    turns: Turns,
    inspections: Answers<Inspection>,
    explanations: Answers<Explanation>,
    source_gates: Answers<Vec<ClosedGate>>,
    policy_gates: Answers<Vec<ClosedGate>>,
    /// Whose turn it is to ask a source.
    asking: Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

impl Shared {
    fn running(&self) -> MutexGuard<'_, BTreeMap<Uuid, Arc<Recorder>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the last runs of a policy from the ledger, to have them at hand; answers with when the last one ended.
    async fn look_back(&self, policy: &str) -> Option<Timestamp> {
        match self.ledger.lately(policy, RUNS_KEPT).await {
            Ok((runs, completed)) => {
                let last = runs.first().map(|run| run.ended);
                self.lately.load(policy, runs, completed);
                last
            }
            Err(error) => {
                tracing::error!(%error, policy, "the ledger does not tell of the last runs");
                None
            }
        }
    }
}

/// The lanes, by their sources.
#[derive(Debug, Default)]
struct Lanes {
    are_open: bool,
    senders: BTreeMap<String, mpsc::Sender<Request>>,
}

/// Runs policies when their time comes.
#[derive(Clone, Debug)]
pub struct Daemon {
    shared: Arc<Shared>,
    estate: watch::Sender<Arc<dyn Estate>>,
    lanes: Arc<Mutex<Lanes>>,
}

impl Daemon {
    /// A daemon over an estate. It does nothing until it is run; but it knows what was held before.
    pub async fn new(
        estate: Arc<dyn Estate>,
        ledger: Ledger,
        clock: Arc<dyn Clock>,
        rules: AlarmRules,
    ) -> Result<Self, LedgerError> {
        let holds = Holds::of(ledger.holds().await?);
        let now = clock.now();
        let shared = Shared {
            since: now,
            clock,
            ledger,
            rules,
            holds: Arc::new(holds),
            watchers: broadcast::Sender::new(WATCHED_MAX),
            running: Mutex::default(),
            lately: Lately::default(),
            ahead: Ahead::default(),
            meter: Arc::new(Meter::new()),
            configured: Configured::new(now),
            turns: Turns::default(),
            inspections: Answers::default(),
            explanations: Answers::default(),
            source_gates: Answers::default(),
            policy_gates: Answers::default(),
            asking: Mutex::default(),
        };
        shared.meter.expect(estate.policies());
        Ok(Self { shared: Arc::new(shared), estate: watch::Sender::new(estate), lanes: Arc::default() })
    }

    /// Runs until told to stop: then no further page begins, and it ends when those under way are committed.
    pub async fn run(&self, stop: CancellationToken) {
        let mut running = JoinSet::new();
        let mut estate = self.estate.subscribe();
        loop {
            self.open_lanes(&mut running, &stop);
            tokio::select! {
                () = stop.cancelled() => break,
                changed = estate.changed() => if changed.is_err() { break },
            }
        }
        *self.lanes() = Lanes::default();
        while let Some(ended) = running.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a lane has ended by a panic");
            }
        }
    }

    /// A lane for each source. One whose source is gone stays, and finds nothing to do.
    fn open_lanes(&self, running: &mut JoinSet<()>, stop: &CancellationToken) {
        let estate = Arc::clone(&self.estate.borrow());
        let sources: BTreeSet<&str> = estate.policies().iter().map(|card| card.source.as_str()).collect();
        let mut lanes = self.lanes();
        lanes.are_open = true;
        for source in sources {
            if !lanes.senders.contains_key(source) {
                let (sender, requests) = mpsc::channel(REQUESTS_MAX);
                let (shared, estate) = (Arc::clone(&self.shared), self.estate.subscribe());
                let lane = Lane::new(source.to_owned(), shared, estate, requests, stop.clone());
                running.spawn(lane.run());
                lanes.senders.insert(source.to_owned(), sender);
            }
        }
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it runs, with all its lanes.
    pub fn is_running(&self) -> bool {
        let lanes = self.lanes();
        lanes.are_open && !lanes.senders.values().any(mpsc::Sender::is_closed)
    }

    /// Goes on with another estate: a configuration that has changed. What runs ends under the old one.
    pub fn replace(&self, estate: Arc<dyn Estate>) {
        self.shared.meter.expect(estate.policies());
        self.estate.send_replace(estate);
        self.shared.configured.took_over(self.shared.clock.now());
    }

    /// Goes on as before, since the configuration on disk cannot be used, and tells people why: in plain text, without
    /// secrets.
    pub fn reject(&self, diagnostic: String) {
        self.shared.configured.reject(self.shared.clock.now(), diagnostic);
    }

    /// Tells people which keys of `[serve]` say something else than when the daemon was started.
    pub fn await_restart(&self, keys: Vec<&'static str>) {
        self.shared.configured.awaits_restart(self.shared.clock.now(), keys);
    }

    /// How the configuration in force and the one on disk stand to each other.
    pub fn configuration(&self) -> Configuration {
        self.shared.configured.now()
    }

    /// The estate as it is.
    pub fn estate(&self) -> Arc<dyn Estate> {
        Arc::clone(&self.estate.borrow())
    }

    /// The history.
    pub fn ledger(&self) -> &Ledger {
        &self.shared.ledger
    }

    /// What happens from now on.
    pub fn watch(&self) -> broadcast::Receiver<Happening> {
        self.shared.watchers.subscribe()
    }

    /// How far a sweep has come that runs, and what happens from there on; `None` where none of that name runs.
    pub fn attend(&self, sweep: Uuid) -> Option<(RunningSweep, broadcast::Receiver<Happening>)> {
        let recorder = self.shared.running().get(&sweep).cloned();
        recorder.map(|recorder| recorder.attend())
    }

    /// The sweeps that run, as far as they have come.
    pub fn running(&self) -> Vec<RunningSweep> {
        let recorders: Vec<_> = self.shared.running().values().cloned().collect();
        recorders.iter().map(|recorder| recorder.attend().0).collect()
    }

    /// The clock that it goes by.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    /// Pauses a policy, or all of them, until somebody lets it go on: also over a restart. A run under way ends before its
    /// next page.
    pub async fn pause(&self, policy: Option<&str>) -> Result<(), LedgerError> {
        // At once, even where the ledger does not answer.
        self.shared.holds.set(policy, true);
        self.shared.ledger.hold(policy, true).await
    }

    /// Lets a policy, or all of them, go on.
    pub async fn resume(&self, policy: Option<&str>) -> Result<(), LedgerError> {
        // Not before it is written down: what was held must not come back with the next start.
        self.shared.ledger.hold(policy, false).await?;
        self.shared.holds.set(policy, false);
        Ok(())
    }

    /// Whether everything is paused.
    pub fn is_paused(&self) -> bool {
        self.shared.holds.is_everything()
    }

    /// Why a policy is held, if it is.
    pub fn held(&self, policy: &str) -> Option<&'static str> {
        self.shared.holds.why(policy)
    }

    /// Sweeps policies of one source as soon as its lane is free, and tells the sweep's name once it has begun.
    ///
    /// Whoever does not wait for that gets no sweep: nothing is removed that nobody knows the name of.
    pub async fn sweep(&self, policies: Vec<String>, consents: BTreeMap<String, Consent>) -> Result<Uuid, NotStarted> {
        let source = self.source_of(&policies)?;
        let (answer, answered) = oneshot::channel();
        let lane = self.lanes().senders.get(&source).cloned();
        let request = Request { policies, consents, answer };
        match lane.ok_or(NotStarted::Ending)?.try_send(request) {
            Ok(()) => answered.await.unwrap_or(Err(NotStarted::Ending)),
            Err(mpsc::error::TrySendError::Full(_)) => Err(NotStarted::TooMany),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(NotStarted::Ending),
        }
    }

    /// What a person should look at.
    pub fn alarms(&self) -> Vec<Alarm> {
        let (estate, now) = (self.estate(), self.shared.clock.now());
        estate.policies().iter().flat_map(|card| self.alarms_of(card, now)).collect()
    }

    fn alarms_of(&self, card: &PolicyCard, now: Timestamp) -> Vec<Alarm> {
        let Shared { lately, ahead, rules, since, .. } = &*self.shared;
        let Next { interval, .. } = ahead.of(card, now);
        lately.look(&card.name, |recent| alarms_of(card, interval, recent, *rules, (*since, now)))
    }

    /// When a policy runs next by itself.
    pub(crate) fn next_run(&self, card: &PolicyCard, now: Timestamp) -> Option<Timestamp> {
        self.shared.ahead.of(card, now).run
    }

    /// All numbers, as text that Prometheus reads.
    pub async fn metrics(&self) -> Result<String, std::fmt::Error> {
        let estate = self.estate();
        let (staged, now) = (estate.staged().await, self.shared.clock.now());
        let standing = |card: &PolicyCard| {
            let alarms = self.alarms_of(card, now);
            self.shared.lately.look(&card.name, |recent| Standing {
                policy: card.name.clone(),
                source: card.source.clone(),
                lag_seconds: recent.runs.front().and_then(|run| run.lag_seconds),
                backlog: recent.runs.front().and_then(|run| run.backlog),
                completed: recent.completed,
                next_run: self.next_run(card, now),
                is_held: self.held(&card.name).is_some(),
                alarms,
            })
        };
        let standings: Vec<Standing> = estate.policies().iter().map(standing).collect();
        self.shared.meter.text(&standings, &staged, &self.configuration())
    }

    /// Counts an operation on a lease store.
    pub(crate) fn count_operation(&self, source: &str, operation: &str, result: &'static str) {
        self.shared.meter.operated(source, operation, result);
    }

    fn source_of(&self, policies: &[String]) -> Result<String, NotStarted> {
        let estate = self.estate();
        let mut sources = BTreeSet::new();
        for policy in policies {
            let card = estate.policies().iter().find(|card| card.name == *policy);
            sources.insert(card.ok_or_else(|| NotStarted::NoSuchPolicy(policy.clone()))?.source.clone());
        }
        match (sources.pop_first(), sources.is_empty()) {
            (Some(source), true) => Ok(source),
            _ => Err(NotStarted::SeveralSources),
        }
    }
}
