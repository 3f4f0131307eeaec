//! Several workers side by side: together they do what one would, and use no more.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bygone_core::memory::{Item, MemoryTarget, Shelf};
use bygone_core::{
    Boundary, Budget, CancellationToken, Consent, ErrorKind, Event, Job, ManualClock, Observer, Outcome, Page,
    PageRequest, PolicyReport, Survey, Sweep, Target, TargetError,
};
use jiff::SignedDuration;
use proptest::prelude::*;

use crate::scripted::boundary;

/// Parts of a shelf whose pages take a while, so that they overlap.
struct Dawdler {
    inner: Box<dyn Target>,
    watch: Arc<Watch>,
    /// Its pages fail from this one of all workers on.
    fails_at: Option<u64>,
}

#[derive(Default)]
struct Watch {
    under_way: AtomicU64,
    most: AtomicU64,
    pages: AtomicU64,
    parts: AtomicU64,
}

#[async_trait]
impl Target for Dawdler {
    fn policy(&self) -> &str {
        self.inner.policy()
    }

    fn source(&self) -> &str {
        self.inner.source()
    }

    async fn survey(&mut self, boundary: Boundary) -> Result<Survey, TargetError> {
        self.inner.survey(boundary).await
    }

    async fn holds_at_least(&mut self, items: u64) -> Result<bool, TargetError> {
        self.inner.holds_at_least(items).await
    }

    async fn parts(&mut self, boundary: Boundary, workers: usize) -> Result<Vec<Box<dyn Target>>, TargetError> {
        let parts = self.inner.parts(boundary, workers).await?;
        self.watch.parts.store(parts.len() as u64, Ordering::Relaxed);
        let dawdler = |(at, inner)| {
            // The first of them alone.
            let fails_at = self.fails_at.filter(|_| at == 0);
            Box::new(Self { inner, watch: Arc::clone(&self.watch), fails_at }) as Box<dyn Target>
        };
        Ok(parts.into_iter().enumerate().map(dawdler).collect())
    }

    async fn page(&mut self, request: PageRequest<'_>) -> Result<Page, TargetError> {
        let under_way = self.watch.under_way.fetch_add(1, Ordering::Relaxed) + 1;
        self.watch.most.fetch_max(under_way, Ordering::Relaxed);
        let number = self.watch.pages.fetch_add(1, Ordering::Relaxed);
        tokio::task::yield_now().await;
        let page = match self.fails_at {
            Some(at) if number >= at => Err(TargetError::new(ErrorKind::Failed, "as the test says")),
            _ => self.inner.page(request).await,
        };
        tokio::task::yield_now().await;
        self.watch.under_way.fetch_sub(1, Ordering::Relaxed);
        page
    }

    async fn settle(&mut self) -> Result<(), TargetError> {
        self.inner.settle().await
    }

    async fn lag(&mut self, boundary: Boundary) -> Result<Option<SignedDuration>, TargetError> {
        self.inner.lag(boundary).await
    }
}

fn workers(workers: usize) -> NonZeroUsize {
    NonZeroUsize::new(workers).unwrap()
}

/// So many items that are bygone by a second to an hour, and one that is not.
fn shelf(items: u16) -> Shelf {
    let due = |at| boundary().instant() - SignedDuration::from_secs(1 + i64::from(at) % 3_600);
    let living = Item::due("living", boundary().instant());
    Shelf::new((0..items).map(|at| Item::due(format!("{at:05}"), due(at))).chain([living]))
}

struct Run {
    shelf: Shelf,
    watch: Arc<Watch>,
    fails_at: Option<u64>,
    consent: Consent,
    cancel: CancellationToken,
}

impl Run {
    fn over(shelf: &Shelf) -> Self {
        let shelf = shelf.clone();
        Self {
            shelf,
            watch: Arc::default(),
            fails_at: None,
            consent: Consent::Released,
            cancel: CancellationToken::new(),
        }
    }

    async fn with(&self, budget: Budget) -> PolicyReport {
        self.watched(budget, Arc::new(())).await
    }

    async fn watched(&self, budget: Budget, observer: Arc<dyn Observer>) -> PolicyReport {
        let inner = Box::new(MemoryTarget::new("parted", self.shelf.clone()));
        let target = Dawdler { inner, watch: Arc::clone(&self.watch), fails_at: self.fails_at };
        let clock = Arc::new(ManualClock::at(boundary().instant()));
        let sweep = Sweep::new(clock, boundary()).observed_by(observer).cancelled_by(self.cancel.clone());
        sweep.run(vec![Job::new(Box::new(target), budget).with_consent(self.consent)]).await.policies.remove(0)
    }
}

#[tokio::test]
async fn they_work_at_the_same_time_and_leave_what_lives() {
    let run = Run::over(&shelf(1_000));
    let report = run.with(Budget { workers: workers(3), page_items_max: 50, ..Budget::default() }).await;
    assert_eq!((report.outcome, report.tally.removed, report.pages), (Outcome::Complete, 1_000, 3 * 7));
    assert_eq!(run.watch.most.load(Ordering::Relaxed), 3, "all three at once");
    assert_eq!(run.shelf.keys(), ["living"]);
}

#[tokio::test]
async fn one_worker_asks_for_no_parts() {
    let run = Run::over(&shelf(100));
    let report = run.with(Budget::default()).await;
    assert_eq!((report.tally.removed, run.watch.parts.load(Ordering::Relaxed)), (100, 0));
}

#[tokio::test]
async fn items_are_counted_to_the_last_whoever_takes_them() {
    for items in [1, 2, 7, 99, 100, 101, 250, 299] {
        for page_items_max in [1, 3, 40, 1_000] {
            let run = Run::over(&shelf(300));
            let budget = Budget { workers: workers(3), page_items_max, items: Some(items), ..Budget::default() };
            let report = run.with(budget).await;
            assert!(report.tally.examined <= items, "{} of {items}", report.tally.examined);
            // A worker whose part is done leaves its share to the others; only what all of them need ends the run.
            let expected = if report.outcome == Outcome::Complete { 300 } else { items };
            assert_eq!(report.tally.examined, expected, "in pages of {page_items_max}");
        }
    }
}

#[tokio::test]
async fn a_plan_of_exactly_what_is_there_is_carried_out_whole() {
    let run = Run { consent: Consent::Plan { items: 300 }, ..Run::over(&shelf(300)) };
    let report = run.with(Budget { workers: workers(3), ..Budget::default() }).await;
    assert_eq!(report.tally.removed, 300, "what is set aside for one is no end for another");
    assert_eq!(run.shelf.keys(), ["living"]);
}

#[tokio::test]
async fn requests_are_never_overrun_by_all_of_them() {
    for requests in 4..40 {
        let run = Run::over(&shelf(1_000));
        let budget = Budget { workers: workers(4), page_items_max: 10, requests: Some(requests), ..Budget::default() };
        let report = run.with(budget).await;
        assert_eq!(report.outcome, Outcome::BudgetRequests);
        assert!(report.requests <= requests, "{} of {requests}", report.requests);
    }
}

#[tokio::test]
async fn a_worker_that_fails_ends_the_others_before_their_next_page() {
    let run = Run { fails_at: Some(4), ..Run::over(&shelf(1_000)) };
    let report = run.with(Budget { workers: workers(2), page_items_max: 1, ..Budget::default() }).await;
    assert_eq!((report.outcome, report.error.as_deref()), (Outcome::Failed, Some("as the test says")));
    assert!(report.pages <= 6, "{} pages", report.pages);
    assert_eq!(run.shelf.keys().len() as u64, 1_001 - report.tally.removed, "what is reported is what is gone");
}

#[tokio::test]
async fn all_of_them_end_when_the_sweep_is_cancelled() {
    struct Cancels(CancellationToken);
    impl Observer for Cancels {
        fn on(&self, event: &Event<'_>) {
            if matches!(event, Event::PageSwept { .. }) {
                self.0.cancel();
            }
        }
    }
    let run = Run::over(&shelf(1_000));
    let cancels = Arc::new(Cancels(run.cancel.clone()));
    let budget = Budget { workers: workers(4), page_items_max: 5, ..Budget::default() };
    let report = run.watched(budget, cancels).await;
    assert_eq!(report.outcome, Outcome::Cancelled);
    assert!(report.pages <= 4, "no page begins after it: {}", report.pages);
}

proptest! {
    /// Whatever lies on the shelf, and whoever holds what: the same goes, the same stays, and the same is told of it.
    #[test]
    fn together_they_do_what_one_would(
        items in prop::collection::vec((-50_i64..50, any::<bool>(), 0..8_u8), 0..80),
        page_items_max in 1_u64..30,
        side_by_side in 2_usize..6,
    ) {
        let put = |(at, (seconds, locked, stuck)): (usize, &(i64, bool, u8))| Item {
            key: format!("{at:03}"),
            deadline: Some(boundary().instant() + SignedDuration::from_secs(*seconds)),
            locked: *locked,
            stuck: *stuck == 0,
        };
        let run = |workers: NonZeroUsize| {
            let shelf = Shelf::new(items.iter().enumerate().map(put));
            let run = Run::over(&shelf);
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let report = runtime.block_on(run.with(Budget { workers, page_items_max, ..Budget::default() }));
            (report.outcome, report.tally, shelf.keys())
        };
        prop_assert_eq!(run(workers(1)), run(workers(side_by_side)));
    }
}
