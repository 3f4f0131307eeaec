//! Bucket prefixes on SeaweedFS, moto and Azurite.

mod conditions;
mod conformance;
mod faults;
mod odd_keys;
mod sweep;
mod versions;

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Boundary, Budget, PolicyReport, SystemClock, Target};
use bygone_files::key_date::KeyDate;
use bygone_files::prefix::{Bucket, BucketUrl, Environment, Patience, PrefixDeadline, PrefixPolicy, PrefixTarget};
use bygone_testkit::TestBucket;
use bygone_testkit::conformance::sweep;
use jiff::SignedDuration;
use jiff::tz::TimeZone;

/// Runs each of these functions as a test of its own on each store, with a bucket of its own.
macro_rules! on_each_store {
    ($($test:ident),* $(,)?) => {
        on_each_store!(@ seaweedfs SeaweedFs $($test)*);
        on_each_store!(@ moto Moto $($test)*);
        on_each_store!(@ azurite Azurite $($test)*);
    };
    (@ $module:ident $server:ident $($test:ident)*) => {
        mod $module {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    super::$test(bygone_testkit::$server::shared().await.fresh_bucket().await).await;
                }
            )*
        }
    };
}
use on_each_store;

/// The boundary of most tests.
fn noon() -> Boundary {
    Boundary::at("2026-11-15T12:00:00Z".parse().unwrap())
}

/// Faults are many in tests, and their pauses need not be long.
fn quick() -> Patience {
    Patience {
        attempts: 6,
        request_time: Duration::from_secs(20),
        first_pause: Duration::from_millis(1),
        pause_max: Duration::from_millis(20),
    }
}

fn open(bucket: &TestBucket) -> Bucket {
    open_by(bucket, bucket.port())
}

/// Through another port, such as that of a proxy.
fn open_by(bucket: &TestBucket, port: u16) -> Bucket {
    let credentials = bucket.credentials();
    let environment = Environment::of(credentials.iter().map(|(name, value)| (*name, value.as_str())));
    open_as(&bucket.url_by(port), environment)
}

fn open_as(url: &str, environment: Environment) -> Bucket {
    let url = BucketUrl::parse(url).unwrap();
    Bucket::open(url, environment, Arc::new(SystemClock::new())).unwrap().with_patience(quick())
}

fn policy(deadline: PrefixDeadline) -> PrefixPolicy {
    PrefixPolicy {
        name: "old".into(),
        source: "bucket".into(),
        prefix: None,
        deadline,
        keep: SignedDuration::ZERO,
        include: vec![],
        exclude: vec![],
    }
}

fn by_key(pattern: &str) -> PrefixPolicy {
    policy(PrefixDeadline::ByKey(KeyDate::parse(pattern, TimeZone::UTC).unwrap()))
}

fn target(bucket: &Bucket, policy: PrefixPolicy) -> Box<dyn Target> {
    Box::new(PrefixTarget::bind(bucket, policy).unwrap())
}

/// A page may take its time: the machine of the tests is shared.
fn unhurried() -> Budget {
    Budget { page_time: Duration::from_secs(30), ..Budget::default() }
}

async fn run(bucket: &Bucket, policy: PrefixPolicy, boundary: Boundary, budget: Budget) -> PolicyReport {
    sweep(target(bucket, policy), boundary, budget).await
}

/// Keys with a date: the first are due at noon, the others are not.
fn dated(due: usize, young: usize) -> (Vec<String>, Vec<String>) {
    let due = (0..due).map(|n| format!("logs/2026/{:02}/{:02}/{n:05}", 1 + n % 10, 1 + n % 28)).collect();
    let young = (0..young).map(|n| format!("logs/2026/12/{:02}/{n:05}", 1 + n % 28)).collect();
    (due, young)
}

const BY_DAY: &str = "logs/%Y/%m/%d/**";
