//! An object goes only while it is the one that was listed, where the store can; and where it cannot, that is said.

use bygone_core::{Care, Cursor, Page, PageRequest, Target};
use bygone_testkit::{Azurite, Moto, SeaweedFs, TestBucket};

use super::*;

async fn page(target: &mut dyn Target, boundary: Boundary, cursor: Option<&Cursor>, limit: u64) -> Page {
    target.page(PageRequest { boundary, cursor, limit, care: Care::Swift }).await.unwrap()
}

/// Lists twelve objects, sweeps the first two, lets `meanwhile` happen, and sweeps the rest from the same listing.
async fn sweep_around(
    bucket: &TestBucket,
    policy: PrefixPolicy,
    boundary: Boundary,
    rest: u64,
    meanwhile: &[&str],
) -> (Page, u64) {
    bucket.put_all((0..12).map(|n| format!("2020-{n:02}"))).await;
    let mut target = target(&open(bucket), policy);
    let first = page(&mut *target, boundary, None, 2).await;
    assert_eq!(first.tally.removed, 2);
    for key in meanwhile {
        bucket.put(key, "written anew").await;
    }
    let mut cursor = first.next;
    let mut all = Page::default();
    while let Some(place) = cursor {
        let page = page(&mut *target, boundary, Some(&place), rest).await;
        assert!(page.tally.adds_up());
        all.tally.add(&page.tally);
        all.requests += page.requests;
        cursor = page.next;
    }
    let kept = all.tally.kept_back.total();
    (all, kept)
}

async fn overwritten_survives(bucket: TestBucket, rest: u64) -> u64 {
    let (all, kept) = sweep_around(&bucket, by_key("%Y-*"), noon(), rest, &["2020-05", "2020-11"]).await;
    // By their names they are bygone still: left to the next sweep.
    assert_eq!((all.tally.removed, all.tally.kept_back.conflict, kept), (8, 2, 2), "{all:?}");
    assert_eq!(bucket.keys().await, ["2020-05", "2020-11"]);
    assert_eq!(bucket.get("2020-05").await, "written anew");
    all.requests
}

#[tokio::test(flavor = "multi_thread")]
async fn seaweedfs_heeds_conditions_in_bulk() {
    let requests = overwritten_survives(SeaweedFs::shared().await.fresh_bucket().await, 100).await;
    // One for ten objects, and a look at each of the two that stayed.
    assert!(requests <= 4, "{requests} requests");
}

#[tokio::test(flavor = "multi_thread")]
async fn seaweedfs_heeds_conditions_one_by_one() {
    overwritten_survives(SeaweedFs::shared().await.fresh_bucket().await, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn azurite_heeds_conditions() {
    overwritten_survives(Azurite::shared().await.fresh_bucket().await, 100).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_is_young_again_is_no_item() {
    let bucket = Azurite::shared().await.fresh_bucket().await;
    let opened = open(&bucket);
    // Everything is old by a boundary just ahead; what is written anew after it is not.
    bucket.put("2020-00", "x").await;
    let now = opened.read_clock().await.unwrap().source;
    let boundary = Boundary::at(now + SignedDuration::from_secs(3));
    bucket.put_all((0..12).map(|n| format!("2020-{n:02}"))).await;
    let mut wait = bygone_testkit::wait::Wait::up_to(Duration::from_secs(30));
    let mut target = target(&opened, policy(PrefixDeadline::ByModified));
    let first = page(&mut *target, boundary, None, 2).await;
    assert_eq!(first.tally.removed, 2);
    while opened.read_clock().await.unwrap().source <= boundary.instant() {
        assert!(wait.again().await);
    }
    bucket.put("2020-07", "written anew").await;
    let rest = page(&mut *target, boundary, first.next.as_ref(), 100).await;
    assert_eq!((rest.tally.examined, rest.tally.removed), (9, 9), "{rest:?}");
    assert_eq!(bucket.keys().await, ["2020-07"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_removed_is_not_counted() {
    for bucket in [SeaweedFs::shared().await.fresh_bucket().await, Azurite::shared().await.fresh_bucket().await] {
        bucket.put_all((0..12).map(|n| format!("2020-{n:02}"))).await;
        let mut target = target(&open(&bucket), by_key("%Y-*"));
        let first = page(&mut *target, noon(), None, 2).await;
        bucket.delete("2020-05").await;
        let rest = page(&mut *target, noon(), first.next.as_ref(), 100).await;
        assert_eq!((rest.tally.examined, rest.tally.removed), (9, 9), "{rest:?}");
        assert!(bucket.keys().await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_ignores_conditions_is_named() {
    let bucket = Moto::shared().await.fresh_bucket().await;
    let (due, young) = dated(40, 40);
    bucket.put_all(due.into_iter().chain(young.clone())).await;
    let report = run(&open(&bucket), by_key(BY_DAY), noon(), unhurried()).await;
    assert_eq!((report.tally.removed, report.tally.examined), (40, 40), "{report:?}");
    assert!(report.warnings.iter().any(|warning| warning.contains("ignores the conditions of deletes")), "{report:?}");
    assert_eq!(bucket.keys().await.len(), 40);
    // The proof costs one sweep a handful of requests, and no object that was not to go.
    let again = run(&open(&bucket), by_key(BY_DAY), noon(), unhurried()).await;
    assert_eq!((again.tally.examined, again.warnings.len()), (0, 0), "nothing was deleted, so nothing was learnt");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_heeds_conditions_is_not_suspected() {
    for bucket in [SeaweedFs::shared().await.fresh_bucket().await, Azurite::shared().await.fresh_bucket().await] {
        let (due, _) = dated(40, 0);
        bucket.put_all(due).await;
        let report = run(&open(&bucket), by_key(BY_DAY), noon(), unhurried()).await;
        assert_eq!((report.tally.removed, report.warnings), (40, vec![]), "{:?}", report.tally);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_conditions_each_page_lists_anew() {
    let bucket = Moto::shared().await.fresh_bucket().await;
    bucket.put_all((0..12).map(|n| format!("2020-{n:02}"))).await;
    let opened = open(&bucket);
    let now = opened.read_clock().await.unwrap().source;
    let boundary = Boundary::at(now + SignedDuration::from_secs(3));
    let mut target = target(&opened, policy(PrefixDeadline::ByModified));
    // Two pages find out that the store ignores conditions, in bulk and one by one.
    let first = page(&mut *target, boundary, None, 4).await;
    assert_eq!(first.tally.removed, 3, "two by the first proof, one by the second; the rest waits for a new listing");
    let mut wait = bygone_testkit::wait::Wait::up_to(Duration::from_secs(30));
    while opened.read_clock().await.unwrap().source <= boundary.instant() {
        assert!(wait.again().await);
    }
    bucket.put("2020-07", "written anew").await;
    let mut cursor = first.next;
    while let Some(place) = cursor {
        cursor = page(&mut *target, boundary, Some(&place), 100).await.next;
    }
    assert_eq!(bucket.keys().await, ["2020-07"], "what was written anew after the first listing");
}
