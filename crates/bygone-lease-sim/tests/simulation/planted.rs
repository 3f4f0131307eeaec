//! Each bug that can be planted breaks a promise, and the simulation says which.

use bygone_lease::planted::{Bug, plant};
use bygone_lease_sim::{Broken, Settings, play};

/// The seed and the length of the run that promises are kept in: within these, every bug must be found.
const SETTINGS: Settings = Settings { seed: 1, operations: 1_000_000 };

fn found(bug: Bug) -> Broken {
    let _planted = plant(bug);
    let broken = play(SETTINGS).expect_err("the bug is found");
    println!("{bug:?} after {} operations: {}", broken.operations, broken.what);
    broken
}

#[track_caller]
fn says(broken: &Broken, any: &[&str]) {
    assert!(any.iter().any(|words| broken.what.contains(words)), "{broken}");
}

#[test]
fn whoever_is_not_fenced_off_is_found() {
    says(&found(Bug::NoFencing), &["no order of calls explains", "ms left"]);
}

#[test]
fn an_index_after_the_record_is_found() {
    says(&found(Bug::IndexAfterRecord), &["nothing leads to it", "is on no list"]);
}

#[test]
fn discarding_before_the_decision_is_found() {
    says(&found(Bug::DiscardBeforeDecision), &["is not decided"]);
}

#[test]
fn an_hour_that_is_dropped_early_is_found() {
    says(&found(Bug::HourDroppedEarly), &["is on no list", "is not empty", "no hour is pending"]);
}

#[test]
fn writes_that_cannot_be_told_apart_are_found() {
    says(&found(Bug::NoAttempt), &["its record needs it", "nothing leads to it", "no order of calls explains"]);
}

#[test]
fn what_ends_when_it_should_not_yet_is_found() {
    says(&found(Bug::EndsNow), &["ms left", "refused at", "early", "nobody acknowledged it"]);
}

#[test]
fn a_late_participant_is_found() {
    says(&found(Bug::LateParticipant), &["says false, and", "is not committed"]);
}

#[test]
fn an_entry_that_goes_before_its_record_is_found() {
    says(&found(Bug::EntryBeforeRecord), &["its record needs it", "nothing leads to it"]);
}

#[test]
fn a_message_of_what_was_rolled_back_is_found() {
    says(&found(Bug::UndoneDelivered), &["is not committed"]);
}

#[test]
fn a_message_that_goes_within_its_time_is_found() {
    says(&found(Bug::GoesEarly), &["nobody acknowledged it"]);
}

#[test]
fn a_blob_before_its_errand_is_found() {
    says(&found(Bug::BlobBeforeErrand), &["no errand leads to it"]);
}

#[test]
fn removing_what_a_record_names_is_found() {
    says(&found(Bug::RemovesNamed), &["its record names it"]);
}

/// A seed that breaks a promise breaks it again, at the same step, after the same history.
#[test]
fn what_was_found_is_found_again() {
    let (first, second) = (found(Bug::NoFencing), found(Bug::NoFencing));
    assert_eq!(first, second);
    assert!(first.to_string().contains("BYGONE_SIM_SEED=1 "), "{first}");
}
