//! One run over a set of policies with one boundary; ends in a report.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, field};
use uuid::Uuid;

use crate::ground::Ground;
use crate::policy_run::PolicyRun;
use crate::{
    Boundary, Brake, Budget, Clock, ErrorKind, Event, Gate, Neighbours, Observer, Outcome, PolicyReport, Report,
    SweepOutcome, Tally, Target, TargetError,
};

/// The most runs of one policy in a sweep. Policies that free each other's items for ever are a mistake that not every
/// order of theirs shows; those that need more find the rest in the next sweep.
const RUNS_MAX: usize = 1_000;

/// What allows a policy to remove as much as its survey counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Consent {
    /// Nothing but the policy itself: the brake guards it.
    Brake(Brake),
    /// A person released the brake for this run.
    Released,
    /// A plan that somebody read and saved: no more than this many items.
    Plan {
        /// What the plan counted, with its margin.
        items: u64,
    },
}

impl Consent {
    /// What is left of it once so many items are done.
    pub(crate) fn after(self, done: u64) -> Self {
        match self {
            Self::Plan { items } => Self::Plan { items: items.saturating_sub(done) },
            other => other,
        }
    }
}

/// On what terms a policy runs: how much, when, and beside whom.
pub(crate) struct Terms {
    pub(crate) budget: Budget,
    pub(crate) gates: Vec<Arc<dyn Gate>>,
    /// `None` where nobody knows of them: then they are taken to be at work.
    pub(crate) neighbours: Option<Arc<dyn Neighbours>>,
}

impl Terms {
    fn new(budget: Budget) -> Self {
        Self { budget, gates: Vec::new(), neighbours: None }
    }
}

/// A policy in a sweep: bound to its source, or the reason why it could not be.
pub struct Job {
    policy: String,
    source: String,
    target: Result<Box<dyn Target>, TargetError>,
    terms: Terms,
    consent: Consent,
    frees: Vec<String>,
    unblocks: Vec<String>,
    warnings: Vec<String>,
}

impl Job {
    /// A bound policy, under the default brake.
    pub fn new(target: Box<dyn Target>, budget: Budget) -> Self {
        Self {
            policy: target.policy().to_owned(),
            source: target.source().to_owned(),
            target: Ok(target),
            terms: Terms::new(budget),
            consent: Consent::Brake(Brake::default()),
            frees: Vec::new(),
            unblocks: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// A policy that could not be bound. It takes part in the report, and stops nobody else.
    pub fn unbound(policy: impl Into<String>, source: impl Into<String>, error: TargetError) -> Self {
        Self {
            policy: policy.into(),
            source: source.into(),
            target: Err(error),
            terms: Terms::new(Budget::default()),
            consent: Consent::Brake(Brake::default()),
            frees: Vec::new(),
            unblocks: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// What was found before the sweep and belongs into the report.
    #[must_use]
    pub fn with_warnings(mut self, warnings: Vec<String>) -> Self {
        self.warnings = warnings;
        self
    }

    /// The policies of which items may come free when this one removes some: they run again, until nothing more does.
    #[must_use]
    pub fn that_frees(mut self, policies: Vec<String>) -> Self {
        self.frees = policies;
        self
    }

    /// The policies of which items may no longer be in conflict when this one has done something: those of them that kept
    /// some back for that reason run again.
    #[must_use]
    pub fn that_unblocks(mut self, policies: Vec<String>) -> Self {
        self.unblocks = policies;
        self
    }

    /// The policy's name.
    pub fn policy(&self) -> &str {
        &self.policy
    }

    /// The name of its source.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// What was found before the sweep.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Goes on only while all of these are open, too.
    #[must_use]
    pub fn through(mut self, gates: impl IntoIterator<Item = Arc<dyn Gate>>) -> Self {
        self.terms.gates.extend(gates);
        self
    }

    /// Gives way to these, as far as its budget says.
    #[must_use]
    pub fn beside(mut self, neighbours: Arc<dyn Neighbours>) -> Self {
        self.terms.neighbours = Some(neighbours);
        self
    }

    /// The same policy under another consent.
    #[must_use]
    pub fn with_consent(mut self, consent: Consent) -> Self {
        self.consent = consent;
        self
    }
}

/// A sweep about to run.
pub struct Sweep {
    id: Uuid,
    clock: Arc<dyn Clock>,
    boundary: Boundary,
    observer: Arc<dyn Observer>,
    cancel: CancellationToken,
}

impl Sweep {
    /// A sweep with this boundary, watched by nobody.
    pub fn new(clock: Arc<dyn Clock>, boundary: Boundary) -> Self {
        let id = name(&*clock);
        Self { id, clock, boundary, observer: Arc::new(()), cancel: CancellationToken::new() }
    }

    /// Its own name, which its report will bear: a UUIDv7.
    pub fn id(&self) -> Uuid {
        self.id
    }

    /// Told of every event.
    #[must_use]
    pub fn observed_by(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = observer;
        self
    }

    /// Ends between two pages once the token is cancelled.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Runs the policies one after another, and again those of which others have freed items, until nothing more comes
    /// free. A failing, refused or slow one never stops the rest.
    pub async fn run(self, jobs: Vec<Job>) -> Report {
        let (sweep, boundary) = (self.id, self.boundary.instant());
        let span = tracing::info_span!("sweep", %sweep, %boundary, outcome = field::Empty);
        self.run_all(jobs).instrument(span).await
    }

    async fn run_all(self, jobs: Vec<Job>) -> Report {
        let boundary = self.boundary.instant();
        self.observer.on(&Event::SweepStarted { sweep: self.id, boundary, policies: jobs.len() });
        let mut lanes: Vec<Lane> = jobs.into_iter().map(Lane::new).collect();
        let mut turn: Vec<usize> = (0..lanes.len()).collect();
        let mut runs = 0;
        while !turn.is_empty() {
            for at in turn {
                runs += 1;
                let Job { policy, source, .. } = &lanes[at].job;
                let span =
                    tracing::info_span!("policy", policy, source, outcome = field::Empty, removed = field::Empty);
                self.run_lane(&mut lanes[at], runs).instrument(span.clone()).await;
                let report = &lanes[at].report;
                span.record("outcome", report.outcome.as_str()).record("removed", report.tally.removed);
                self.observer.on(&Event::PolicyEnded { report: &lanes[at].report });
            }
            turn = (0..lanes.len()).filter(|&at| lanes[at].runs_again(&lanes)).collect();
        }
        let policies: Vec<PolicyReport> = lanes.into_iter().map(|lane| lane.report).inspect(log).collect();
        let outcome = SweepOutcome::of(policies.iter().map(|p| p.outcome));
        tracing::Span::current().record("outcome", outcome.as_str());
        let report = Report { sweep: self.id, boundary, outcome, policies };
        self.observer.on(&Event::SweepEnded { report: &report });
        report
    }

    async fn run_lane(&self, lane: &mut Lane, number: usize) {
        let started = self.clock.elapsed();
        let Lane { job, report, .. } = lane;
        let before = report.tally.done();
        match &mut job.target {
            Ok(target) if !self.cancel.is_cancelled() => {
                let (clock, observer) = (&*self.clock, &*self.observer);
                let began = started.saturating_sub(lane.spent);
                let ground = Ground::new(clock, observer, &self.cancel, &job.terms, self.boundary, began, report);
                PolicyRun::on(ground).run(&mut **target, job.consent).await;
            }
            Ok(_) => report.outcome = Outcome::Cancelled,
            Err(error) => record_error(report, error),
        }
        lane.ran = number;
        lane.runs += 1;
        if lane.runs == RUNS_MAX {
            report.warnings.push(format!(
                "it ran {RUNS_MAX} times, the most in one sweep: what others free after that is left to the next"
            ));
        }
        if report.tally.done() > before {
            lane.freed = number;
        }
        lane.spent += self.clock.elapsed().saturating_sub(started);
        report.elapsed_ms = millis(lane.spent);
    }
}

/// A UUIDv7 of now; its random part comes from the operating system.
fn name(clock: &dyn Clock) -> Uuid {
    let now = clock.now();
    let seconds = u64::try_from(now.as_second()).unwrap_or(0);
    let nanos = u32::try_from(now.subsec_nanosecond()).unwrap_or(0);
    Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, seconds, nanos))
}

/// A policy on its way through a sweep.
struct Lane {
    job: Job,
    report: PolicyReport,
    spent: Duration,
    /// Its last run, and the last that did something: numbers over all runs of the sweep.
    ran: usize,
    freed: usize,
    /// How many runs it had.
    runs: usize,
}

impl Lane {
    fn new(job: Job) -> Self {
        let mut report = empty_report(job.policy.clone(), job.source.clone());
        report.warnings.clone_from(&job.warnings);
        Self { job, report, spent: Duration::ZERO, ran: 0, freed: 0, runs: 0 }
    }

    /// Whether others, or itself, have done something since it last looked that may have freed items of it.
    fn runs_again(&self, lanes: &[Self]) -> bool {
        let stuck = self.report.tally.kept_back.conflict > 0;
        let frees_it = |lane: &Self| {
            let Job { frees, unblocks, .. } = &lane.job;
            let concerns = |policies: &[String]| policies.contains(&self.job.policy);
            lane.freed >= self.ran && (concerns(frees) || (stuck && concerns(unblocks)))
        };
        self.report.outcome == Outcome::Complete && self.runs < RUNS_MAX && lanes.iter().any(frees_it)
    }
}

fn empty_report(policy: String, source: String) -> PolicyReport {
    PolicyReport {
        policy,
        source,
        outcome: Outcome::Complete,
        tally: Tally::default(),
        pages: 0,
        requests: 0,
        elapsed_ms: 0,
        lag_seconds: 0,
        stopped_by: None,
        error: None,
        help: None,
        warnings: Vec::new(),
        bygone: None,
        error_kind: None,
    }
}

pub(crate) fn record_error(report: &mut PolicyReport, error: &TargetError) {
    // What was refused before the first page removed nothing; afterwards the same thing is a failure.
    let untouched = report.pages == 0;
    report.outcome = if error.kind().is_refusal() && untouched { Outcome::Refused } else { Outcome::Failed };
    report.error = Some(error.full_message());
    report.help = error.help().map(str::to_owned);
    report.error_kind = Some(if error.kind() == ErrorKind::Lost { ErrorKind::Unreachable } else { error.kind() });
}

/// Something was removed, stopped or went wrong: worth a line. Nothing to do: only for those who look closely.
fn log(report: &PolicyReport) {
    let PolicyReport { policy, source, outcome, tally, elapsed_ms, stopped_by, error, .. } = report;
    let (removed, kept_back) = (tally.removed, tally.kept_back.total());
    if let Some(error) = error {
        tracing::warn!(policy, source, outcome = outcome.as_str(), removed, error, "policy ended");
    } else if let Some(reason) = stopped_by {
        tracing::info!(policy, source, outcome = outcome.as_str(), removed, kept_back, reason, "policy ended");
    } else if removed > 0 {
        tracing::info!(policy, source, outcome = outcome.as_str(), removed, kept_back, elapsed_ms, "policy ended");
    } else {
        tracing::debug!(policy, source, outcome = outcome.as_str(), kept_back, elapsed_ms, "policy ended");
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
