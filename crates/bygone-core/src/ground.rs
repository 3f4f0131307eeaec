//! What the workers of a run share: its budget, its gates, its report.
//!
//! A run usually has one worker. Where a target can be parted several go through it side by side, and what one of them
//! may use is set aside before its page begins, so that together they never use more than the one would.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::sweep::Terms;
use crate::{Boundary, Budget, Clock, Observer, Outcome, Page, PolicyReport};

pub(crate) struct Ground<'a> {
    pub(crate) clock: &'a dyn Clock,
    pub(crate) observer: &'a dyn Observer,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) terms: &'a Terms,
    pub(crate) boundary: Boundary,
    /// When the run began, by the clock's elapsed time.
    pub(crate) started: Duration,
    books: Mutex<Books<'a>>,
    /// Somebody gave back what was set aside for him.
    returned: Notify,
}

/// What was used and what is left.
pub(crate) struct Books<'a> {
    pub(crate) report: &'a mut PolicyReport,
    pub(crate) items_left: u64,
    /// Set aside for pages under way.
    items_out: u64,
    requests_out: u64,
    /// A worker has failed: the others end, too.
    broken: bool,
}

/// What a page may use, set aside until it has ended.
#[derive(Debug)]
pub(crate) struct Ration {
    pub(crate) items: u64,
    requests: u64,
}

impl<'a> Ground<'a> {
    pub(crate) fn new(
        clock: &'a dyn Clock,
        observer: &'a dyn Observer,
        cancel: &'a CancellationToken,
        terms: &'a Terms,
        boundary: Boundary,
        started: Duration,
        report: &'a mut PolicyReport,
    ) -> Self {
        let items_left = terms.budget.items.unwrap_or(u64::MAX);
        let books = Books { report, items_left, items_out: 0, requests_out: 0, broken: false };
        let books = Mutex::new(books);
        Self { clock, observer, cancel, terms, boundary, started, books, returned: Notify::new() }
    }

    pub(crate) fn books(&self) -> MutexGuard<'_, Books<'a>> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets aside what a page may use: at most so many items, and what the page before it took in requests. Otherwise
    /// says why there is no other page.
    pub(crate) async fn admit(&self, items: u64, requests: u64) -> Result<Ration, Outcome> {
        loop {
            let returned = self.returned.notified();
            if let Some(outcome) = self.is_spent(requests) {
                return Err(outcome);
            }
            if let Some(outcome) = self.at_the_gates().await {
                return Err(outcome);
            }
            if let Some(ration) = self.books().set_aside(items, requests) {
                return Ok(ration);
            }
            // Everything that is left was set aside for others, who may give some of it back.
            tokio::select! {
                () = returned => {}
                () = self.cancel.cancelled() => {}
            }
        }
    }

    /// Why the run may not go on to another page that takes so many requests, if so.
    pub(crate) async fn must_stop(&self, requests: u64) -> Option<Outcome> {
        match self.is_spent(requests) {
            None => self.at_the_gates().await,
            spent => spent,
        }
    }

    fn is_spent(&self, requests: u64) -> Option<Outcome> {
        if self.cancel.is_cancelled() {
            return Some(Outcome::Cancelled);
        }
        if let Some(outcome) = self.books().is_spent(&self.terms.budget, requests) {
            return Some(outcome);
        }
        self.time_left().is_some_and(|left| left.is_zero()).then_some(Outcome::BudgetRuntime)
    }

    /// What is left of the time that the run may take; `None` where it is not bounded.
    fn time_left(&self) -> Option<Duration> {
        let spent = self.clock.elapsed().saturating_sub(self.started);
        self.terms.budget.run_time.map(|run_time| run_time.saturating_sub(spent))
    }

    /// Rests after a page that took so long: the pause, or what others at work are owed. No longer than the run may take.
    pub(crate) async fn rest(&self, page: Duration) {
        let Budget { pause, duty, .. } = self.terms.budget;
        let owed = if duty.is_full() || !self.has_neighbours().await { Duration::ZERO } else { duty.rest_after(page) };
        let rest = pause.max(owed).min(self.time_left().unwrap_or(Duration::MAX));
        if !rest.is_zero() {
            tokio::select! {
                () = self.clock.sleep(rest) => {}
                () = self.cancel.cancelled() => {}
            }
        }
    }

    async fn has_neighbours(&self) -> bool {
        match &self.terms.neighbours {
            Some(neighbours) => tokio::select! {
                at_work = neighbours.are_at_work() => at_work,
                () = self.cancel.cancelled() => false,
            },
            None => true,
        }
    }

    /// The first gate that is closed, if any: its kind, and its words for the report.
    pub(crate) async fn at_the_gates(&self) -> Option<Outcome> {
        for gate in &self.terms.gates {
            let closed = tokio::select! {
                closed = gate.closed() => closed,
                () = self.cancel.cancelled() => return Some(Outcome::Cancelled),
            };
            if let Some(closed) = closed {
                self.books().report.stopped_by = Some(closed.reason);
                return Some(closed.by.into());
            }
        }
        None
    }

    /// Counts a page that is committed, and gives back what was set aside for it.
    pub(crate) fn count(&self, page: &Page, ration: Option<Ration>) {
        debug_assert!(page.tally.adds_up(), "examined = removed + kept back: {:?}", page.tally);
        let mut books = self.books();
        if let Some(ration) = ration {
            books.give_back(&ration);
        }
        books.report.tally.add(&page.tally);
        books.report.pages += 1;
        books.report.requests += page.requests;
        books.items_left = books.items_left.saturating_sub(page.tally.examined);
        drop(books);
        self.returned.notify_waiters();
    }

    /// Counts a page that has failed, and gives back what was set aside for it.
    pub(crate) fn count_failed(&self, ration: &Ration) {
        let mut books = self.books();
        books.give_back(ration);
        books.report.requests += 1;
        drop(books);
        self.returned.notify_waiters();
    }

    /// Ends the others before their next page.
    pub(crate) fn break_off(&self) {
        self.books().broken = true;
        self.returned.notify_waiters();
    }
}

impl Books<'_> {
    fn is_spent(&self, budget: &Budget, requests: u64) -> Option<Outcome> {
        if self.broken {
            return Some(Outcome::Failed);
        }
        if self.items_left == 0 {
            return Some(Outcome::BudgetItems);
        }
        // A page is taken to cost as much as the one before it: rather stop one short than one over.
        let used = self.report.requests.saturating_add(self.requests_out).saturating_add(requests.max(1));
        budget.requests.is_some_and(|budget| used > budget).then_some(Outcome::BudgetRequests)
    }

    /// `None` while all that is left is set aside.
    fn set_aside(&mut self, items: u64, requests: u64) -> Option<Ration> {
        let items = items.min(self.items_left.saturating_sub(self.items_out));
        if items == 0 {
            return None;
        }
        let ration = Ration { items, requests: requests.max(1) };
        self.items_out += ration.items;
        self.requests_out += ration.requests;
        Some(ration)
    }

    fn give_back(&mut self, ration: &Ration) {
        self.items_out -= ration.items;
        self.requests_out -= ration.requests;
    }
}
