//! The bounds of a run.

use std::time::Duration;

use bygone_core::{Budget, Clock, Outcome};

use crate::scripted::{Scripted, Step};

fn endless() -> Scripted {
    Scripted::new(std::iter::repeat_n(Step::RemovesAll, 10_000))
}

#[tokio::test]
async fn items_are_counted_to_the_last() {
    let report = endless().run(Budget { items: Some(1_234), ..Budget::default() }).await;
    assert_eq!((report.outcome, report.tally.examined), (Outcome::BudgetItems, 1_234));
}

#[tokio::test]
async fn requests_are_never_overrun() {
    for requests in 1..12 {
        let report = endless().run(Budget { requests: Some(requests), ..Budget::default() }).await;
        assert_eq!(report.outcome, Outcome::BudgetRequests);
        // The first page's cost is not known beforehand; from then on it is.
        assert!(report.requests <= requests.max(2), "{} of {requests}", report.requests);
    }
}

#[tokio::test]
async fn requests_are_used_to_the_last() {
    let report = endless().run(Budget { requests: Some(6), ..Budget::default() }).await;
    assert_eq!((report.outcome, report.requests, report.pages), (Outcome::BudgetRequests, 6, 3), "two for each page");
}

#[tokio::test]
async fn time_ends_a_run_between_pages() {
    let report = endless().run(Budget { run_time: Some(Duration::from_millis(100)), ..Budget::default() }).await;
    assert_eq!((report.outcome, report.pages), (Outcome::BudgetRuntime, 4), "four pages of 25 ms");
    assert_eq!(report.elapsed_ms, 100);
}

#[tokio::test]
async fn it_rests_between_pages_as_told() {
    let target = Scripted::new([Step::Removes(1), Step::Removes(1), Step::Ends(1)]);
    let before = target.clock.elapsed();
    target.run(Budget { pause: Duration::from_secs(1), ..Budget::default() }).await;
    let spent = target.clock.elapsed().saturating_sub(before);
    assert_eq!(spent, Duration::from_millis(3 * 25 + 2 * 1000), "two rests between three pages");
}

#[tokio::test]
async fn the_page_size_follows_the_time_pages_take() {
    let mut target = endless();
    target.page_time = Duration::from_millis(1);
    target.run(Budget { items: Some(400_000), ..Budget::default() }).await;
    let quick = target.asked().iter().map(|(limit, _)| *limit).max().unwrap();
    let mut target = endless();
    target.page_time = Duration::from_millis(400);
    target.run(Budget { items: Some(2_000), ..Budget::default() }).await;
    let slow = target.asked().last().unwrap().0;
    assert!(quick > 10_000, "quick pages grow: {quick}");
    assert!(slow < 100, "slow pages shrink: {slow}");
}

#[tokio::test]
async fn housekeeping_happens_between_pages_and_is_not_their_time() {
    let run = async |tidy_time| {
        let mut target = Scripted::new([Step::Removes(1), Step::Removes(1), Step::Ends(1)]);
        target.tidy_time = tidy_time;
        let before = target.clock.elapsed();
        target.run(Budget::default()).await;
        (target.asked(), target.clock.elapsed().saturating_sub(before))
    };
    let (without, spent) = run(Duration::ZERO).await;
    let (with, longer) = run(Duration::from_secs(1)).await;
    assert_eq!(with, without, "pages of the same size");
    assert_eq!(longer.saturating_sub(spent), Duration::from_secs(2), "twice between three pages");
}
