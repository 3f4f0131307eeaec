//! What the loop does about a page that fails.

use std::sync::atomic::Ordering;

use bygone_core::{Budget, CAREFUL_ITEMS_MAX, Care, ErrorKind, Hindrance, Outcome};

use crate::gates::Closing;
use crate::scripted::{Scripted, Step};

#[tokio::test]
async fn a_passing_fault_is_tried_once_more_as_it_was() {
    let target = Scripted::new([Step::Fails(ErrorKind::Transient), Step::Ends(5)]);
    let report = target.run(Budget::default()).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 5));
    let asked = target.asked();
    assert_eq!(asked[0], asked[1], "the same page again");
}

#[tokio::test]
async fn a_fault_that_does_not_pass_is_halved_down_to_the_item() {
    let target = Scripted::new(std::iter::repeat_n(Step::Fails(ErrorKind::Item), 5));
    let report = target.run(Budget { page_items_max: 8, ..Budget::default() }).await;
    let expected = [
        (8, Care::Swift),
        (4, Care::Careful),
        (2, Care::Careful),
        (1, Care::Careful),
        // One more failure at a single item: it is the one.
        (1, Care::KeepBack),
    ];
    assert_eq!(target.asked(), expected);
    assert_eq!(report.outcome, Outcome::Failed, "an item that cannot even be passed by ends the policy");
}

#[tokio::test]
async fn behind_a_conflict_pages_grow_again_from_one() {
    let failing = std::iter::repeat_n(Step::Fails(ErrorKind::Item), 4);
    let going_on = std::iter::repeat_n(Step::RemovesAll, 6);
    let target = Scripted::new(failing.chain([Step::Removes(0)]).chain(going_on).chain([Step::Ends(0)]));
    let report = target.run(Budget { page_items_max: 8, ..Budget::default() }).await;
    assert_eq!((report.outcome, report.tally.kept_back.conflict), (Outcome::Complete, 1), "{report:?}");
    let asked = target.asked();
    assert_eq!(asked[4], (1, Care::KeepBack));
    let behind: Vec<_> = asked[5..10].to_vec();
    let expected = [(1, Care::Careful), (2, Care::Careful), (4, Care::Careful), (8, Care::Careful), (8, Care::Swift)];
    assert_eq!(behind, expected, "back to the pace it had");
}

#[tokio::test]
async fn held_items_are_passed_carefully_and_then_it_is_swift_again() {
    let target = Scripted::new([Step::Fails(ErrorKind::Contended), Step::Removes(3), Step::Ends(2)]);
    let report = target.run(Budget { page_items_max: 50, ..Budget::default() }).await;
    assert_eq!(report.outcome, Outcome::Complete);
    assert_eq!(target.asked(), [(50, Care::Swift), (50, Care::Careful), (50, Care::Swift)]);
}

#[tokio::test]
async fn careful_pages_stay_small_whatever_the_pace() {
    let growing = std::iter::repeat_n(Step::RemovesAll, 12);
    let mut target = Scripted::new(growing.chain([Step::Fails(ErrorKind::TooSlow), Step::Ends(0)]));
    target.page_time = std::time::Duration::from_micros(10);
    target.run(Budget::default()).await;
    let asked = target.asked();
    assert!(asked[12].0 > 10 * CAREFUL_ITEMS_MAX, "the pace had grown: {asked:?}");
    assert_eq!(asked[13], (CAREFUL_ITEMS_MAX / 2, Care::Careful));
}

#[tokio::test]
async fn a_lost_connection_is_tried_once_more_and_then_given_up() {
    let target = Scripted::new([Step::Removes(3), Step::Fails(ErrorKind::Lost), Step::Ends(2)]);
    assert_eq!(target.run(Budget::default()).await.outcome, Outcome::Complete);

    let lost = Step::Fails(ErrorKind::Lost);
    let target = Scripted::new([Step::Removes(3), lost.clone(), lost]);
    let report = target.run(Budget::default()).await;
    assert_eq!((report.outcome, report.error_kind), (Outcome::Failed, Some(ErrorKind::Unreachable)));
    assert_eq!(report.tally.removed, 3, "what was committed is told");
    assert_eq!(report.lag_seconds, 77, "and so is what is left");
}

#[tokio::test]
async fn each_page_begins_where_the_one_before_it_ended() {
    let failed = Step::Fails(ErrorKind::Transient);
    let target = Scripted::new([Step::Removes(2), Step::Removes(2), failed, Step::Removes(2), Step::Ends(1)]);
    assert_eq!(target.run(Budget::default()).await.outcome, Outcome::Complete);
    let behind = |page: &str| Some(page.to_owned());
    assert_eq!(target.begins(), [None, behind("1"), behind("2"), behind("2"), behind("4")], "the third of them failed");
}

#[tokio::test]
async fn a_cursor_that_stands_still_ends_the_policy() {
    let target = Scripted::new([Step::StandsStill, Step::StandsStill, Step::StandsStill]);
    let report = target.run(Budget::default()).await;
    assert_eq!(report.outcome, Outcome::Failed);
    assert_eq!(target.asked().len(), 2, "not for ever");
}

#[tokio::test]
async fn what_is_not_settled_is_not_claimed() {
    let target = Scripted::new([Step::Ends(4)]).unsettled([ErrorKind::Failed]);
    let report = target.run(Budget::default()).await;
    assert_eq!(report.outcome, Outcome::Failed);
    assert_eq!(report.error.as_deref(), Some("not settled"));
    let [warning] = report.warnings.as_slice() else { panic!("{report:?}") };
    assert!(warning.starts_with("some of what was removed last may be there again"), "{warning}");
}

/// Other policies may have taken an hour meanwhile, and somebody has closed what was idle.
#[tokio::test]
async fn a_connection_that_was_lost_before_the_survey_is_made_again() {
    let target = Scripted::new([Step::Ends(4)]);
    target.lost_in_survey.store(1, Ordering::SeqCst);
    let report = target.run(Budget::default()).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 4), "{report:?}");

    let target = Scripted::new([Step::Ends(4)]);
    target.lost_in_survey.store(2, Ordering::SeqCst);
    let report = target.run(Budget::default()).await;
    assert_eq!((report.outcome, report.error_kind), (Outcome::Failed, Some(ErrorKind::Unreachable)), "{report:?}");
    assert_eq!((report.tally.removed, target.asked().len()), (0, 0));
}

#[tokio::test]
async fn a_connection_that_is_lost_between_two_pages_is_made_again() {
    let target = Scripted::new([Step::Removes(3), Step::Removes(2), Step::Ends(1)]);
    target.lost_between.store(2, Ordering::SeqCst);
    let report = target.run(Budget::default()).await;
    assert_eq!((report.outcome, report.tally.removed, report.pages), (Outcome::Complete, 6, 3), "{report:?}");
}

#[tokio::test]
async fn what_was_committed_on_a_lost_connection_is_settled_on_the_next() {
    let outcome = async |lost: usize| {
        let target = Scripted::new([Step::Ends(4)]).unsettled(vec![ErrorKind::Lost; lost]);
        target.run(Budget::default()).await.outcome
    };
    assert_eq!((outcome(1).await, outcome(2).await), (Outcome::Complete, Outcome::Failed));
}

#[tokio::test]
async fn without_a_page_there_is_nothing_to_settle() {
    let target = Scripted::new([Step::Ends(4)]).unsettled([ErrorKind::Failed]);
    // Open for the survey, and for what would go as a whole.
    let report = target.run_through(Budget::default(), vec![Closing::after(2, Hindrance::Lag)]).await;
    assert_eq!((report.outcome, report.pages, report.error), (Outcome::Lag, 0, None));
}

#[tokio::test]
async fn each_fault_that_passes_has_its_own_second_try() {
    let fault = || Step::Fails(ErrorKind::Transient);
    let target = Scripted::new([fault(), Step::Removes(1), fault(), Step::Ends(1)]);
    assert_eq!(target.run(Budget::default()).await.outcome, Outcome::Complete);
    assert!(target.asked().iter().all(|(_, care)| *care == Care::Swift), "{:?}", target.asked());
}

#[tokio::test]
async fn a_page_that_examines_nothing_may_go_on() {
    let target = Scripted::new([Step::Removes(0), Step::Removes(0), Step::Ends(1)]);
    let report = target.run(Budget::default()).await;
    assert_eq!((report.outcome, report.pages, report.tally.removed), (Outcome::Complete, 3, 1));
}

#[tokio::test]
async fn what_is_refused_later_than_the_first_page_is_a_failure() {
    let target = Scripted::new([Step::Fails(ErrorKind::Denied)]);
    assert_eq!(target.run(Budget::default()).await.outcome, Outcome::Refused);
    let target = Scripted::new([Step::Removes(1), Step::Fails(ErrorKind::Unfit)]);
    assert_eq!(target.run(Budget::default()).await.outcome, Outcome::Failed);
}

#[tokio::test]
async fn a_failed_page_costs_a_request_and_gives_back_what_was_set_aside() {
    let failed = Step::Fails(ErrorKind::Transient);
    let target = Scripted::new([Step::Removes(4), failed.clone(), failed, Step::RemovesAll, Step::RemovesAll]);
    let report = target.run(Budget { items: Some(10), ..Budget::default() }).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::BudgetItems, 10), "{report:?}");
    assert_eq!((report.pages, report.requests), (3, 3 * 2 + 2), "two for each page, one for each that failed");
}
