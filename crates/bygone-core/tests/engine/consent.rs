//! What allows a policy to remove as much as it finds.

use bygone_core::{Brake, Budget, Consent, ErrorKind, Outcome};

use crate::scripted::{Scripted, Step};

fn bygone(items: Option<u64>) -> Scripted {
    let mut target = Scripted::new([Step::RemovesAll, Step::Ends(0)]);
    target.survey.bygone = items;
    target
}

#[tokio::test]
async fn the_brake_refuses_before_the_first_page() {
    // The scripted store holds 10,000 items.
    for (items, outcome) in
        [(Some(5_000), Outcome::Complete), (Some(5_001), Outcome::Refused), (None, Outcome::Refused)]
    {
        let target = bygone(items);
        let report = target.run_with(Budget::default(), Consent::Brake(Brake::default())).await;
        assert_eq!(report.outcome, outcome, "{items:?}: {report:?}");
        if outcome == Outcome::Refused {
            assert_eq!((report.error_kind, report.pages, target.asked().len()), (Some(ErrorKind::Brake), 0, 0));
            assert!(report.help.is_some());
        }
    }
}

#[tokio::test]
async fn a_released_brake_lets_all_go() {
    let report = bygone(Some(9_999)).run_with(Budget::default(), Consent::Released).await;
    assert_eq!(report.outcome, Outcome::Complete);
}

#[tokio::test]
async fn a_plan_allows_what_it_counted_and_no_more() {
    let report = bygone(Some(7_000)).run_with(Budget::default(), Consent::Plan { items: 7_000 }).await;
    assert_eq!(report.outcome, Outcome::Complete, "over the brake, but somebody saw it: {report:?}");

    let report = bygone(Some(7_001)).run_with(Budget::default(), Consent::Plan { items: 7_000 }).await;
    assert_eq!((report.outcome, report.error_kind), (Outcome::Refused, Some(ErrorKind::Brake)));

    // More turned up while it ran: the plan's count is the budget.
    let target = Scripted::new(std::iter::repeat_n(Step::RemovesAll, 100));
    let report = target.run_with(Budget::default(), Consent::Plan { items: 1_010 }).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::BudgetItems, 1_010));
}

#[tokio::test]
async fn a_plan_allows_nothing_where_the_count_is_unknown() {
    let target = bygone(None);
    let report = target.run_with(Budget::default(), Consent::Plan { items: u64::MAX }).await;
    assert_eq!((report.outcome, report.error_kind), (Outcome::Refused, Some(ErrorKind::Brake)), "{report:?}");
    assert!(target.asked().is_empty(), "no page was asked for");
}
