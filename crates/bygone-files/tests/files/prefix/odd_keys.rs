//! Keys that are hard to name: what can be named exactly goes, and what cannot never takes another with it.

use bygone_testkit::wait::Wait;
use bygone_testkit::{Fault, FaultProxy, Moto, SeaweedFs, Seen, TestBucket};

use super::*;

on_each_store!(odd_keys_go_by_their_own_name, keys_that_cannot_be_named_take_nothing_along);

/// Everything below `old/` is due.
const PATTERN: &str = "**-%Y**";

async fn odd_keys_go_by_their_own_name(bucket: TestBucket) {
    let long = format!("{}-2020", "x".repeat(200));
    let longest = format!("{}/-2020", vec!["y".repeat(100); 10].join("/"));
    let names = [
        "a b",
        "ü/é",
        "p%20q",
        "p%2Fq",
        "a+b",
        "n\nl",
        "q'\"",
        "a&b<c>",
        "t\tx",
        "emoji-🦀",
        "~!@#$^()_=[]{};:,",
        "a?b",
    ];
    let mut put = Vec::new();
    for name in names {
        // Not every store takes every key.
        for key in [format!("{name}-2020"), format!("{name}-2030")] {
            if bucket.try_put(&key, name).await.is_ok() {
                put.push(key);
            }
        }
    }
    for key in [long, longest] {
        if bucket.try_put(&key, "long").await.is_ok() {
            put.push(key);
        }
    }
    let before = bucket.keys().await;
    let report = run(&open(&bucket), by_key(PATTERN), noon(), unhurried()).await;
    let mut left: Vec<_> = before.iter().filter(|key| key.contains("-2030")).cloned().collect();
    left.sort();
    assert_eq!(bucket.keys().await, left, "{report:?}");
    assert_eq!(report.tally.removed, (before.len() - left.len()) as u64, "{report:?}");
    assert!(put.len() >= 18, "hardly any key was taken: {put:?}");
}

async fn keys_that_cannot_be_named_take_nothing_along(bucket: TestBucket) {
    // Each with the key that it might be mistaken for. All have the same contents, so that an ETag tells none apart.
    let pairs = [
        ("/a-2020", "a-2020"),
        ("d//e-2020", "d/e-2020"),
        (" s-2020", "s-2020"),
        ("t-2020 ", "t-2020"),
        ("c\r-2020", "c-2020"),
    ];
    for (odd, plain) in pairs {
        if bucket.try_put(odd, "same").await.is_err() {
            continue;
        }
        bucket.put(plain, "same").await;
    }
    // And some alone: what is not there cannot be removed, and must not be counted.
    for lone in ["/lone-2020", "x//lone-2020", " lone-2020"] {
        bucket.try_put(lone, "same").await.ok();
    }
    bucket.put("z-2030", "same").await;
    let before = bucket.keys().await;
    // The plain ones are excluded: whoever removes one of them has mistaken it for its neighbour.
    let exclude = pairs.map(|(_, plain)| plain.to_owned()).to_vec();
    let report = run(&open(&bucket), PrefixPolicy { exclude, ..by_key(PATTERN) }, noon(), unhurried()).await;
    let after = bucket.keys().await;
    for (_, plain) in pairs {
        let there = |keys: &[String]| keys.iter().any(|key| key == plain);
        assert_eq!(there(&after), there(&before), "{plain:?} was taken for its neighbour: {report:?}");
    }
    assert!(after.contains(&"z-2030".to_owned()));
    let odd = before.iter().filter(|key| pairs.iter().any(|(odd, _)| odd == key)).count() as u64;
    let gone = (before.len() - after.len()) as u64;
    assert_eq!(report.tally.removed, gone, "{report:?}");
    assert!(gone + report.tally.kept_back.unreadable >= odd.min(1), "{report:?} {before:?}");
    if report.tally.kept_back.unreadable > 0 {
        assert!(report.warnings.iter().any(|warning| warning.contains("cannot be named exactly")), "{report:?}");
    }
}

/// A carriage return that stands bare in XML is a line feed to whoever reads it by the rules: another name.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_the_client_changes_is_not_believed() {
    let bucket = SeaweedFs::shared().await.fresh_bucket().await;
    bucket.put("c\n-2020", "x").await;
    // The digest of "x": under it the object would go.
    let etag = "9dd4e461268c8034f5c8564e155c67a6";
    let listing = format!(
        "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>c\r-2020</Key><Size>1</Size>\
         <LastModified>2020-01-01T00:00:00.000Z</LastModified><ETag>&quot;{etag}&quot;</ETag></Contents></ListBucketResult>"
    );
    let plan = move |seen: &Seen| if seen.lists() { Fault::Answer(listing.clone()) } else { Fault::None };
    let proxy = FaultProxy::before(bucket.port(), plan).await;
    let report = run(&open_by(&bucket, proxy.port()), by_key(PATTERN), noon(), unhurried()).await;
    assert_eq!((report.tally.removed, report.tally.kept_back.unreadable), (0, 1), "{report:?}");
    assert_eq!(bucket.keys().await, ["c\n-2020"]);
}

/// The client gives both keys the same name; the one is old and the other is not.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_with_a_slash_before_it_is_no_reason_to_take_its_twin() {
    let bucket = Moto::shared().await.fresh_bucket().await;
    bucket.put("/twin", "same").await;
    let opened = open(&bucket);
    let boundary = Boundary::at(opened.read_clock().await.unwrap().source + SignedDuration::from_secs(3));
    let mut wait = Wait::up_to(Duration::from_secs(30));
    while opened.read_clock().await.unwrap().source <= boundary.instant() {
        assert!(wait.again().await);
    }
    bucket.put("twin", "same").await;
    let report = run(&opened, policy(PrefixDeadline::ByModified), boundary, unhurried()).await;
    assert_eq!(bucket.keys().await, ["/twin", "twin"], "{report:?}");
    assert_eq!((report.tally.removed, report.tally.kept_back.unreadable), (0, 2), "{report:?}");
}
