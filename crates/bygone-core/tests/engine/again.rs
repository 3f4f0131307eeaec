//! Policies that run again in a sweep, because another one has freed items of theirs: bounds and counts are for all runs
//! together.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Budget, Clock as _, Consent, ErrorKind, Job, ManualClock, Outcome, Report, Sweep};

use crate::scripted::{Scripted, Step, boundary};

/// A parent by its steps, and a child by its own, on one clock.
fn family(parent: impl IntoIterator<Item = Step>, child: impl IntoIterator<Item = Step>) -> (Scripted, Scripted) {
    let (mut parent, mut child) = (Scripted::new(parent), Scripted::new(child));
    (parent.name, child.name) = ("parent", "child");
    child.clock = Arc::clone(&parent.clock);
    (parent, child)
}

async fn sweep(clock: &Arc<ManualClock>, jobs: Vec<Job>) -> Report {
    Sweep::new(Arc::clone(clock) as Arc<_>, boundary()).run(jobs).await
}

/// The parent first, so that what its child frees is met by another run only.
async fn swept(parent: &Scripted, child: &Scripted, budget: Budget, consent: Consent) -> Report {
    let frees = child.job(Budget::default()).with_consent(Consent::Released).that_frees(vec!["parent".to_owned()]);
    sweep(&parent.clock, vec![parent.job(budget).with_consent(consent), frees]).await
}

#[tokio::test]
async fn what_was_freed_goes_in_another_run_and_counts_once() {
    let (parent, child) = family([Step::Removes(1), Step::KeepsBack(2), Step::Ends(2)], [Step::Ends(3)]);
    let report = swept(&parent, &child, Budget::default(), Consent::Released).await;
    let [parents, children] = report.policies.as_slice() else { panic!("{report:?}") };
    assert_eq!((parent.asked().len(), child.asked().len()), (3, 1), "the child has no reason to run again");
    assert_eq!((parents.outcome, parents.tally.removed, parents.tally.examined), (Outcome::Complete, 3, 3));
    assert_eq!((parents.tally.kept_back.total(), parents.pages), (0, 3), "what was kept back is looked at anew");
    assert_eq!(parents.bygone, Some(10 + 1), "what the last survey counted, and what was gone by then");
    assert_eq!((parents.elapsed_ms, children.elapsed_ms), (3 * 25, 25), "each its own time");
    assert_eq!(children.tally.removed, 3);
}

#[tokio::test]
async fn who_did_nothing_frees_nothing() {
    let (parent, child) = family([Step::KeepsBack(2), Step::Ends(2)], [Step::Ends(0)]);
    let report = swept(&parent, &child, Budget::default(), Consent::Released).await;
    assert_eq!((parent.asked().len(), report.policies[0].tally.kept_back.referenced), (1, 2));
}

#[tokio::test]
async fn who_was_stopped_or_has_failed_does_not_run_again() {
    let failing = [Step::Fails(ErrorKind::Failed), Step::Ends(2)];
    for (steps, items) in [(failing, None), ([Step::RemovesAll, Step::Ends(2)], Some(1))] {
        let (parent, child) = family(steps, [Step::Ends(3)]);
        swept(&parent, &child, Budget { items, ..Budget::default() }, Consent::Released).await;
        assert_eq!(parent.asked().len(), 1);
    }
}

#[tokio::test]
async fn a_policy_that_frees_its_own_runs_until_nothing_more_goes() {
    let target = Scripted::new([Step::Ends(2), Step::Ends(1), Step::Ends(0), Step::Ends(0)]);
    let job = target.job(Budget::default()).with_consent(Consent::Released).that_frees(vec!["scripted".to_owned()]);
    let report = sweep(&target.clock, vec![job]).await;
    assert_eq!((target.asked().len(), report.policies[0].tally.removed), (3, 3));
}

#[tokio::test]
async fn a_budget_is_for_all_runs() {
    let (parent, child) = family([Step::Ends(2), Step::RemovesAll, Step::RemovesAll], [Step::Ends(3)]);
    let report = swept(&parent, &child, Budget { items: Some(5), ..Budget::default() }, Consent::Released).await;
    let items: Vec<u64> = parent.asked().iter().map(|(limit, _)| *limit).collect();
    assert_eq!((items, report.policies[0].tally.removed), (vec![5, 3], 5));

    let (parent, child) = family([Step::Ends(2), Step::Removes(1), Step::Removes(1)], [Step::Ends(3)]);
    let run_time = Some(Duration::from_millis(40));
    let report = swept(&parent, &child, Budget { run_time, ..Budget::default() }, Consent::Released).await;
    assert_eq!((report.policies[0].outcome, parent.asked().len()), (Outcome::BudgetRuntime, 2), "25 ms each");
}

#[tokio::test]
async fn a_plan_is_for_all_runs() {
    let (mut parent, child) = family([Step::Ends(3), Step::Ends(1)], [Step::Ends(3)]);
    parent.survey.bygone = Some(4);
    let report = swept(&parent, &child, Budget::default(), Consent::Plan { items: 4 }).await;
    let parents = &report.policies[0];
    assert_eq!((parents.outcome, parents.error_kind), (Outcome::Failed, Some(ErrorKind::Brake)), "{parents:?}");
    assert_eq!((parents.tally.removed, parent.asked().len()), (3, 1), "four more are more than the one that is left");
    assert_eq!(parent.clock.now(), boundary().instant() + Duration::from_millis(2 * 25));
}

/// Two that free each other's items for ever, whatever they are: each of their runs does something.
#[tokio::test]
async fn a_circle_of_policies_comes_to_an_end_and_says_so() {
    let endless = || std::iter::repeat_n(Step::Ends(1), 5_000);
    let (parent, child) = family(endless(), endless());
    let frees = |whom: &str, other: &Scripted| {
        other.job(Budget::default()).with_consent(Consent::Released).that_frees(vec![whom.to_owned()])
    };
    let report = sweep(&parent.clock, vec![frees("child", &parent), frees("parent", &child)]).await;
    assert_eq!((parent.asked().len(), child.asked().len()), (1_000, 1_000));
    for policy in &report.policies {
        assert_eq!((policy.outcome, policy.tally.removed), (Outcome::Complete, 1_000), "{policy:?}");
        assert!(policy.warnings.iter().any(|warning| warning.starts_with("it ran 1000 times")), "{policy:?}");
    }
}
