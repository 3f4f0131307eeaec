//! One run over a set of policies with one boundary; ends in a report.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::policy_run::PolicyRun;
use crate::{
    Boundary, Brake, Budget, Clock, ErrorKind, Event, Observer, Outcome, PolicyReport, Report, SweepOutcome, Tally,
    Target, TargetError,
};

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

/// A policy in a sweep: bound to its source, or the reason why it could not be.
pub struct Job {
    policy: String,
    source: String,
    target: Result<Box<dyn Target>, TargetError>,
    budget: Budget,
    consent: Consent,
}

impl Job {
    /// A bound policy, under the default brake.
    pub fn new(target: Box<dyn Target>, budget: Budget) -> Self {
        Self {
            policy: target.policy().to_owned(),
            source: target.source().to_owned(),
            target: Ok(target),
            budget,
            consent: Consent::Brake(Brake::default()),
        }
    }

    /// A policy that could not be bound. It takes part in the report, and stops nobody else.
    pub fn unbound(policy: impl Into<String>, source: impl Into<String>, error: TargetError) -> Self {
        Self {
            policy: policy.into(),
            source: source.into(),
            target: Err(error),
            budget: Budget::default(),
            consent: Consent::Brake(Brake::default()),
        }
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
    clock: Arc<dyn Clock>,
    boundary: Boundary,
    observer: Arc<dyn Observer>,
    cancel: CancellationToken,
}

impl Sweep {
    /// A sweep with this boundary, watched by nobody.
    pub fn new(clock: Arc<dyn Clock>, boundary: Boundary) -> Self {
        Self { clock, boundary, observer: Arc::new(()), cancel: CancellationToken::new() }
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

    /// Runs the policies one after another. A failing, refused or slow one never stops the rest.
    pub async fn run(self, jobs: Vec<Job>) -> Report {
        let boundary = self.boundary.instant();
        self.observer.on(&Event::SweepStarted { boundary, policies: jobs.len() });
        let mut policies = Vec::with_capacity(jobs.len());
        for job in jobs {
            let report = self.run_job(job).await;
            self.observer.on(&Event::PolicyEnded { report: &report });
            policies.push(report);
        }
        let outcome = SweepOutcome::of(policies.iter().map(|p| p.outcome));
        let report = Report { sweep: self.name(), boundary, outcome, policies };
        self.observer.on(&Event::SweepEnded { report: &report });
        report
    }

    async fn run_job(&self, job: Job) -> PolicyReport {
        let started = self.clock.elapsed();
        let mut report = empty_report(job.policy, job.source);
        match job.target {
            Ok(mut target) if !self.cancel.is_cancelled() => {
                let run = PolicyRun::new(&*self.clock, &*self.observer, &self.cancel, self.boundary, &job.budget);
                run.run(&mut *target, job.consent, &mut report).await;
            }
            Ok(_) => report.outcome = Outcome::Cancelled,
            Err(error) => record_error(&mut report, &error),
        }
        report.elapsed_ms = millis(self.clock.elapsed().saturating_sub(started));
        log(&report);
        report
    }

    /// A UUIDv7 of now; its random part comes from the operating system.
    fn name(&self) -> Uuid {
        let now = self.clock.now();
        let seconds = u64::try_from(now.as_second()).unwrap_or(0);
        let nanos = u32::try_from(now.subsec_nanosecond()).unwrap_or(0);
        Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, seconds, nanos))
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
        error: None,
        help: None,
        warnings: Vec::new(),
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

/// Something was removed or went wrong: worth a line. Nothing to do: only for those who look closely.
fn log(report: &PolicyReport) {
    let PolicyReport { policy, source, outcome, tally, elapsed_ms, error, .. } = report;
    let (removed, kept_back) = (tally.removed, tally.kept_back.total());
    if let Some(error) = error {
        tracing::warn!(policy, source, outcome = outcome.as_str(), removed, error, "policy ended");
    } else if removed > 0 {
        tracing::info!(policy, source, outcome = outcome.as_str(), removed, kept_back, elapsed_ms, "policy ended");
    } else {
        tracing::debug!(policy, source, outcome = outcome.as_str(), kept_back, elapsed_ms, "policy ended");
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
