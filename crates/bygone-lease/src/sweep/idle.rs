//! The idle sweeper: it takes away what nobody comes back for, while nobody uses the store.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Boundary, Budget, Consent, Event, Job, Observer, Report, Sweep};
use tokio_util::sync::CancellationToken;

use super::gate::Gate;
use super::{LeaseTarget, Swept};
use crate::Error;
use crate::document;
use crate::layout;
use crate::moment::Moment;
use crate::store::LeaseStore;
use crate::txn::TxnHours;

/// The turn to sweep lasts so much longer than a run: whoever dies in one keeps nobody waiting for long.
const TURN_MARGIN: Duration = Duration::from_secs(60);

/// When and how gently an idle store is swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleOptions {
    /// For how long nobody must have used the store.
    pub grace: Duration,
    /// The time between two looks.
    pub tick: Duration,
    /// The most entries that a run looks at, and the most requests that it makes.
    pub operations_max: u64,
    /// How long a run may take.
    pub run_time: Duration,
    /// The rest between two entries.
    pub entry_pause: Duration,
}

impl Default for IdleOptions {
    fn default() -> Self {
        Self {
            grace: Duration::from_secs(300),
            tick: Duration::from_secs(300),
            operations_max: 1_000,
            run_time: Duration::from_secs(30),
            entry_pause: Duration::from_millis(100),
        }
    }
}

/// Why a run of the idle sweeper ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It went through everything that had come.
    Complete,
    /// Somebody used the store.
    Activity,
    /// It has looked at as many entries as it may.
    Entries,
    /// It has made as many requests as it may.
    Requests,
    /// Its time is over.
    RunTime,
}

impl Ended {
    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Activity => "activity",
            Self::Entries => "entries",
            Self::Requests => "requests",
            Self::RunTime => "run_time",
        }
    }
}

/// What a look of the idle sweeper came to.
#[derive(Debug)]
pub enum Idle {
    /// The store is in use, or was a short while ago.
    Busy,
    /// Nothing has come.
    NothingDue,
    /// Another process is sweeping.
    SweptByAnother,
    /// It has swept.
    Swept {
        /// What became of each part.
        report: Report,
        /// Why it ended.
        ended: Ended,
    },
}

/// Sweeps a store while nobody uses it.
///
/// Only operations on the store count as use, and those under way count for as long as they last. With nothing due a look
/// reads two small documents and one a namespace, and lists nothing.
#[derive(Debug)]
pub struct IdleSweeper {
    store: LeaseStore,
    options: IdleOptions,
}

impl IdleSweeper {
    /// A sweeper of this store.
    pub fn new(store: &LeaseStore, options: IdleOptions) -> Self {
        Self { store: store.clone(), options }
    }

    /// Looks again and again, until told to stop. What fails is told to the log, and tried again.
    pub async fn run(&self, observer: Arc<dyn Observer>, stop: CancellationToken) {
        while self.store.shared.rest(self.options.tick, &stop).await {
            if let Err(error) = self.look(Arc::clone(&observer), stop.child_token()).await {
                tracing::warn!(%error, "the idle sweep is put off");
            }
        }
    }

    /// Looks once, and sweeps what has come if the store is idle. Cancelling `stop` ends it within an entry.
    pub async fn look(&self, observer: Arc<dyn Observer>, stop: CancellationToken) -> Result<Idle, Error> {
        let shared = &self.store.shared;
        if shared.activity.idle() < self.options.grace {
            return Ok(Idle::Busy);
        }
        let boundary = Boundary::at(shared.clock.now());
        let gate = Arc::new(Gate::new(Arc::clone(shared), self.options, stop.clone()));
        let txns: TxnHours = document::read(&*shared.storage, layout::TXN_HOURS).await?;
        let mut jobs = Vec::new();
        for (swept, policy) in
            [(Swept::Transactions, "transactions"), (Swept::Leases, "leases"), (Swept::Decisions, "decisions")]
        {
            let mut target = LeaseTarget::new(swept, policy, "idle", &self.store);
            if target.gate(&gate, &txns, Moment::from(boundary.instant())).await? {
                // Nobody counts beforehand what a brake could be applied to: each step proves itself.
                jobs.push(Job::new(Box::new(target), Budget::default()).with_consent(Consent::Released));
            }
        }
        if jobs.is_empty() {
            return Ok(Idle::NothingDue);
        }
        if !shared.take_turn(self.options.run_time + TURN_MARGIN).await? {
            return Ok(Idle::SweptByAnother);
        }
        let began = shared.clock.elapsed();
        let sweep = Sweep::new(Arc::clone(&shared.clock), boundary);
        let report = sweep.observed_by(Arc::clone(&observer)).cancelled_by(stop).run(jobs).await;
        if let Err(error) = shared.give_turn_back().await {
            tracing::debug!(%error, "the turn to sweep ends by itself");
        }
        let (ended, time) = (gate.ended(), shared.clock.elapsed().saturating_sub(began));
        let count = |what, count| observer.on(&Event::Counted { policy: "idle", what, count });
        count("sweep_duration_ms", u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        if ended == Ended::Activity {
            count("sweeps_aborted_by_activity", 1);
        }
        tracing::info!(ended = ended.as_str(), ?time, "an idle sweep has ended");
        Ok(Idle::Swept { report, ended })
    }
}
