//! Listens to a sweep: for the ledger, and for those who watch.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bygone_core::{Clock, Event, KeptBack, Observer, PolicyReport, Survey, Tally};
use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::ledger::Ledger;

/// How often the ledger is told of pages: a daemon that is killed loses count of no more than this.
const TELL_LEDGER: Duration = Duration::from_secs(1);

/// Something that happened in a sweep, as it is told to those who watch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Happening {
    /// The sweep.
    pub sweep: Uuid,
    /// The policy; `None` where it concerns all of them.
    pub policy: Option<String>,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}

/// What can happen in a sweep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum What {
    /// The sweep begins.
    SweepStarted,
    /// A policy was surveyed.
    PolicyStarted {
        /// How many of its items are bygone, where that is known.
        bygone: Option<u64>,
    },
    /// A page was committed.
    Page {
        /// What the policy's pages have done so far, with this one.
        so_far: Tally,
        /// How long the page took.
        millis: u64,
    },
    /// A page failed, and is tried otherwise.
    PageFailed {
        /// Why.
        error: String,
    },
    /// A policy's run ended.
    PolicyEnded {
        /// Why.
        outcome: &'static str,
    },
    /// The sweep ended, and its report stands in the ledger.
    SweepEnded {
        /// How.
        outcome: &'static str,
    },
}

/// A sweep that runs, as far as it has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningSweep {
    /// The sweep.
    pub sweep: Uuid,
    /// The boundary that its policies compare with.
    pub boundary: Timestamp,
    /// Its policies.
    pub policies: Vec<RunningPolicy>,
}

/// A policy of a sweep that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunningPolicy {
    /// The policy.
    pub policy: String,
    /// What its pages have done so far.
    pub so_far: Tally,
    /// Pages committed so far.
    pub pages: u64,
    /// What is bygone and still there, where that is known.
    pub backlog: Option<u64>,
    /// Why its run ended, once it has.
    pub outcome: Option<&'static str>,
    is_news: bool,
}

/// Listens to one sweep.
#[derive(Debug)]
pub(super) struct Recorder {
    watchers: broadcast::Sender<Happening>,
    /// What happens is told under this lock: whoever comes in the middle misses nothing and hears nothing twice.
    running: Mutex<RunningSweep>,
}

impl Recorder {
    pub(super) fn new(
        sweep: Uuid,
        boundary: Timestamp,
        policies: &[String],
        watchers: broadcast::Sender<Happening>,
    ) -> Arc<Self> {
        let policy = |name: &String| RunningPolicy { policy: name.clone(), ..RunningPolicy::default() };
        let running = RunningSweep { sweep, boundary, policies: policies.iter().map(policy).collect() };
        Arc::new(Self { watchers, running: Mutex::new(running) })
    }

    /// How far the sweep has come, and what happens from there on.
    pub(super) fn attend(&self) -> (RunningSweep, broadcast::Receiver<Happening>) {
        let running = self.lock();
        (running.clone(), self.watchers.subscribe())
    }

    /// Tells the ledger now and then what the pages did, until told to stop.
    pub(super) async fn keep(&self, ledger: &Ledger, clock: &dyn Clock, stop: &CancellationToken) {
        let sweep = self.lock().sweep;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = clock.sleep(TELL_LEDGER) => {}
            }
            for (policy, tally) in self.take_news() {
                if let Err(error) = ledger.progress(sweep, policy, tally).await {
                    tracing::error!(%error, %sweep, "the ledger does not take the progress of a sweep");
                }
            }
        }
    }

    /// What the policies left undone, where that is known.
    pub(super) fn backlogs(&self) -> Vec<(String, u64)> {
        let running = self.lock();
        running.policies.iter().filter_map(|policy| Some((policy.policy.clone(), policy.backlog?))).collect()
    }

    /// The sweep is over, and the ledger knows.
    pub(super) fn ended(&self, outcome: &'static str) {
        self.tell(&self.lock(), None, What::SweepEnded { outcome });
    }

    fn take_news(&self) -> Vec<(String, Tally)> {
        let mut running = self.lock();
        let news = |policy: &mut RunningPolicy| {
            std::mem::take(&mut policy.is_news).then(|| (policy.policy.clone(), policy.so_far.clone()))
        };
        running.policies.iter_mut().filter_map(news).collect()
    }

    fn lock(&self) -> MutexGuard<'_, RunningSweep> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody may be watching.
    fn tell(&self, running: &RunningSweep, policy: Option<&str>, what: What) {
        let _ = self.watchers.send(Happening { sweep: running.sweep, policy: policy.map(str::to_owned), what });
    }
}

impl RunningSweep {
    fn policy(&mut self, name: &str) -> &mut RunningPolicy {
        let at = self.policies.iter().position(|policy| policy.policy == name).unwrap_or_else(|| {
            self.policies.push(RunningPolicy { policy: name.to_owned(), ..RunningPolicy::default() });
            self.policies.len() - 1
        });
        &mut self.policies[at]
    }
}

impl RunningPolicy {
    /// It may run again, where others have freed items of it: what it kept back is looked at again.
    fn surveyed(&mut self, survey: &Survey) -> What {
        let tally = &mut self.so_far;
        tally.examined = tally.examined - tally.kept_back.total() + survey.unreadable;
        tally.kept_back = KeptBack { unreadable: survey.unreadable, ..KeptBack::default() };
        self.backlog = survey.bygone;
        self.outcome = None;
        What::PolicyStarted { bygone: survey.bygone }
    }

    fn swept(&mut self, page: &Tally, time: Duration) -> What {
        self.so_far.add(page);
        self.pages += 1;
        self.backlog = self.backlog.map(|backlog| backlog.saturating_sub(page.done()));
        self.is_news = true;
        What::Page { so_far: self.so_far.clone(), millis: u64::try_from(time.as_millis()).unwrap_or(u64::MAX) }
    }

    fn ended(&mut self, report: &PolicyReport) -> What {
        self.so_far.clone_from(&report.tally);
        self.backlog = report.bygone.map(|bygone| bygone.saturating_sub(report.tally.done()));
        self.outcome = Some(report.outcome.as_str());
        What::PolicyEnded { outcome: report.outcome.as_str() }
    }
}

impl Observer for Recorder {
    fn on(&self, event: &Event<'_>) {
        let mut running = self.lock();
        let (policy, what) = match event {
            Event::SweepStarted { .. } => (None, What::SweepStarted),
            Event::PolicyStarted { policy, survey } => (Some(*policy), running.policy(policy).surveyed(survey)),
            Event::PageSwept { policy, page, time, .. } => (Some(*policy), running.policy(policy).swept(page, *time)),
            Event::PageFailed { policy, error, .. } => {
                (Some(*policy), What::PageFailed { error: error.full_message() })
            }
            Event::PolicyEnded { report } => {
                (Some(report.policy.as_str()), running.policy(&report.policy).ended(report))
            }
            // Its end is told once the ledger knows of it.
            _ => return,
        };
        self.tell(&running, policy, what);
    }
}
