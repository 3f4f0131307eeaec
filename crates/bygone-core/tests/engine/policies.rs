//! Many policies in one sweep: none stops the others.

use std::sync::Arc;

use bygone_core::memory::{Item, MemoryTarget, Shelf};
use bygone_core::{Budget, CancellationToken, ErrorKind, Job, ManualClock, Outcome, Sweep, SweepOutcome, TargetError};
use jiff::SignedDuration;

use crate::scripted::{Scripted, Step, boundary};

fn shelf(items: usize) -> Shelf {
    let deadline = boundary().instant() - SignedDuration::from_secs(60);
    Shelf::new((0..items).map(|n| Item::due(format!("{n:03}"), deadline)))
}

fn sweep() -> Sweep {
    Sweep::new(Arc::new(ManualClock::at(boundary().instant())), boundary())
}

#[tokio::test]
async fn failing_refused_and_slow_policies_do_not_stop_the_rest() {
    let shelves = [shelf(10), shelf(20)];
    let target =
        |n: usize| Job::new(Box::new(MemoryTarget::new(format!("good-{n}"), shelves[n].clone())), Budget::default());
    let failing = Scripted::new([Step::Fails(ErrorKind::Failed)]);
    let slow = Scripted::new(std::iter::repeat_n(Step::Removes(1), 1_000));
    let bounded = Budget { run_time: Some(std::time::Duration::from_millis(100)), ..Budget::default() };
    let report = Sweep::new(slow.clock.clone(), boundary())
        .run(vec![
            target(0),
            Job::unbound("misspelt", "auth", TargetError::new(ErrorKind::Unfit, "no such table")),
            Job::new(Box::new(failing), Budget::default()),
            Job::new(Box::new(slow), bounded),
            target(1),
        ])
        .await;
    let outcomes: Vec<Outcome> = report.policies.iter().map(|policy| policy.outcome).collect();
    let expected = [Outcome::Complete, Outcome::Refused, Outcome::Failed, Outcome::BudgetRuntime, Outcome::Complete];
    assert_eq!(outcomes, expected);
    assert_eq!(report.outcome, SweepOutcome::Partial);
    assert!(shelves.iter().all(|shelf| shelf.keys().is_empty()));
    assert_eq!(report.policies[1].error.as_deref(), Some("no such table"));
}

#[tokio::test]
async fn cancelled_before_it_began_touches_nothing() {
    let shelf = shelf(10);
    let token = CancellationToken::new();
    token.cancel();
    let job = Job::new(Box::new(MemoryTarget::new("p", shelf.clone())), Budget::default());
    let report = sweep().cancelled_by(token).run(vec![job]).await;
    assert_eq!(report.policies[0].outcome, Outcome::Cancelled);
    assert_eq!(report.outcome, SweepOutcome::Partial);
    assert_eq!(shelf.keys().len(), 10);
}

#[tokio::test]
async fn cancelled_during_a_rest_it_ends_at_once() {
    let token = CancellationToken::new();
    let shelf = shelf(30);
    let budget = Budget { page_items_max: 10, pause: std::time::Duration::from_hours(1), ..Budget::default() };
    let job = Job::new(Box::new(MemoryTarget::new("p", shelf.clone())), budget);
    // The system clock: the rest would really last an hour.
    let sweep = Sweep::new(Arc::new(bygone_core::SystemClock::new()), boundary()).cancelled_by(token.clone());
    let running = tokio::spawn(sweep.run(vec![job]));
    while shelf.keys().len() == 30 {
        tokio::task::yield_now().await;
    }
    token.cancel();
    let report = running.await.unwrap();
    assert_eq!((report.policies[0].outcome, shelf.keys().len()), (Outcome::Cancelled, 20));
}

#[tokio::test]
async fn each_sweep_has_a_name_of_its_own_that_sorts_by_time() {
    let first = sweep().run(vec![]).await.sweep;
    let second = sweep().run(vec![]).await.sweep;
    assert_ne!(first, second);
    assert_eq!(first.get_version_num(), 7);
}
