//! Listens to a sweep: for the ledger, and for those who watch.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bygone_core::{Clock, Event, Observer, Tally};
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
    /// The sweep ended.
    SweepEnded {
        /// How.
        outcome: &'static str,
    },
}

/// Listens to one sweep.
#[derive(Debug)]
pub(super) struct Recorder {
    sweep: Uuid,
    watchers: broadcast::Sender<Happening>,
    so_far: Mutex<BTreeMap<String, Progress>>,
}

#[derive(Debug, Default)]
struct Progress {
    tally: Tally,
    is_news: bool,
}

impl Recorder {
    pub(super) fn new(sweep: Uuid, watchers: broadcast::Sender<Happening>) -> Arc<Self> {
        Arc::new(Self { sweep, watchers, so_far: Mutex::default() })
    }

    /// Tells the ledger now and then what the pages did, until told to stop.
    pub(super) async fn keep(&self, ledger: &Ledger, clock: &dyn Clock, stop: &CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = clock.sleep(TELL_LEDGER) => {}
            }
            for (policy, tally) in self.take_news() {
                if let Err(error) = ledger.progress(self.sweep, policy, tally).await {
                    tracing::error!(%error, sweep = %self.sweep, "the ledger does not take the progress of a sweep");
                }
            }
        }
    }

    fn take_news(&self) -> Vec<(String, Tally)> {
        let mut so_far = self.so_far.lock().unwrap_or_else(PoisonError::into_inner);
        let news = |(policy, progress): (&String, &mut Progress)| {
            std::mem::take(&mut progress.is_news).then(|| (policy.clone(), progress.tally.clone()))
        };
        so_far.iter_mut().filter_map(news).collect()
    }

    fn count(&self, policy: &str, page: &Tally) -> Tally {
        let mut so_far = self.so_far.lock().unwrap_or_else(PoisonError::into_inner);
        let progress = so_far.entry(policy.to_owned()).or_default();
        progress.tally.add(page);
        progress.is_news = true;
        progress.tally.clone()
    }
}

impl Observer for Recorder {
    fn on(&self, event: &Event<'_>) {
        let (policy, what) = match event {
            Event::SweepStarted { .. } => (None, What::SweepStarted),
            Event::PolicyStarted { policy, survey } => (Some(*policy), What::PolicyStarted { bygone: survey.bygone }),
            Event::PageSwept { policy, page, time, .. } => {
                let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                (Some(*policy), What::Page { so_far: self.count(policy, page), millis })
            }
            Event::PageFailed { policy, error, .. } => {
                (Some(*policy), What::PageFailed { error: error.full_message() })
            }
            Event::PolicyEnded { report } => {
                (Some(report.policy.as_str()), What::PolicyEnded { outcome: report.outcome.as_str() })
            }
            Event::SweepEnded { report } => (None, What::SweepEnded { outcome: report.outcome.as_str() }),
            _ => return,
        };
        // Nobody may be watching.
        let _ = self.watchers.send(Happening { sweep: self.sweep, policy: policy.map(str::to_owned), what });
    }
}
