//! Sweeps of many objects: who goes, who stays, and what it costs.

use bygone_core::{Boundary, Budget, Consent, Job, Outcome, Sweep, SystemClock};
use bygone_files::prefix::PrefixDeadline;
use bygone_testkit::TestBucket;
use jiff::SignedDuration;

use super::*;

on_each_store!(
    ten_thousand_objects,
    budgets_are_kept,
    ages_by_last_modified,
    globs_and_prefixes,
    the_store_tells_the_time,
    the_brake_holds
);

async fn ten_thousand_objects(bucket: TestBucket) {
    let is_s3 = bucket.url().starts_with("s3");
    // Azurite looks through all its blobs for each delete: thousands of them take it many minutes.
    let bygone = if is_s3 { 5_000 } else { 500 };
    let (due, young) = dated(bygone, 10_000 - bygone);
    bucket.put_all(due.iter().chain(&young).cloned()).await;
    let (bygone, bytes) = (bygone as u64, (bygone * due[0].len()) as u64);
    // Both with the order of the keys and without it, the same objects are found.
    let opened = open(&bucket);
    for pattern in [BY_DAY, "**/%Y/%m/%d/*"] {
        let survey = target(&opened, by_key(pattern)).survey(noon()).await.unwrap();
        assert_eq!((survey.bygone, survey.unreadable), (Some(bygone), 0), "{pattern}");
        assert_eq!(survey.oldest, Some("2026-01-02T00:00:00Z".parse().unwrap()));
        assert_eq!(survey.bytes, Some(bytes));
        // As many listings as it takes to get to the first that is not due, or to the end; and one look at an object.
        let listings = if pattern == BY_DAY { bygone / 1_000 + 1 } else { 11 };
        assert!(survey.requests <= listings + 1, "{pattern}: {} requests", survey.requests);
    }
    let report = run(&opened, by_key(BY_DAY), noon(), unhurried()).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, bygone), "{report:?}");
    assert_eq!((report.tally.examined, report.lag_seconds), (bygone, 0), "{report:?}");
    assert_eq!(report.tally.bytes, Some(bytes));
    assert!(report.pages >= 2, "{report:?}");
    if is_s3 {
        assert!(report.requests < 100, "bulk deletes: {report:?}");
    }
    let mut expected = young;
    expected.sort();
    assert_eq!(bucket.keys().await, expected, "every survivor and nothing else");
}

async fn budgets_are_kept(bucket: TestBucket) {
    let (due, _) = dated(60, 0);
    bucket.put_all(due).await;
    let opened = open(&bucket);
    let budget = Budget { items: Some(25), page_items_max: 10, ..unhurried() };
    let report = run(&opened, by_key(BY_DAY), noon(), budget).await;
    assert_eq!((report.outcome, report.tally.examined), (Outcome::BudgetItems, 25), "{report:?}");
    assert_eq!(bucket.keys().await.len(), 35);
    let budget = Budget { requests: Some(30), page_items_max: 5, ..unhurried() };
    let report = run(&opened, by_key(BY_DAY), noon(), budget).await;
    assert!(report.requests <= 30, "{report:?}");
    assert_eq!(bucket.keys().await.len() as u64, 35 - report.tally.removed, "{report:?}");
    assert!(report.tally.removed >= 5, "{report:?}");
    // What was left is found by the next, and the lag is that of the oldest left.
    let report = run(&opened, by_key(BY_DAY), noon(), unhurried()).await;
    assert_eq!(report.outcome, Outcome::Complete, "{report:?}");
    assert!(bucket.keys().await.is_empty());
}

async fn ages_by_last_modified(bucket: TestBucket) {
    bucket.put_all((0..30).map(|n| format!("k{n:02}"))).await;
    let opened = open(&bucket);
    let now = opened.read_clock().await.unwrap().source;
    let hour = SignedDuration::from_hours(1);
    let kept = PrefixPolicy { keep: hour, ..policy(PrefixDeadline::ByModified) };
    let report =
        run(&opened, kept.clone(), Boundary::at(now + hour - SignedDuration::from_mins(10)), unhurried()).await;
    assert_eq!((report.tally.examined, report.outcome), (0, Outcome::Complete), "{report:?}");
    assert_eq!(bucket.keys().await.len(), 30, "younger than they are kept for");
    let report = run(&opened, kept, Boundary::at(now + hour + SignedDuration::from_mins(10)), unhurried()).await;
    assert_eq!((report.tally.removed, report.outcome), (30, Outcome::Complete), "{report:?}");
    assert!(bucket.keys().await.is_empty());
}

async fn globs_and_prefixes(bucket: TestBucket) {
    let keys = [
        "logs/2020/a.log",
        "logs/2020/b.gz",
        "logs/2020/keep/c.log",
        "logs2/2020/a.log",
        "logs/undated.log",
        "2020/a.log",
    ];
    bucket.put_all(keys.map(String::from)).await;
    let opened = open(&bucket);
    let chosen = PrefixPolicy {
        prefix: Some("logs".into()),
        include: vec!["**/*.log".into()],
        exclude: vec!["*/keep/**".into()],
        ..by_key("%Y/**")
    };
    let report = run(&opened, chosen, noon(), unhurried()).await;
    assert_eq!((report.tally.removed, report.tally.kept_back.unreadable), (1, 1), "{report:?}");
    let mut left: Vec<_> = keys.into_iter().filter(|key| *key != "logs/2020/a.log").collect();
    left.sort_unstable();
    assert_eq!(bucket.keys().await, left, "`logs` is a folder, and not the beginning of `logs2`");
    // The same folder by the bucket's URL, and the whole of it.
    let url = bucket.url().replace('?', "/logs?");
    let credentials = bucket.credentials();
    let inner = open_as(&url, Environment::of(credentials.iter().map(|(name, value)| (*name, value.as_str()))));
    let report = run(&inner, by_key("%Y/**"), noon(), unhurried()).await;
    assert_eq!((report.tally.removed, report.tally.kept_back.unreadable), (2, 1), "{report:?}");
    assert_eq!(bucket.keys().await, ["2020/a.log", "logs/undated.log", "logs2/2020/a.log"]);
}

async fn the_store_tells_the_time(bucket: TestBucket) {
    let reading = open(&bucket).read_clock().await.unwrap();
    assert!(reading.skew().abs() <= SignedDuration::from_secs(2), "{reading:?}");
    assert_eq!(reading.source.subsec_nanosecond(), 0);
}

async fn the_brake_holds(bucket: TestBucket) {
    let (due, young) = dated(60, 20);
    bucket.put_all(due.into_iter().chain(young)).await;
    let brake = bygone_core::Brake { over_items: 10, ..bygone_core::Brake::default() };
    let job = Job::new(target(&open(&bucket), by_key(BY_DAY)), Budget::default()).with_consent(Consent::Brake(brake));
    let report = Sweep::new(Arc::new(SystemClock::new()), noon()).run(vec![job]).await;
    assert_eq!(report.policies[0].outcome, Outcome::Refused, "{report:?}");
    assert_eq!(bucket.keys().await.len(), 80);
    // How much there is, is not what an ordered survey happened to see.
    let mut ordered = target(&open(&bucket), by_key(BY_DAY));
    ordered.survey(noon()).await.unwrap();
    assert!(ordered.holds_at_least(80).await.unwrap());
    assert!(!ordered.holds_at_least(81).await.unwrap());
}
