//! The one sweep loop.
//!
//! A page is asked for, committed by the target, counted; then the loop looks whether it may go on. When a page
//! fails it is tried once more if the fault may pass, and otherwise halved, down to the single item that is in
//! the way; that item is kept back as a conflict and the loop goes on behind it.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, field};

use crate::pace::Pace;
use crate::sweep::record_error;
use crate::{
    Boundary, BrakeDecision, Budget, Care, Clock, Consent, Cursor, ErrorKind, Event, Gate, KeptBack, Observer, Outcome,
    Page, PageRequest, PolicyReport, Survey, Target, TargetError,
};

/// Careful pages name each of their items, so they stay small whatever the pace says.
pub const CAREFUL_ITEMS_MAX: u64 = 1_000;
/// The wait before a passing fault is tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// What the loop does after a failed page: careful pages of `limit` items, growing again up to `goal`.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    goal: u64,
    limit: u64,
    keep_back: bool,
}

pub(crate) struct PolicyRun<'a> {
    clock: &'a dyn Clock,
    observer: &'a dyn Observer,
    cancel: &'a CancellationToken,
    gates: &'a [Arc<dyn Gate>],
    boundary: Boundary,
    budget: &'a Budget,
    started: Duration,
    pace: Pace,
    cursor: Option<Cursor>,
    recovery: Option<Recovery>,
    retried: bool,
    items_left: u64,
    page_requests: u64,
}

impl<'a> PolicyRun<'a> {
    pub(crate) fn new(
        clock: &'a dyn Clock,
        observer: &'a dyn Observer,
        cancel: &'a CancellationToken,
        boundary: Boundary,
        budget: &'a Budget,
        spent: Duration,
    ) -> Self {
        Self {
            clock,
            observer,
            cancel,
            gates: &[],
            boundary,
            budget,
            started: clock.elapsed().saturating_sub(spent),
            pace: Pace::new(budget, u64::MAX),
            cursor: None,
            recovery: None,
            retried: false,
            items_left: budget.items.unwrap_or(u64::MAX),
            page_requests: 0,
        }
    }

    /// Goes on only while all of these are open.
    pub(crate) fn through(mut self, gates: &'a [Arc<dyn Gate>]) -> Self {
        self.gates = gates;
        self
    }

    /// Survey, brake, pages, settle; everything that happened stands in `report`, also after an error.
    pub(crate) async fn run(mut self, target: &mut dyn Target, consent: Consent, report: &mut PolicyReport) {
        // A survey is work for the source, too.
        if let Some(outcome) = self.at_the_gates(report).await {
            report.outcome = outcome;
            return;
        }
        if let Err(error) = self.begin(target, consent, report).await {
            record_error(report, &error);
            return;
        }
        match self.pages(target, report).await {
            Ok(outcome) => report.outcome = outcome,
            Err(error) => record_error(report, &error),
        }
        // Pages may be committed without waiting for the disk. Nothing is claimed before they are on it.
        if report.pages > 0
            && let Err(error) = settle(target).await
        {
            record_error(report, &error);
        }
        warn(report, target.warnings());
        self.measure_lag(target, report).await;
    }

    async fn begin(
        &mut self,
        target: &mut dyn Target,
        consent: Consent,
        report: &mut PolicyReport,
    ) -> Result<(), TargetError> {
        self.pace = Pace::new(self.budget, target.page_items_max());
        // What an earlier run of the sweep has done stands; what it kept back is looked at again.
        let tally = &mut report.tally;
        tally.examined -= tally.kept_back.total();
        tally.kept_back = KeptBack::default();
        self.items_left = self.items_left.saturating_sub(tally.examined);
        let survey = target.survey(self.boundary).await?;
        report.requests += survey.requests;
        // Where others have freed items of it, it may run again.
        report.bygone = survey.bygone.map(|bygone| bygone + report.tally.done());
        warn(report, survey.warnings.clone());
        self.check_consent(target, consent.after(report.tally.examined), &survey).await?;
        report.tally.examined += survey.unreadable;
        report.tally.kept_back.unreadable += survey.unreadable;
        self.observer.on(&Event::PolicyStarted { policy: target.policy(), survey: &survey });
        Ok(())
    }

    async fn check_consent(
        &mut self,
        target: &mut dyn Target,
        consent: Consent,
        survey: &Survey,
    ) -> Result<(), TargetError> {
        let stopped = match consent {
            Consent::Released => None,
            Consent::Brake(brake) => match brake.decide(survey.bygone, target).await? {
                BrakeDecision::Go => None,
                BrakeDecision::Stop(why) => Some(why),
            },
            Consent::Plan { items } => {
                self.items_left = self.items_left.min(items);
                match survey.bygone {
                    Some(bygone) if bygone <= items => None,
                    Some(bygone) => Some(format!("{bygone} items are bygone, over the {items} that the plan allows")),
                    None => Some("how many items are bygone is unknown".to_owned()),
                }
            }
        };
        match stopped {
            None => Ok(()),
            Some(why) => Err(TargetError::new(ErrorKind::Brake, format!("the brake holds: {why}")).with_help(
                "look at `bygone plan`; then `--release-brake POLICY` for this run, or set `brake` on the policy",
            )),
        }
    }

    /// What is bygone as a whole goes first: it costs next to nothing, and leaves less to look through.
    async fn wholes(&mut self, target: &mut dyn Target, report: &mut PolicyReport) -> Result<(), TargetError> {
        while self.must_stop(report).await.is_none() {
            let before = self.clock.elapsed();
            let Some(page) = target.whole(self.boundary, self.items_left).await? else { break };
            let time = self.clock.elapsed().saturating_sub(before);
            self.count(&page, report);
            let care = Care::Swift;
            self.observer.on(&Event::PageSwept { policy: target.policy(), page: &page.tally, care, time });
        }
        Ok(())
    }

    async fn pages(&mut self, target: &mut dyn Target, report: &mut PolicyReport) -> Result<Outcome, TargetError> {
        self.wholes(target, report).await?;
        loop {
            if let Some(outcome) = self.must_stop(report).await {
                return Ok(outcome);
            }
            let (limit, care) = self.next_page();
            let request = PageRequest { boundary: self.boundary, cursor: self.cursor.as_ref(), limit, care };
            let span = tracing::debug_span!("page", limit, examined = field::Empty, removed = field::Empty);
            let before = self.clock.elapsed();
            match target.page(request).instrument(span.clone()).await {
                Ok(page) => {
                    span.record("examined", page.tally.examined).record("removed", page.tally.removed);
                    let time = self.clock.elapsed().saturating_sub(before);
                    self.count(&page, report);
                    self.observer.on(&Event::PageSwept { policy: target.policy(), page: &page.tally, care, time });
                    for (what, count) in target.counted() {
                        self.observer.on(&Event::Counted { policy: target.policy(), what, count });
                    }
                    self.recover(limit, care, time);
                    if self.advance(page)? {
                        return Ok(Outcome::Complete);
                    }
                    target.tidy().await?;
                    self.rest().await;
                }
                Err(error) => {
                    report.requests += 1;
                    self.observer.on(&Event::PageFailed { policy: target.policy(), error: &error, limit });
                    self.fall_back(error, limit, care).await?;
                }
            }
        }
    }

    /// Why the run may not go on to another page, if so.
    async fn must_stop(&self, report: &mut PolicyReport) -> Option<Outcome> {
        match self.is_spent(report) {
            None => self.at_the_gates(report).await,
            spent => spent,
        }
    }

    /// The first gate that is closed, if any: its kind, and its words for the report.
    async fn at_the_gates(&self, report: &mut PolicyReport) -> Option<Outcome> {
        for gate in self.gates {
            let closed = tokio::select! {
                closed = gate.closed() => closed,
                () = self.cancel.cancelled() => return Some(Outcome::Cancelled),
            };
            if let Some(closed) = closed {
                report.stopped_by = Some(closed.reason);
                return Some(closed.by.into());
            }
        }
        None
    }

    fn is_spent(&self, report: &PolicyReport) -> Option<Outcome> {
        if self.cancel.is_cancelled() {
            return Some(Outcome::Cancelled);
        }
        if self.items_left == 0 {
            return Some(Outcome::BudgetItems);
        }
        // A page is taken to cost as much as the one before it: rather stop one short than one over.
        let requests = report.requests.saturating_add(self.page_requests.max(1));
        if self.budget.requests.is_some_and(|budget| requests > budget) {
            return Some(Outcome::BudgetRequests);
        }
        let spent = self.clock.elapsed().saturating_sub(self.started);
        if self.budget.run_time.is_some_and(|run_time| spent >= run_time) {
            return Some(Outcome::BudgetRuntime);
        }
        None
    }

    fn next_page(&self) -> (u64, Care) {
        let (limit, care) = match self.recovery {
            None => (self.pace.limit(), Care::Swift),
            Some(Recovery { keep_back: true, .. }) => (1, Care::KeepBack),
            Some(Recovery { limit, .. }) => (limit, Care::Careful),
        };
        (limit.min(self.items_left), care)
    }

    fn count(&mut self, page: &Page, report: &mut PolicyReport) {
        debug_assert!(page.tally.adds_up(), "examined = removed + kept back: {:?}", page.tally);
        report.tally.add(&page.tally);
        report.pages += 1;
        report.requests += page.requests;
        self.page_requests = page.requests;
        self.items_left = self.items_left.saturating_sub(page.tally.examined);
        self.retried = false;
    }

    /// After a good page: back towards the pace it had.
    fn recover(&mut self, limit: u64, care: Care, time: Duration) {
        match &mut self.recovery {
            None => self.pace.learn(limit, time),
            Some(recovery) => {
                // Behind a conflict the next one may stand close by: grow from one.
                recovery.limit = if care == Care::KeepBack { 1 } else { recovery.limit.saturating_mul(2) };
                recovery.keep_back = false;
                if recovery.limit > recovery.goal {
                    self.recovery = None;
                }
            }
        }
    }

    /// Moves the cursor; true at the end. A target that stands still would loop for ever, so that is an error.
    fn advance(&mut self, page: Page) -> Result<bool, TargetError> {
        match page.next {
            None => Ok(true),
            Some(next) if self.cursor.as_ref() == Some(&next) && page.tally.examined == 0 => {
                Err(TargetError::new(ErrorKind::Failed, "the target's cursor does not move; this is a bug in bygone"))
            }
            Some(next) => {
                self.cursor = Some(next);
                Ok(false)
            }
        }
    }

    async fn rest(&self) {
        if !self.budget.pause.is_zero() {
            tokio::select! {
                () = self.clock.sleep(self.budget.pause) => {}
                () = self.cancel.cancelled() => {}
            }
        }
    }

    /// Decides what to try instead of a page that failed; gives the error back when there is nothing.
    async fn fall_back(&mut self, error: TargetError, limit: u64, care: Care) -> Result<(), TargetError> {
        match error.kind() {
            ErrorKind::Transient | ErrorKind::Busy | ErrorKind::Lost if !self.retried => {
                self.retried = true;
                self.clock.sleep(RETRY_PAUSE).await;
                Ok(())
            }
            _ if care == Care::KeepBack => Err(error),
            ErrorKind::Contended if care == Care::Swift => {
                let limit = limit.min(CAREFUL_ITEMS_MAX);
                self.recovery = Some(Recovery { goal: limit, limit, keep_back: false });
                Ok(())
            }
            ErrorKind::Transient | ErrorKind::Contended | ErrorKind::TooSlow | ErrorKind::Item => {
                self.halve(limit, care);
                Ok(())
            }
            _ => Err(error),
        }
    }

    fn halve(&mut self, limit: u64, care: Care) {
        let goal = self.recovery.map_or(limit, |r| r.goal).min(CAREFUL_ITEMS_MAX);
        let smaller = (limit.min(CAREFUL_ITEMS_MAX) / 2).max(1);
        let keep_back = limit == 1 && care == Care::Careful;
        self.recovery = Some(Recovery { goal, limit: smaller, keep_back });
        self.retried = false;
    }

    /// The age of what is left. Nothing is left after a complete run that kept nothing back.
    async fn measure_lag(&self, target: &mut dyn Target, report: &mut PolicyReport) {
        let kept = report.tally.kept_back;
        if report.outcome == Outcome::Complete && kept.total() == kept.unreadable {
            return;
        }
        match target.lag(self.boundary).await {
            Ok(lag) => report.lag_seconds = lag.map_or(0, seconds),
            Err(error) => report.warnings.push(format!("the lag could not be read: {}", error.full_message())),
        }
    }
}

/// Adds what the report does not say yet: a policy may run more than once in a sweep.
fn warn(report: &mut PolicyReport, warnings: Vec<String>) {
    for warning in warnings {
        if !report.warnings.contains(&warning) {
            report.warnings.push(warning);
        }
    }
}

/// What was committed on one connection is made durable on any other: one that is lost is no reason to fail.
async fn settle(target: &mut dyn Target) -> Result<(), TargetError> {
    match target.settle().await {
        Err(error) if error.kind() == ErrorKind::Lost => target.settle().await,
        settled => settled,
    }
}

fn seconds(time: SignedDuration) -> u64 {
    u64::try_from(time.as_secs()).unwrap_or(0)
}
