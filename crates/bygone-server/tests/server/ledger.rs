//! The history: a sweep stands in it from its beginning on.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::{ManualClock, Outcome, PolicyReport, Report, SweepOutcome, Tally};
use bygone_server::{Cause, DayCount, Ledger, LedgerError, Wanted};
use jiff::Timestamp;
use uuid::Uuid;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn report(sweep: Uuid, policies: &[(&str, Outcome, u64)]) -> Report {
    let policy = |(policy, outcome, removed): &(&str, Outcome, u64)| PolicyReport {
        policy: (*policy).to_owned(),
        source: "s".to_owned(),
        outcome: *outcome,
        tally: Tally::removed(*removed),
        pages: 1,
        requests: 1,
        elapsed_ms: 1,
        lag_seconds: 7,
        stopped_by: None,
        error: None,
        help: None,
        warnings: Vec::new(),
        bygone: None,
        error_kind: None,
    };
    let outcome = SweepOutcome::of(policies.iter().map(|(_, outcome, _)| *outcome));
    Report { sweep, boundary: at("2026-11-18T00:00:00Z"), outcome, policies: policies.iter().map(policy).collect() }
}

const FIRST: Uuid = Uuid::from_u128(1);
const SECOND: Uuid = Uuid::from_u128(2);

fn everything() -> Wanted {
    Wanted { before: None, policy: None, limit: 100 }
}

async fn open(directory: &Path, clock: &Arc<ManualClock>) -> Ledger {
    Ledger::open(&directory.join("state/ledger.db"), Arc::clone(clock) as Arc<_>).await.unwrap()
}

#[tokio::test]
async fn a_sweep_is_told_of_while_it_runs_and_after() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(at("2026-11-18T00:00:00Z")));
    let ledger = open(directory.path(), &clock).await;
    ledger.begin(FIRST, Cause::Schedule, vec!["p".into(), "q".into()]).await.unwrap();
    ledger.progress(FIRST, "p".into(), Tally::removed(3)).await.unwrap();
    let running = ledger.list(everything()).await.unwrap().remove(0);
    assert_eq!((running.ended, running.outcome.as_deref(), running.removed), (None, None, 3));
    assert_eq!((running.cause.as_str(), &running.policies[..]), ("schedule", &["p".to_owned(), "q".to_owned()][..]));
    assert_eq!(ledger.report(FIRST).await.unwrap(), None);

    clock.advance(Duration::from_secs(60));
    let outcomes = [("p", Outcome::Complete, 5), ("q", Outcome::Failed, 0)];
    assert!(ledger.end(&report(FIRST, &outcomes), [("p".to_owned(), 11)]).await.unwrap());
    let ended = ledger.list(everything()).await.unwrap().remove(0);
    assert_eq!(ended.ended, Some(at("2026-11-18T00:01:00Z")));
    assert_eq!((ended.outcome.as_deref(), ended.removed), (Some("partial"), 5));
    let told: serde_json::Value = serde_json::from_str(&ledger.report(FIRST).await.unwrap().unwrap()).unwrap();
    assert_eq!(told["policies"][0]["removed"], 5);

    let (p, q) = (ledger.standing("p").await.unwrap(), ledger.standing("q").await.unwrap());
    assert_eq!((p.sweep, p.outcome.as_deref(), p.removed, p.lag_seconds), (Some(FIRST), Some("complete"), 5, Some(7)));
    assert_eq!((p.backlog, q.backlog), (Some(11), None));
    assert_eq!((p.completed, q.completed), (Some(at("2026-11-18T00:01:00Z")), None));
    assert_eq!(q.outcome.as_deref(), Some("failed"));
}

#[tokio::test]
async fn a_sweep_ends_once() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(at("2026-11-18T00:00:00Z")));
    let ledger = open(directory.path(), &clock).await;
    ledger.begin(FIRST, Cause::Request, vec!["p".into()]).await.unwrap();
    assert!(ledger.end(&report(FIRST, &[("p", Outcome::Complete, 5)]), []).await.unwrap());
    assert!(!ledger.end(&report(FIRST, &[("p", Outcome::Failed, 9)]), []).await.unwrap());
    ledger.progress(FIRST, "p".into(), Tally::removed(77)).await.unwrap();
    assert_eq!(ledger.list(everything()).await.unwrap()[0].removed, 5);
    assert!(!ledger.end(&report(SECOND, &[]), []).await.unwrap(), "one that never began");
}

#[tokio::test]
async fn what_a_daemon_left_open_is_interrupted_for_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(at("2026-11-18T00:00:00Z")));
    let ledger = open(directory.path(), &clock).await;
    ledger.begin(FIRST, Cause::Schedule, vec!["p".into()]).await.unwrap();
    ledger.progress(FIRST, "p".into(), Tally::removed(41)).await.unwrap();
    drop(ledger);
    clock.advance(Duration::from_secs(3_600));
    let ledger = open(directory.path(), &clock).await;
    let past = ledger.list(everything()).await.unwrap().remove(0);
    assert_eq!((past.outcome.as_deref(), past.removed), (Some("interrupted"), 41), "what it did is not forgotten");
    assert_eq!(past.ended, Some(at("2026-11-18T01:00:00Z")));
    assert_eq!(ledger.standing("p").await.unwrap().outcome.as_deref(), Some("interrupted"));
}

#[tokio::test]
async fn the_newest_come_first_page_by_page_and_by_policy() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(at("2026-11-17T23:59:00Z")));
    let ledger = open(directory.path(), &clock).await;
    for (number, policy) in (1..=6).zip(["p", "q", "p", "q", "p", "p"]) {
        let sweep = Uuid::from_u128(number);
        ledger.begin(sweep, Cause::Schedule, vec![policy.into()]).await.unwrap();
        ledger.end(&report(sweep, &[(policy, Outcome::Complete, 1 << number)]), []).await.unwrap();
        clock.advance(Duration::from_secs(30));
    }
    let ids = async |wanted| -> Vec<u128> {
        ledger.list(wanted).await.unwrap().iter().map(|past| past.sweep.as_u128()).collect()
    };
    assert_eq!(ids(Wanted { limit: 2, ..everything() }).await, [6, 5]);
    assert_eq!(ids(Wanted { before: Some(Uuid::from_u128(5)), ..everything() }).await, [4, 3, 2, 1]);
    assert_eq!(ids(Wanted { policy: Some("q".into()), ..everything() }).await, [4, 2]);
    let days = ledger.days("p", at("2026-11-17T23:59:30Z")).await.unwrap();
    let day = |day: &str, done| DayCount { day: day.to_owned(), done };
    assert_eq!(days, [day("2026-11-18", (1 << 3) + (1 << 5) + (1 << 6))], "the first one was before");
    assert_eq!(ledger.days("p", Timestamp::UNIX_EPOCH).await.unwrap()[0], day("2026-11-17", 2));
}

#[tokio::test]
async fn a_file_that_is_no_ledger_is_refused_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.db");
    let clock = Arc::new(ManualClock::at(at("2026-11-18T00:00:00Z")));
    std::fs::write(&path, "somebody's notes, which are no database at all, but long enough to be one").unwrap();
    let refused = Ledger::open(&path, Arc::clone(&clock) as Arc<_>).await.unwrap_err();
    assert!(matches!(refused, LedgerError::Unusable { .. }), "{refused}");
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("somebody's notes"));
    let blocked = Ledger::open(&path.join("below/a/file"), clock as Arc<_>).await.unwrap_err();
    assert!(blocked.to_string().contains("cannot be used"), "{blocked}");
}
