//! Gates: a run goes on only while all of them are open.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bygone_core::{Budget, Closed, Gate, Hindrance, ManualClock, Outcome, SweepOutcome, Window, WindowGate};
use jiff::civil::time;
use jiff::tz::TimeZone;

use crate::scripted::{Scripted, Step};

/// Open so many times, and then closed.
#[derive(Debug)]
pub(crate) struct Closing {
    left: AtomicU64,
    by: Hindrance,
}

impl Closing {
    pub(crate) fn after(times: u64, by: Hindrance) -> Arc<Self> {
        Arc::new(Self { left: AtomicU64::new(times), by })
    }
}

#[async_trait]
impl Gate for Closing {
    async fn closed(&self) -> Option<Closed> {
        let is_open = self.left.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1)).is_ok();
        (!is_open).then(|| Closed { by: self.by, reason: format!("closed by {:?}", self.by) })
    }
}

fn endless() -> Scripted {
    Scripted::new(std::iter::repeat_n(Step::RemovesAll, 100))
}

#[tokio::test]
async fn a_gate_that_is_closed_lets_nothing_begin() {
    let mut target = endless();
    target.survey.requests = 1;
    let report = target.run_through(Budget::default(), vec![Closing::after(0, Hindrance::Held)]).await;
    assert_eq!((report.outcome, report.pages, report.requests), (Outcome::Held, 0, 0), "no survey, either");
    assert_eq!(report.stopped_by.as_deref(), Some("closed by Held"));
    assert!(target.asked().is_empty());
    assert_eq!((report.error, report.error_kind), (None, None), "that is no failure");
}

#[tokio::test]
async fn any_gate_stops_a_run_between_two_pages_and_the_report_says_which() {
    for (by, outcome) in [
        (Hindrance::Activity, Outcome::Activity),
        (Hindrance::Window, Outcome::Window),
        (Hindrance::Lag, Outcome::Lag),
        (Hindrance::Held, Outcome::Held),
    ] {
        // Once before the survey, once before what goes as a whole, and once for each page.
        let open = Closing::after(u64::MAX, Hindrance::Held);
        let report = endless().run_through(Budget::default(), vec![open, Closing::after(5, by)]).await;
        assert_eq!((report.outcome, report.pages), (outcome, 3));
        assert_eq!(report.stopped_by, Some(format!("closed by {by:?}")));
        assert_eq!(SweepOutcome::of([outcome]), SweepOutcome::Partial);
    }
}

#[tokio::test]
async fn a_run_whose_gates_stay_open_is_complete() {
    let target = Scripted::new([Step::Removes(1), Step::Ends(1)]);
    let report = target.run_through(Budget::default(), vec![Closing::after(u64::MAX, Hindrance::Lag)]).await;
    assert_eq!((report.outcome, report.stopped_by), (Outcome::Complete, None));
}

#[tokio::test]
async fn the_end_of_a_window_ends_a_run() {
    let clock = Arc::new(ManualClock::at("2026-11-18T04:59:59.900Z".parse().unwrap()));
    let night = |from, until| Window::new(from, until, TimeZone::UTC).unwrap();
    let gate = WindowGate::new(
        Arc::clone(&clock) as Arc<_>,
        vec![night(time(22, 0, 0, 0), time(5, 0, 0, 0)), night(time(12, 0, 0, 0), time(13, 0, 0, 0))],
    );
    let mut target = endless();
    target.clock = clock;
    let report = target.run_through(Budget::default(), vec![Arc::new(gate)]).await;
    assert_eq!((report.outcome, report.pages), (Outcome::Window, 4), "four pages of 25 ms");
    let expected = "outside of its window 22:00-05:00 UTC and 12:00-13:00 UTC";
    assert_eq!(report.stopped_by.as_deref(), Some(expected));
}

#[tokio::test]
async fn a_spent_budget_is_told_before_a_closed_gate() {
    let budget = Budget { items: Some(1), ..Budget::default() };
    let report = endless().run_through(budget, vec![Closing::after(3, Hindrance::Lag)]).await;
    assert_eq!((report.outcome, report.stopped_by), (Outcome::BudgetItems, None));
}
