//! The policies of one source: one sweep at a time, when their time comes or somebody asks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Consent, Gate, Job, Observer, Sweep};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::hold::HoldGate;
use super::recorder::Recorder;
use super::timetable::Timetable;
use super::{NotStarted, Shared, TurnHolder, TurnSeen};
use crate::estate::{Bound, Estate, PolicyCard};
use crate::ledger::Cause;

/// The longest sleep: a wall clock that was set is noticed within it.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// Somebody asks for a sweep.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) policies: Vec<String>,
    /// What allows more than the brake does, by policy.
    pub(super) consents: BTreeMap<String, Consent>,
    /// Told as soon as the sweep has begun.
    pub(super) answer: oneshot::Sender<Result<Uuid, NotStarted>>,
}

pub(super) struct Lane {
    source: String,
    shared: Arc<Shared>,
    estate: watch::Receiver<Arc<dyn Estate>>,
    requests: mpsc::Receiver<Request>,
    timetable: Timetable,
    /// No page begins after it.
    stop: CancellationToken,
}

impl Lane {
    pub(super) fn new(
        source: String,
        shared: Arc<Shared>,
        estate: watch::Receiver<Arc<dyn Estate>>,
        requests: mpsc::Receiver<Request>,
        stop: CancellationToken,
    ) -> Self {
        Self { source, shared, estate, requests, timetable: Timetable::default(), stop }
    }

    /// Sweeps when it is time, until told to stop.
    pub(super) async fn run(mut self) {
        while !self.stop.is_cancelled() {
            let estate = Arc::clone(&self.estate.borrow_and_update());
            self.look_back(&*estate).await;
            let now = self.shared.clock.now();
            let cards = cards_of(&*estate, &self.source);
            let due = self.timetable.take_due(&cards, now);
            if !due.is_empty() {
                // Where another daemon has the turn, it does what is due.
                let _ = self.sweep(&*estate, Cause::Schedule, due, &BTreeMap::new(), None).await;
                continue;
            }
            let next = self.timetable.first(&cards, now);
            let wait = next.and_then(|next| Duration::try_from(next.duration_since(now)).ok());
            tokio::select! {
                () = self.stop.cancelled() => {}
                request = self.requests.recv() => match request {
                    // Whoever does not wait for the answer gets no sweep.
                    Some(Request { answer, .. }) if answer.is_closed() => {}
                    Some(Request { policies, consents, answer }) => {
                        // It may have changed since: whoever asks means what is there now.
                        let estate = Arc::clone(&self.estate.borrow());
                        let _ = self.sweep(&*estate, Cause::Request, policies, &consents, Some(answer)).await;
                    }
                    None => return,
                },
                changed = self.estate.changed() => if changed.is_err() { return },
                () = self.shared.clock.sleep(wait.unwrap_or(LOOK_AGAIN).min(LOOK_AGAIN)) => {}
            }
        }
    }

    /// A time that came while nobody was there is made up for, once.
    async fn look_back(&mut self, estate: &dyn Estate) {
        for card in cards_of(estate, &self.source) {
            if self.shared.lately.knows(&card.name) {
                continue;
            }
            let last = self.shared.look_back(&card.name).await;
            if let Some(ended) = last {
                self.timetable.see(&card.name, ended);
            }
        }
    }

    async fn sweep(
        &self,
        estate: &dyn Estate,
        cause: Cause,
        policies: Vec<String>,
        consents: &BTreeMap<String, Consent>,
        answer: Option<oneshot::Sender<Result<Uuid, NotStarted>>>,
    ) -> Option<Uuid> {
        let turn = match estate.take_turn(&self.source).await {
            Ok(Some(turn)) => {
                self.see_turn(Some(TurnHolder::ThisDaemon));
                Some(turn)
            }
            Ok(None) => {
                self.see_turn(Some(TurnHolder::Another));
                tracing::debug!(source = self.source, "another sweeper has the turn");
                answer.map(|answer| answer.send(Err(NotStarted::SweptByAnother)));
                return None;
            }
            // It goes on without: why the source does not answer is told by the report, policy by policy.
            Err(error) => {
                tracing::warn!(source = self.source, error = error.full_message(), "no turn could be taken");
                None
            }
        };
        let Bound { boundary, jobs } = estate.bind(&self.source, &policies).await;
        let cards = cards_of(estate, &self.source);
        let gate = turn.clone().map(|turn| turn as Arc<dyn Gate>);
        let jobs: Vec<Job> = jobs.into_iter().map(|job| self.ready(job, &cards, consents, gate.as_ref())).collect();
        let stop = self.stop.child_token();
        let sweep = Sweep::new(Arc::clone(&self.shared.clock), boundary).cancelled_by(stop.clone());
        let id = sweep.id();
        let recorder = Recorder::new(id, boundary.instant(), &policies, self.shared.watchers.clone());
        self.shared.running().insert(id, Arc::clone(&recorder));
        if let Err(error) = self.shared.ledger.begin(id, cause, policies).await {
            tracing::error!(%error, sweep = %id, "the ledger does not take the beginning of a sweep");
        }
        if answer.is_some_and(|answer| answer.send(Ok(id)).is_err()) {
            stop.cancel();
        }
        self.record(sweep, jobs, &recorder).await;
        if let Some(turn) = turn {
            turn.give_back().await;
            self.see_turn(None);
        }
        Some(id)
    }

    fn see_turn(&self, holder: Option<TurnHolder>) {
        let at = self.shared.clock.now();
        self.shared.turns.see(&self.source, holder.map(|holder| TurnSeen { holder, at }));
    }

    fn ready(
        &self,
        job: Job,
        cards: &[&PolicyCard],
        consents: &BTreeMap<String, Consent>,
        turn: Option<&Arc<dyn Gate>>,
    ) -> Job {
        let hold: Arc<dyn Gate> = HoldGate::new(&self.shared.holds, job.policy());
        let own = cards.iter().find(|card| card.name == job.policy()).map(|card| card.gates.clone());
        let consent = consents.get(job.policy()).copied();
        let job = job.through(turn.cloned().into_iter().chain([hold]).chain(own.unwrap_or_default()));
        match consent {
            Some(consent) => job.with_consent(consent),
            None => job,
        }
    }

    /// Runs a sweep that has begun, with the ledger beside it.
    async fn record(&self, sweep: Sweep, jobs: Vec<Job>, recorder: &Arc<Recorder>) {
        let Shared { ledger, clock, .. } = &*self.shared;
        let over = CancellationToken::new();
        let observer = self.shared.meter.of_source(&self.source, Arc::clone(recorder) as Arc<dyn Observer>);
        let run = async {
            let report = sweep.observed_by(observer).run(jobs).await;
            over.cancel();
            report
        };
        let (report, ()) = tokio::join!(run, recorder.keep(ledger, &**clock, &over));
        if let Err(error) = ledger.end(&report, recorder.backlogs()).await {
            tracing::error!(%error, sweep = %report.sweep, "the ledger does not take the end of a sweep");
        }
        for run in &report.policies {
            self.shared.look_back(&run.policy).await;
        }
        // Those who hear of the end find the report.
        self.shared.running().remove(&report.sweep);
        recorder.ended(report.outcome.as_str());
    }
}

fn cards_of<'a>(estate: &'a dyn Estate, source: &str) -> Vec<&'a PolicyCard> {
    estate.policies().iter().filter(|card| card.source == source).collect()
}
