//! What every store must do: the same suite for all of them.

use std::sync::Arc;

use bygone_core::SystemClock;
use bygone_lease::storage::{
    Careful, Counting, Disk, Expected, Memory, Objects, Patience, Proven, Storage, StorageError, Version,
};
use bygone_lease::{SeededChance, SystemChance};
use bygone_objects::{Access, BucketUrl, Environment};
use bygone_testkit::TestBucket;
use bytes::Bytes;

/// Runs each of these functions as a test of its own on each store.
macro_rules! on_each_store {
    ($($test:ident),* $(,)?) => {
        on_each_store!(@ memory, (Arc::new(Memory::new()), ()), $($test)*);
        on_each_store!(@ wrapped, (Arc::new(Counting::new(careful(Memory::new()))), ()), $($test)*);
        on_each_store!(@ disk, disk(), $($test)*);
        on_each_store!(@ seaweedfs, (objects(&bygone_testkit::SeaweedFs::shared().await.fresh_bucket().await).await, ()), $($test)*);
        on_each_store!(@ moto, (objects(&bygone_testkit::Moto::shared().await.fresh_bucket().await).await, ()), $($test)*);
        on_each_store!(@ azurite, (objects(&bygone_testkit::Azurite::shared().await.fresh_bucket().await).await, ()), $($test)*);
    };
    (@ $module:ident, $store:expr, $($test:ident)*) => {
        mod $module {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    let (store, _keep) = $store;
                    super::$test(store).await;
                }
            )*
        }
    };
}

on_each_store!(
    what_was_written_is_read_back,
    a_key_is_made_once,
    a_value_is_swapped_only_by_who_knows_it,
    a_value_is_deleted_only_by_who_knows_it,
    a_key_that_is_made_anew_has_a_new_version,
    keys_are_listed_in_order_page_by_page,
    of_many_who_make_a_key_one_succeeds,
    of_many_who_swap_a_value_one_succeeds,
    whoever_swaps_a_value_beside_deletes_keeps_his,
);

fn careful<S: Storage>(store: S) -> Careful<S> {
    Careful::new(store, Arc::new(SystemClock::new()), Arc::new(SeededChance::new(1)), Patience::default())
}

/// A store on disk, and the directory that goes away with it.
fn disk() -> (Arc<Disk>, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    (Arc::new(Disk::open(directory.path()).unwrap()), directory)
}

/// A bucket, as it is.
pub(crate) fn bucket_storage(bucket: &TestBucket) -> Objects {
    let credentials = bucket.credentials();
    let environment = Environment::of(credentials.iter().map(|(name, value)| (*name, value.as_str())));
    let access = Access::new(BucketUrl::parse(&bucket.url()).unwrap(), environment).unwrap();
    Objects::open(access, Arc::new(SystemClock::new()), std::time::Duration::from_secs(60)).unwrap()
}

/// Tried first, and with patience: servers say "not now" under races.
async fn objects(bucket: &TestBucket) -> Arc<Proven<Careful<Objects>>> {
    let clock = Arc::new(SystemClock::new());
    let careful = Careful::new(bucket_storage(bucket), clock.clone(), Arc::new(SystemChance), Patience::default());
    Arc::new(Proven::open(careful, clock, Arc::new(SystemChance)).await.unwrap())
}

async fn create(store: &dyn Storage, key: &str, body: &'static str) -> Result<Version, StorageError> {
    store.put(key, Bytes::from_static(body.as_bytes()), Expected::Absent).await
}

async fn swap(store: &dyn Storage, key: &str, body: &'static str, version: &Version) -> Result<Version, StorageError> {
    store.put(key, Bytes::from_static(body.as_bytes()), Expected::Version(version)).await
}

fn is_conflict<T>(answer: &Result<T, StorageError>) -> bool {
    matches!(answer, Err(StorageError::Conflict { .. }))
}

async fn text(store: &dyn Storage, key: &str) -> Option<String> {
    store.get(key).await.unwrap().map(|stored| String::from_utf8(stored.body.to_vec()).unwrap())
}

async fn what_was_written_is_read_back(store: Arc<dyn Storage>) {
    assert_eq!(store.get("ns/meta/absent").await.unwrap(), None);
    let version = create(&*store, "ns/meta/a", "one").await.unwrap();
    let stored = store.get("ns/meta/a").await.unwrap().unwrap();
    assert_eq!((&stored.body[..], &stored.version), (&b"one"[..], &version));
    let large = Bytes::from(vec![7; 300_000]);
    store.put("ns/state/a/1", large.clone(), Expected::Absent).await.unwrap();
    assert_eq!(store.get("ns/state/a/1").await.unwrap().unwrap().body, large);
}

async fn a_key_is_made_once(store: Arc<dyn Storage>) {
    create(&*store, "ns/meta/a", "one").await.unwrap();
    assert!(is_conflict(&create(&*store, "ns/meta/a", "two").await));
    assert_eq!(text(&*store, "ns/meta/a").await.as_deref(), Some("one"));
}

async fn a_value_is_swapped_only_by_who_knows_it(store: Arc<dyn Storage>) {
    let first = create(&*store, "ns/meta/a", "one").await.unwrap();
    let second = swap(&*store, "ns/meta/a", "two", &first).await.unwrap();
    assert_ne!(first, second);
    assert!(is_conflict(&swap(&*store, "ns/meta/a", "three", &first).await));
    assert_eq!(text(&*store, "ns/meta/a").await.as_deref(), Some("two"));
    assert!(is_conflict(&swap(&*store, "ns/meta/absent", "x", &first).await));
    assert_eq!(text(&*store, "ns/meta/absent").await, None);
}

async fn a_value_is_deleted_only_by_who_knows_it(store: Arc<dyn Storage>) {
    let first = create(&*store, "ns/meta/a", "one").await.unwrap();
    let second = swap(&*store, "ns/meta/a", "two", &first).await.unwrap();
    if !store.capabilities().delete_if_version {
        let refused = store.delete("ns/meta/a", &second).await;
        assert!(
            matches!(refused, Err(StorageError::Unsupported { .. })),
            "moto deletes whatever it is told: {refused:?}"
        );
        return;
    }
    assert!(is_conflict(&store.delete("ns/meta/a", &first).await));
    assert_eq!(text(&*store, "ns/meta/a").await.as_deref(), Some("two"));
    store.delete("ns/meta/a", &second).await.unwrap();
    assert_eq!(text(&*store, "ns/meta/a").await, None);
    assert!(is_conflict(&store.delete("ns/meta/a", &second).await), "it is gone already");
}

async fn a_key_that_is_made_anew_has_a_new_version(store: Arc<dyn Storage>) {
    if !store.capabilities().delete_if_version {
        return;
    }
    let first = create(&*store, "ns/meta/a", "one").await.unwrap();
    store.delete("ns/meta/a", &first).await.unwrap();
    // Another body, as an attempt makes every body another: where versions are checksums, equal ones would have equal ones.
    let second = create(&*store, "ns/meta/a", "two").await.unwrap();
    assert!(is_conflict(&swap(&*store, "ns/meta/a", "three", &first).await));
    assert_eq!(store.get("ns/meta/a").await.unwrap().unwrap().version, second);
}

async fn keys_are_listed_in_order_page_by_page(store: Arc<dyn Storage>) {
    let mut expected: Vec<_> = (0..25).map(|n| format!("ns/.lease-index/2026111801/k{n:02}~2F.x")).collect();
    for key in expected.iter().rev().chain(&["ns/.lease-index/2026111802/z".into(), "ns/.lease-index/20261118".into()])
    {
        create(&*store, key, "x").await.unwrap();
    }
    let (mut listed, mut after) = (Vec::new(), None::<String>);
    loop {
        let page = store.list("ns/.lease-index/2026111801/", after.as_deref(), 10).await.unwrap();
        assert!(page.keys.len() <= 10);
        listed.extend(page.keys.iter().map(|listed| listed.key.clone()));
        after = page.keys.last().map(|listed| listed.key.clone()).or(after);
        if !page.more {
            break;
        }
    }
    expected.sort();
    assert_eq!(listed, expected);
    // What a listing says of a version is what a read says.
    for entry in store.list("ns/.lease-index/2026111801/", None, 3).await.unwrap().keys {
        let stored = store.get(&entry.key).await.unwrap().unwrap();
        assert!(entry.version.is_none_or(|version| version == stored.version), "{}", entry.key);
    }
}

/// Few enough writers for SeaweedFS, whose losers wait for about a second each.
const RACERS: usize = 4;

async fn of_many_who_make_a_key_one_succeeds(store: Arc<dyn Storage>) {
    for round in 0..5 {
        let key = format!("ns/meta/race-{round}");
        let race = (0..RACERS).map(|racer| {
            let (store, key) = (Arc::clone(&store), key.clone());
            tokio::spawn(async move { store.put(&key, Bytes::from(format!("{racer}")), Expected::Absent).await })
        });
        let answers = outcomes(race.collect()).await;
        let winners: Vec<_> = (0..RACERS).filter(|racer| answers[*racer].is_ok()).collect();
        assert_eq!(winners.len(), 1, "{answers:?}");
        assert!(answers.iter().all(|answer| answer.is_ok() || is_conflict(answer)), "{answers:?}");
        assert_eq!(text(&*store, &key).await, Some(winners[0].to_string()));
    }
}

async fn of_many_who_swap_a_value_one_succeeds(store: Arc<dyn Storage>) {
    let mut version = create(&*store, "ns/meta/race", "begin").await.unwrap();
    for round in 0..5 {
        let race = (0..RACERS).map(|racer| {
            let (store, version) = (Arc::clone(&store), version.clone());
            let body = Bytes::from(format!("{round}-{racer}"));
            tokio::spawn(async move { store.put("ns/meta/race", body, Expected::Version(&version)).await })
        });
        let answers = outcomes(race.collect()).await;
        let won: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().ok()).collect();
        assert_eq!(won.len(), 1, "{answers:?}");
        assert!(answers.iter().all(|answer| answer.is_ok() || is_conflict(answer)), "{answers:?}");
        version = won[0].clone();
    }
}

/// Two who delete the same may both be told that they did, by SeaweedFS for one: nobody relies on that.
async fn whoever_swaps_a_value_beside_deletes_keeps_his(store: Arc<dyn Storage>) {
    if !store.capabilities().delete_if_version {
        return;
    }
    for round in 0..5 {
        let key = format!("ns/meta/beside-{round}");
        let version = create(&*store, &key, "begin").await.unwrap();
        let race = (0..RACERS).map(|racer| {
            let (store, key, version) = (Arc::clone(&store), key.clone(), version.clone());
            let body = Bytes::from(format!("{round}-{racer}"));
            tokio::spawn(async move {
                if racer % 2 == 0 {
                    return store.delete(&key, &version).await.map(|()| version);
                }
                store.put(&key, body, Expected::Version(&version)).await
            })
        });
        let answers = outcomes(race.collect()).await;
        assert!(answers.iter().all(|answer| answer.is_ok() || is_conflict(answer)), "{answers:?}");
        let won = |side: usize| answers.iter().skip(side).step_by(2).filter_map(|answer| answer.as_ref().ok());
        let (deleted, swapped): (Vec<_>, Vec<_>) = (won(0).collect(), won(1).collect());
        assert!(swapped.len() <= 1, "{answers:?}");
        assert_ne!(deleted.is_empty(), swapped.is_empty(), "{answers:?}");
        let found = store.get(&key).await.unwrap().map(|found| found.version);
        assert_eq!(found.as_ref(), swapped.first().copied(), "{answers:?}");
    }
}

async fn outcomes(
    race: Vec<tokio::task::JoinHandle<Result<Version, StorageError>>>,
) -> Vec<Result<Version, StorageError>> {
    let mut answers = Vec::new();
    for racer in race {
        answers.push(racer.await.unwrap());
    }
    answers
}
