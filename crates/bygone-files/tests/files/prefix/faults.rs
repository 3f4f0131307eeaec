//! Faults on the way and faults of the store: nothing is lost, nothing goes early, and what went is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bygone_core::{Care, Cursor, ErrorKind, Outcome, PageRequest};
use bygone_testkit::{Azurite, Fault, FaultProxy, Moto, Options, SeaweedFs, Seen, TestBucket};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;

on_each_store!(a_storm_of_faults_changes_nothing, a_lost_reply_is_still_counted, a_missing_bucket_is_unfit);

/// From `BYGONE_TEST_SEED`, to see again what was seen before; otherwise a new one.
fn seed() -> u64 {
    let given = std::env::var("BYGONE_TEST_SEED").ok();
    let seed = given.map_or_else(|| u64::from(std::process::id()), |seed| seed.parse().unwrap());
    println!("BYGONE_TEST_SEED={seed}");
    seed
}

async fn a_storm_of_faults_changes_nothing(bucket: TestBucket) {
    let (due, young) = dated(300, 100);
    bucket.put_all(due.into_iter().chain(young.clone())).await;
    let chance = std::sync::Mutex::new(StdRng::seed_from_u64(seed()));
    let plan = move |_: &Seen| match chance.lock().unwrap().random_range(0..10) {
        0 => Fault::Status(503),
        1 => Fault::Status(500),
        2 => Fault::Cut,
        3 => Fault::LostReply,
        4 => Fault::TornReply,
        _ => Fault::None,
    };
    let proxy = FaultProxy::before(bucket.port(), plan).await;
    let mut removed = 0;
    // A sweep may give up in such weather; the next goes on.
    for _ in 0..20 {
        let budget = Budget { page_items_max: 50, ..unhurried() };
        let report = run(&open_by(&bucket, proxy.port()), by_key(BY_DAY), noon(), budget).await;
        removed += report.tally.removed;
        if report.outcome == Outcome::Complete && report.tally.kept_back.total() == 0 {
            break;
        }
    }
    let mut young = young;
    young.sort();
    assert_eq!(bucket.keys().await, young);
    assert!(removed <= 300, "{removed} counted");
}

async fn a_lost_reply_is_still_counted(bucket: TestBucket) {
    let (due, young) = dated(40, 10);
    bucket.put_all(due.into_iter().chain(young)).await;
    // The first delete that is meant is carried out, and its reply lost. Those before it are proofs.
    let lost = AtomicBool::new(false);
    let plan = move |seen: &Seen| {
        let meant = seen.deletes() && !is_proof(seen);
        if meant && !lost.swap(true, Ordering::SeqCst) { Fault::LostReply } else { Fault::None }
    };
    let proxy = FaultProxy::before(bucket.port(), plan).await;
    let report = run(&open_by(&bucket, proxy.port()), by_key(BY_DAY), noon(), unhurried()).await;
    assert_eq!((report.tally.removed, report.outcome), (40, Outcome::Complete), "{report:?}");
    assert_eq!(bucket.keys().await.len(), 10);
}

/// Whether a delete is under a condition that cannot be met.
fn is_proof(seen: &Seen) -> bool {
    let impossible = ["00000000000000000000000000000000", "0x8000000000000000"];
    impossible.iter().any(|etag| seen.body.contains(etag) || seen.head.contains(etag))
}

async fn a_missing_bucket_is_unfit(bucket: TestBucket) {
    let url = bucket.url().replace(bucket.name(), "no-such-bucket-here");
    let credentials = bucket.credentials();
    let opened = open_as(&url, Environment::of(credentials.iter().map(|(name, value)| (*name, value.as_str()))));
    let report = run(&opened, by_key(BY_DAY), noon(), unhurried()).await;
    assert_eq!((report.outcome, report.error_kind), (Outcome::Refused, Some(ErrorKind::Unfit)), "{report:?}");
    assert!(report.help.unwrap().contains("bucket"), "{:?}", report.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_keys_are_denied_and_never_shown() {
    for bucket in [SeaweedFs::shared().await.fresh_bucket().await, Azurite::shared().await.fresh_bucket().await] {
        let secret = "aHVudGVyMg==";
        let credentials = bucket.credentials();
        let wrong =
            credentials.iter().enumerate().map(|(at, (name, value))| (*name, if at == 1 { secret } else { value }));
        let report = run(&open_as(&bucket.url(), Environment::of(wrong)), by_key(BY_DAY), noon(), unhurried()).await;
        assert_eq!((report.outcome, report.error_kind), (Outcome::Refused, Some(ErrorKind::Denied)), "{report:?}");
        assert!(!format!("{report:?}").contains(secret));
        let help = report.help.unwrap();
        assert!(help.contains("AWS_ACCESS_KEY_ID") || help.contains("AZURE_STORAGE"), "{help}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_not_there_is_unreachable() {
    let bucket = Moto::shared().await.fresh_bucket().await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let report = run(&open_by(&bucket, port), by_key(BY_DAY), noon(), unhurried()).await;
    assert_eq!((report.outcome, report.error_kind), (Outcome::Failed, Some(ErrorKind::Unreachable)), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_silent_is_given_up() {
    let bucket = Moto::shared().await.fresh_bucket().await;
    let proxy = FaultProxy::before(bucket.port(), |_| Fault::Silence).await;
    let patience = Patience { attempts: 2, request_time: Duration::from_millis(200), ..quick() };
    let opened = open_by(&bucket, proxy.port()).with_patience(patience);
    let error = target(&opened, by_key(BY_DAY)).survey(noon()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooSlow, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_asks_for_less_is_busy() {
    let bucket = SeaweedFs::shared().await.fresh_bucket().await;
    let (due, _) = dated(30, 0);
    bucket.put_all(due).await;
    let proxy =
        FaultProxy::before(bucket.port(), |seen| if seen.deletes() { Fault::Status(503) } else { Fault::None }).await;
    let report = run(&open_by(&bucket, proxy.port()), by_key(BY_DAY), noon(), unhurried()).await;
    assert_eq!((report.outcome, report.error_kind), (Outcome::Failed, Some(ErrorKind::Busy)), "{report:?}");
    assert_eq!((report.tally.examined, bucket.keys().await.len()), (0, 30), "no object is to blame");
    assert!(report.lag_seconds > 0, "{report:?}");
}

fn request(cursor: Option<&Cursor>) -> PageRequest<'_> {
    PageRequest { boundary: noon(), cursor, limit: 20, care: Care::Swift }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_crashes_is_swept_on_when_it_is_back() {
    let mut server = SeaweedFs::start(Options::default()).await.unwrap();
    let bucket = server.fresh_bucket().await;
    let (due, young) = dated(200, 50);
    bucket.put_all(due.into_iter().chain(young.clone())).await;
    let mut swept = target(&open(&bucket), by_key(BY_DAY));
    let first = swept.page(request(None)).await.unwrap();
    assert_eq!(first.tally.removed, 20);
    server.kill();
    let error = swept.page(request(first.next.as_ref())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
    server.restart().await.unwrap();
    let mut cursor = first.next;
    while let Some(place) = cursor {
        cursor = swept.page(request(Some(&place))).await.unwrap().next;
    }
    let mut young = young;
    young.sort();
    assert_eq!(bucket.keys().await, young);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_wrong_is_seen() {
    let bucket = SeaweedFs::shared().await.fresh_bucket().await;
    let date = || Fault::Header("date", "Sun, 15 Nov 2015 12:00:00 GMT".into());
    let proxy = FaultProxy::before(bucket.port(), move |_| date()).await;
    let reading = open_by(&bucket, proxy.port()).read_clock().await.unwrap();
    assert_eq!(reading.source, "2015-11-15T12:00:00Z".parse().unwrap());
    assert!(reading.checked(SignedDuration::from_mins(1)).is_err());
    let without = FaultProxy::before(bucket.port(), |_| Fault::Header("date", "nonsense".into())).await;
    let error = open_by(&bucket, without.port()).read_clock().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unfit, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_to_list_but_not_to_delete_are_denied() {
    let bucket = SeaweedFs::shared().await.fresh_bucket().await;
    let (due, _) = dated(30, 0);
    bucket.put_all(due).await;
    let denied = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&denied);
    let plan = move |seen: &Seen| {
        noted.fetch_or(seen.deletes(), Ordering::SeqCst);
        if seen.deletes() { Fault::Status(403) } else { Fault::None }
    };
    let proxy = FaultProxy::before(bucket.port(), plan).await;
    let report = run(&open_by(&bucket, proxy.port()), by_key(BY_DAY), noon(), unhurried()).await;
    assert!(denied.load(Ordering::SeqCst));
    assert_eq!((report.outcome, report.error_kind), (Outcome::Refused, Some(ErrorKind::Denied)), "{report:?}");
    assert_eq!(bucket.keys().await.len(), 30);
}

/// The answer to a bulk delete that refuses every key, or those that hold `some`.
fn refuse(seen: &Seen, some: &str, code: &str, message: &str) -> String {
    let keys = seen.body.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next());
    let errors: Vec<_> = keys
        .filter(|key| key.contains(some))
        .map(|key| format!("<Error><Key>{key}</Key><Code>{code}</Code><Message>{message}</Message></Error>"))
        .collect();
    format!("<DeleteResult>{}</DeleteResult>", errors.concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_that_may_not_go_at_all_are_denied_soon() {
    let bucket = SeaweedFs::shared().await.fresh_bucket().await;
    let (due, _) = dated(200, 0);
    bucket.put_all(due).await;
    let asked = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&asked);
    let plan = move |seen: &Seen| {
        count.fetch_add(u64::from(seen.deletes()), Ordering::SeqCst);
        match (seen.method.as_str(), seen.deletes()) {
            ("POST", true) => Fault::Answer(refuse(seen, "", "AccessDenied", "Access Denied")),
            (_, true) => Fault::Status(403),
            _ => Fault::None,
        }
    };
    let proxy = FaultProxy::before(bucket.port(), plan).await;
    let report = run(&open_by(&bucket, proxy.port()), by_key(BY_DAY), noon(), unhurried()).await;
    assert_eq!((report.outcome, report.error_kind), (Outcome::Refused, Some(ErrorKind::Denied)), "{report:?}");
    let asked = asked.load(Ordering::SeqCst);
    assert!(asked < 20, "{asked} deletes: no proof for each of them");
    assert_eq!(bucket.keys().await.len(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn locked_and_denied_keys_stay_and_the_others_go() {
    let bucket = SeaweedFs::shared().await.fresh_bucket().await;
    let names = |kind: &str, count: u32| (0..count).map(|n| format!("2020/{kind}{n}")).collect::<Vec<_>>();
    bucket.put_all(names("plain", 20).into_iter().chain(names("locked", 3))).await;
    // The store is real; of the keys under a lock, which it cannot do, the proxy answers in its stead.
    let plan = |seen: &Seen| {
        let locked = seen.deletes() && !is_proof(seen) && seen.body.contains("2020/locked");
        let message = "Access Denied because object protected by object lock.";
        if locked { Fault::Answer(refuse(seen, "", "AccessDenied", message)) } else { Fault::None }
    };
    let proxy = FaultProxy::before(bucket.port(), plan).await;
    let budget = Budget { page_items_max: 3, ..unhurried() };
    let report = run(&open_by(&bucket, proxy.port()), by_key("%Y/**"), noon(), budget).await;
    assert_eq!((report.outcome, report.error.as_deref()), (Outcome::Complete, None), "{report:?}");
    assert_eq!((report.tally.kept_back.locked, report.tally.removed), (3, 20), "{report:?}");
    assert!(report.lag_seconds > 0, "what stays is the lag: {report:?}");
    assert_eq!(bucket.keys().await, names("locked", 3));
}
