//! What is bygone as a whole goes before the first page, within the same bounds.

use bygone_core::{Budget, Outcome};

use crate::gates::Closing;
use crate::scripted::{Scripted, Step};

#[tokio::test]
async fn wholes_go_first_and_are_counted_like_pages() {
    let target = Scripted::new([Step::Ends(5)]).with_wholes([100, 50]);
    let report = target.run(Budget::default()).await;
    assert_eq!((report.outcome, report.tally.removed, report.tally.examined), (Outcome::Complete, 155, 155));
    assert_eq!((report.pages, report.requests, target.asked().len()), (3, 3 + 3 + 2, 1));
}

#[tokio::test]
async fn a_whole_is_no_larger_than_what_the_budget_has_left() {
    let target = Scripted::new(std::iter::repeat_n(Step::RemovesAll, 10)).with_wholes([100, 50]);
    let report = target.run(Budget { items: Some(120), ..Budget::default() }).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::BudgetItems, 120));
    assert_eq!(target.asked().iter().map(|(limit, _)| limit).sum::<u64>(), 20, "the rest by pages");
}

#[tokio::test]
async fn wholes_end_with_the_budget_and_behind_a_closed_gate() {
    let target = Scripted::new([Step::Ends(5)]).with_wholes([10; 9]);
    // Each takes 25 ms and three requests.
    let timed = Budget { run_time: Some(std::time::Duration::from_millis(50)), ..Budget::default() };
    let report = target.run(timed).await;
    assert_eq!((report.outcome, report.pages), (Outcome::BudgetRuntime, 2), "{report:?}");

    let report = target.run(Budget { requests: Some(6), ..Budget::default() }).await;
    assert_eq!((report.outcome, report.pages), (Outcome::BudgetRequests, 2), "{report:?}");

    // Once before the survey, and once for each of them.
    let report = target.run_through(Budget::default(), vec![Closing::after(3, bygone_core::Hindrance::Lag)]).await;
    assert_eq!((report.outcome, report.pages), (Outcome::Lag, 2), "{report:?}");
    assert!(target.asked().is_empty(), "no page was begun");
}
