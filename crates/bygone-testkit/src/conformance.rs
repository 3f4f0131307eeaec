//! The conformance suite: what every target must do, whatever it sweeps.
//!
//! An adapter provides a [`Stand`], a small world of items with deadlines, and calls [`conforms`]. The in-memory
//! reference target passes the same suite, so that the suite itself is tested.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bygone_core::{
    Boundary, Budget, CancellationToken, Care, Consent, Cursor, Event, Job, Observer, Outcome, Page, PageRequest,
    PolicyReport, Report, Sweep, SystemClock, Target,
};
use jiff::{SignedDuration, Timestamp};

/// How long the stand's policy keeps an item after its deadline.
pub const KEEP: SignedDuration = SignedDuration::from_hours(1);

/// A future that a trait object can return.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Something that holds an item, as another user would, until it is dropped or let go.
pub trait Hold: Send {
    /// Lets go.
    fn release(self: Box<Self>) -> Answer<'static, ()>;
}

/// A world of items, swept by a policy with [`KEEP`].
pub trait Stand: Send + Sync {
    /// A target over the items, with a connection of its own.
    fn target(&self) -> Answer<'_, Box<dyn Target>>;
    /// Puts an item there, or changes the one of that key.
    fn put(&self, key: u32, deadline: Option<Timestamp>) -> Answer<'_, ()>;
    /// All items.
    fn items(&self) -> Answer<'_, BTreeMap<u32, Option<Timestamp>>>;
    /// Makes it impossible to remove an item.
    fn stick(&self, key: u32) -> Answer<'_, ()>;
    /// Whether there is a way to make an item stick.
    fn can_stick(&self) -> bool {
        true
    }
    /// Holds an item; `None` where items cannot be held one by one.
    fn hold(&self, key: u32) -> Answer<'_, Option<Box<dyn Hold>>>;
    /// Removes everything, and what makes items stick.
    fn reset(&self) -> Answer<'_, ()>;
    /// Whether of two who remove an item at once only one is told that he did.
    fn tells_who_removed(&self) -> bool {
        true
    }
    /// Whether an item can be without a deadline that can be read.
    fn can_lack_deadline(&self) -> bool {
        true
    }
}

/// Runs every case. Panics with the case's name in the message.
pub async fn conforms(stand: &dyn Stand) {
    let case = Case { stand, boundary: Boundary::at(at(0)) };
    case.strict_boundary().await;
    case.sweeping_twice_is_harmless().await;
    if stand.can_stick() {
        case.stuck_items_do_not_stop_the_cursor().await;
        case.a_single_stuck_item_is_isolated().await;
    }
    case.held_items_are_skipped_and_found_later().await;
    case.the_item_budget_is_exact().await;
    case.pages_respect_their_limit().await;
    case.cancellation_ends_between_pages().await;
    case.extended_while_sweeping_survives().await;
    case.concurrent_sweepers_remove_each_item_once().await;
    case.equal_deadlines_by_the_thousand().await;
    case.an_empty_stand_is_complete().await;
}

/// An instant relative to the boundary of every case.
fn at(micros: i64) -> Timestamp {
    let boundary = Timestamp::from_second(1_794_744_000).unwrap_or_default();
    boundary.checked_add(SignedDuration::from_micros(micros)).unwrap_or_default()
}

/// A deadline that passed so many seconds before the cutoff.
fn due(seconds: i64) -> Timestamp {
    let cutoff = at(0).checked_sub(KEEP).unwrap_or_default();
    cutoff.checked_sub(SignedDuration::from_secs(seconds)).unwrap_or_default()
}

struct Case<'a> {
    stand: &'a dyn Stand,
    boundary: Boundary,
}

/// Cancels after so many pages.
struct CancelAfter {
    pages: std::sync::atomic::AtomicU64,
    token: CancellationToken,
}

impl Observer for CancelAfter {
    fn on(&self, event: &Event<'_>) {
        let is_page = matches!(event, Event::PageSwept { .. });
        if is_page && self.pages.fetch_sub(1, std::sync::atomic::Ordering::SeqCst) == 1 {
            self.token.cancel();
        }
    }
}

impl Case<'_> {
    async fn fill(&self, items: impl IntoIterator<Item = (u32, Option<Timestamp>)>) {
        self.stand.reset().await;
        for (key, deadline) in items {
            self.stand.put(key, deadline).await;
        }
    }

    async fn sweep(&self, budget: Budget) -> PolicyReport {
        sweep(self.stand.target().await, self.boundary, budget).await
    }

    async fn keys(&self) -> Vec<u32> {
        self.stand.items().await.into_keys().collect()
    }

    /// One page, which must not fail.
    async fn page(&self, target: &mut dyn Target, cursor: Option<&Cursor>, limit: u64) -> Page {
        let request = PageRequest { boundary: self.boundary, cursor, limit, care: Care::Swift };
        target.page(request).await.unwrap_or_else(|error| panic!("a page failed: {}", error.full_message()))
    }

    async fn strict_boundary(&self) {
        let cutoff = at(0) - KEEP;
        let micro = SignedDuration::from_micros(1);
        let unreadable = self.stand.can_lack_deadline();
        let mut items = vec![
            (1, Some(cutoff - micro)),
            (2, Some(cutoff)),
            (3, Some(cutoff + micro)),
            (5, Some(due(86_400 * 365))),
            (6, Some(at(0))),
        ];
        items.extend(unreadable.then_some((4, None)));
        self.fill(items.clone()).await;
        let report = self.sweep(Budget::default()).await;
        let left: BTreeMap<_, _> = items.into_iter().filter(|(key, _)| ![1, 5].contains(key)).collect();
        assert_eq!(self.stand.items().await, left, "strict boundary: the survivors, untouched");
        assert_eq!(report.outcome, Outcome::Complete, "strict boundary: {report:?}");
        assert_eq!(report.tally.removed, 2, "strict boundary: {report:?}");
        assert_eq!(report.tally.kept_back.unreadable, u64::from(unreadable), "no deadline is counted: {report:?}");
        assert_eq!(report.lag_seconds, 0, "nothing is left behind");
    }

    async fn sweeping_twice_is_harmless(&self) {
        self.fill((0..40).map(|n| (n, Some(if n % 2 == 0 { due(60) } else { at(0) })))).await;
        assert_eq!(self.sweep(Budget::default()).await.tally.removed, 20, "idempotence");
        let left = self.stand.items().await;
        let again = self.sweep(Budget::default()).await;
        assert_eq!((again.tally.removed, again.outcome), (0, Outcome::Complete), "idempotence");
        assert_eq!(self.stand.items().await, left, "idempotence");
    }

    async fn stuck_items_do_not_stop_the_cursor(&self) {
        self.fill((0..6).map(|n| (n, Some(due(60 + i64::from(n)))))).await;
        for key in 0..6 {
            self.stand.stick(key).await;
        }
        // The bound ends the case for a target that never gets past the first of them.
        let report = self.sweep(Budget { page_items_max: 2, items: Some(100), ..Budget::default() }).await;
        assert_eq!(report.outcome, Outcome::Complete, "cursor progress: {report:?}");
        assert_eq!(report.tally.kept_back.conflict, 6, "cursor progress: {report:?}");
        assert!(report.lag_seconds >= 60, "what stays is the lag: {report:?}");
        assert_eq!(self.keys().await, [0, 1, 2, 3, 4, 5], "cursor progress");
    }

    async fn held_items_are_skipped_and_found_later(&self) {
        self.fill((0..30).map(|n| (n, Some(due(60 + i64::from(n)))))).await;
        let Some(hold) = self.stand.hold(17).await else { return };
        let report = self.sweep(Budget { page_items_max: 10, ..Budget::default() }).await;
        assert_eq!(self.keys().await, [17], "held: {report:?}");
        assert_eq!((report.tally.removed, report.tally.kept_back.locked), (29, 1), "held: {report:?}");
        hold.release().await;
        assert_eq!(self.sweep(Budget::default()).await.tally.removed, 1, "found by the next sweep");
    }

    async fn a_single_stuck_item_is_isolated(&self) {
        self.fill((0..50).map(|n| (n, Some(due(100 - i64::from(n)))))).await;
        self.stand.stick(33).await;
        let report = self.sweep(Budget::default()).await;
        assert_eq!(self.keys().await, [33], "isolation: {report:?}");
        assert_eq!((report.tally.removed, report.tally.kept_back.conflict), (49, 1), "isolation: {report:?}");
    }

    async fn the_item_budget_is_exact(&self) {
        for items in [1, 7, 19] {
            self.fill((0..20).map(|n| (n, Some(due(60))))).await;
            let report = self.sweep(Budget { items: Some(items), page_items_max: 5, ..Budget::default() }).await;
            assert_eq!(report.tally.examined, items, "budget: {report:?}");
            assert_eq!(report.outcome, Outcome::BudgetItems, "budget: {report:?}");
            assert_eq!(self.keys().await.len() as u64, 20 - items, "budget");
        }
    }

    async fn pages_respect_their_limit(&self) {
        self.fill((0..25).map(|n| (n, Some(due(60 + i64::from(n % 3)))))).await;
        let mut target = self.stand.target().await;
        let (mut cursor, mut removed): (Option<Cursor>, u64) = (None, 0);
        for _ in 0..100 {
            let page = self.page(&mut *target, cursor.as_ref(), 4).await;
            assert!(page.tally.examined <= 4, "limit: {page:?}");
            assert!(page.tally.adds_up(), "counts: {page:?}");
            removed += page.tally.removed;
            let Some(next) = page.next else { break };
            cursor = Some(next);
        }
        assert_eq!((removed, self.keys().await.len()), (25, 0), "limit");
    }

    async fn cancellation_ends_between_pages(&self) {
        self.fill((0..30).map(|n| (n, Some(due(60 + i64::from(n)))))).await;
        let token = CancellationToken::new();
        let observer = CancelAfter { pages: 2.into(), token: token.clone() };
        let budget = Budget { page_items_max: 5, ..Budget::default() };
        let job = Job::new(self.stand.target().await, budget).with_consent(Consent::Released);
        let sweep = Sweep::new(Arc::new(SystemClock::new()), self.boundary);
        let report = sweep.observed_by(Arc::new(observer)).cancelled_by(token).run(vec![job]).await;
        let policy = &report.policies[0];
        assert_eq!((policy.outcome, policy.pages), (Outcome::Cancelled, 2), "cancellation: {policy:?}");
        assert_eq!(self.keys().await.len() as u64, 30 - policy.tally.removed, "cancellation");
        assert!(policy.tally.removed <= 10, "cancellation: {policy:?}");
    }

    async fn extended_while_sweeping_survives(&self) {
        self.fill((0..20).map(|n| (n, Some(due(100 - i64::from(n)))))).await;
        let mut target = self.stand.target().await;
        let mut cursor = self.page(&mut *target, None, 5).await.next;
        let Some(extended) = self.keys().await.pop() else { panic!("a page of five took all twenty") };
        self.stand.put(extended, Some(at(0))).await;
        while let Some(place) = cursor {
            cursor = self.page(&mut *target, Some(&place), 5).await.next;
        }
        assert_eq!(self.keys().await, [extended], "extended while sweeping");
    }

    async fn concurrent_sweepers_remove_each_item_once(&self) {
        self.fill((0..400).map(|n| (n, Some(if n % 4 == 0 { at(0) } else { due(60 + i64::from(n % 7)) })))).await;
        let mut sweepers = Vec::new();
        for _ in 0..3 {
            let target = self.stand.target().await;
            let budget = Budget { page_items_max: 20, ..Budget::default() };
            sweepers.push(tokio::spawn(sweep(target, self.boundary, budget)));
        }
        let mut removed = 0;
        for sweeper in sweepers {
            let report = sweeper.await.unwrap_or_else(|error| panic!("a sweeper ended: {error}"));
            assert_eq!(report.error, None, "concurrent sweepers");
            removed += report.tally.removed;
        }
        // What one sweeper held while another passed by is left to the next sweep.
        removed += self.sweep(Budget::default()).await.tally.removed;
        if self.stand.tells_who_removed() {
            assert_eq!(removed, 300, "each item once");
        } else {
            assert!(removed >= 300, "each item, and a few counted twice: {removed}");
        }
        assert!(self.keys().await.iter().all(|key| key % 4 == 0), "concurrent sweepers");
        assert_eq!(self.keys().await.len(), 100, "concurrent sweepers");
    }

    async fn equal_deadlines_by_the_thousand(&self) {
        self.fill((0..1_500).map(|n| (n, Some(due(60))))).await;
        let report = self.sweep(Budget { page_items_max: 200, items: Some(1_001), ..Budget::default() }).await;
        assert_eq!(report.tally.removed, 1_001, "equal deadlines: {report:?}");
        let report = self.sweep(Budget { page_items_max: 200, ..Budget::default() }).await;
        assert_eq!((report.tally.removed, self.keys().await.len()), (499, 0), "equal deadlines: {report:?}");
    }

    async fn an_empty_stand_is_complete(&self) {
        self.stand.reset().await;
        let report = self.sweep(Budget::default()).await;
        assert_eq!((report.outcome, report.tally.examined), (Outcome::Complete, 0), "empty: {report:?}");
    }
}

/// Runs a sweep of one policy, under a released brake: tests empty their stands on purpose.
///
/// # Panics
/// If the counts of the report do not add up.
pub async fn sweep(target: Box<dyn Target>, boundary: Boundary, budget: Budget) -> PolicyReport {
    let job = Job::new(target, budget).with_consent(Consent::Released);
    let report: Report = Sweep::new(Arc::new(SystemClock::new()), boundary).run(vec![job]).await;
    let Some(policy) = report.policies.into_iter().next() else { panic!("the one policy is not in the report") };
    assert!(policy.tally.adds_up(), "examined = removed + kept back: {policy:?}");
    policy
}

#[cfg(test)]
mod tests;
