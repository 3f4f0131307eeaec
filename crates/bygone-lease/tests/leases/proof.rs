//! A store is believed only after it was tried.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::{Clock, ClockReading, ManualClock, SystemClock};
use bygone_lease::storage::{
    Capabilities, Counting, Expected, Listing, Memory, Requests, Storage, StorageError, Stored, Version,
};
use bygone_lease::{Error, LeaseStore, Options, SeededChance};
use bytes::Bytes;

use super::conformance::bucket_storage;
use super::shelf::ask;

/// How a store lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    Nothing,
    /// A key is made over one that is there.
    Create,
    /// A version that is gone is good enough.
    Swap,
    /// The same, but only when two ask at once: it looks, takes its time, and writes.
    Race,
    /// A listing is of a moment ago.
    List,
    /// Any version may be deleted.
    Delete,
    /// The same, but only when somebody writes at that moment: it looks, takes its time, and deletes.
    DeleteRace,
    /// It has no deletes under a condition at all.
    NoDelete,
    /// Its clock is five minutes off.
    Clock,
}

#[derive(Debug)]
struct Liar {
    memory: Memory,
    lie: Lie,
}

#[async_trait]
impl Storage for Liar {
    fn capabilities(&self) -> Capabilities {
        Capabilities { proven: false, delete_if_version: self.lie != Lie::NoDelete, ..self.memory.capabilities() }
    }

    async fn get(&self, key: &str) -> Result<Option<Stored>, StorageError> {
        self.memory.get(key).await
    }

    async fn put(&self, key: &str, body: Bytes, expected: Expected<'_>) -> Result<Version, StorageError> {
        let found = self.memory.get(key).await?;
        let ignores = match (self.lie, expected) {
            (Lie::Create, Expected::Absent) | (Lie::Swap, Expected::Version(_)) => true,
            (Lie::Race, expected) => {
                let as_expected = match expected {
                    Expected::Absent => found.is_none(),
                    Expected::Version(version) => found.as_ref().is_some_and(|found| found.version == *version),
                };
                tokio::task::yield_now().await;
                as_expected
            }
            _ => false,
        };
        if !ignores {
            return self.memory.put(key, body, expected).await;
        }
        let now = self.memory.get(key).await?;
        let whatever = now.as_ref().map_or(Expected::Absent, |now| Expected::Version(&now.version));
        self.memory.put(key, body, whatever).await
    }

    async fn delete(&self, key: &str, version: &Version) -> Result<(), StorageError> {
        let found = self.memory.get(key).await?;
        let ignores = match self.lie {
            Lie::Delete => true,
            Lie::DeleteRace => {
                tokio::task::yield_now().await;
                found.is_some_and(|found| found.version == *version)
            }
            Lie::NoDelete => return Err(StorageError::Unsupported { operation: "delete a key under a condition" }),
            _ => false,
        };
        match self.memory.get(key).await? {
            Some(now) if ignores => self.memory.delete(key, &now.version).await,
            _ => self.memory.delete(key, version).await,
        }
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Listing, StorageError> {
        if self.lie == Lie::List { Ok(Listing::default()) } else { self.memory.list(prefix, after, limit).await }
    }

    async fn read_clock(&self) -> Result<Option<ClockReading>, StorageError> {
        let now = SystemClock::new().now();
        let off = Duration::from_secs(if self.lie == Lie::Clock { 300 } else { 0 });
        Ok(Some(ClockReading { before: now, source: now + off, after: now }))
    }
}

async fn open(lie: Lie) -> Result<(LeaseStore, Arc<Counting<Liar>>), Error> {
    let liar = Arc::new(Counting::new(Liar { memory: Memory::new(), lie }));
    let clock = Arc::new(ManualClock::at(SystemClock::new().now()));
    let store =
        LeaseStore::open_by(Arc::clone(&liar), Options::default(), clock, Arc::new(SeededChance::new(1))).await?;
    Ok((store, liar))
}

async fn refusal(lie: Lie) -> String {
    open(lie).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_store_that_lies_is_refused_with_what_it_answered() {
    insta::assert_snapshot!(refusal(Lie::Create).await, @"the store cannot be trusted: a second creation of a key was answered with success, and version 2; use one that keeps the conditions of writes");
    insta::assert_snapshot!(refusal(Lie::Swap).await, @"the store cannot be trusted: a change of a version that was gone was answered with success, and version 3; use one that keeps the conditions of writes");
    insta::assert_snapshot!(refusal(Lie::List).await, @"the store cannot be trusted: a listing right after a key was written did not show it; use one that keeps the conditions of writes");
}

#[tokio::test]
async fn a_store_that_lies_only_in_races_is_refused_too() {
    insta::assert_snapshot!(refusal(Lie::Race).await, @"the store cannot be trusted: 4 of 4 at once made the same key, by its answers; use one that keeps the conditions of writes");
}

#[tokio::test]
async fn a_clock_that_is_off_is_refused() {
    insta::assert_snapshot!(refusal(Lie::Clock).await, @"the clock is 300s off the store's, and 2s are allowed: set it right, by NTP for example");
}

#[tokio::test]
async fn an_honest_store_is_tried_once_and_the_trial_leaves_nothing_else() {
    let (_store, honest) = open(Lie::Nothing).await.unwrap();
    let left: Vec<_> = honest.list("", None, 100).await.unwrap().keys.into_iter().map(|listed| listed.key).collect();
    assert_eq!(left, [".bygone/proof.json"]);
    let before = honest.requests();
    let (clock, chance) = (Arc::new(SystemClock::new()), Arc::new(SeededChance::new(2)));
    LeaseStore::open_by(Arc::clone(&honest), Options::default(), clock, chance).await.unwrap();
    // The proof, and whether transactions are pending.
    assert_eq!(honest.requests().since(before), Requests { gets: 2, ..Requests::default() });
}

/// Nothing is taken away that somebody may just have written; leases work all the same.
async fn assert_used_without_deletes(lie: Lie) {
    let (store, liar) = open(lie).await.unwrap();
    let lease = store.acquire(&ask("k", "a")).await.unwrap();
    store.release(&lease).await.unwrap();
    let before = liar.requests();
    let boundary = bygone_core::Boundary::at(SystemClock::new().now() + Duration::from_secs(48 * 3600));
    let target = bygone_lease::LeaseTarget::new(bygone_lease::Swept::Leases, "p", "s", &store);
    let jobs = vec![bygone_core::Job::new(Box::new(target), bygone_core::Budget::default())];
    let report = bygone_core::Sweep::new(Arc::new(SystemClock::new()), boundary).run(jobs).await;
    assert!(report.policies[0].warnings.iter().any(|warning| warning.contains("conditions of deletes")), "{report:?}");
    assert_eq!(liar.requests().since(before).deletes, 0);
}

#[tokio::test]
async fn a_store_that_deletes_whatever_it_is_told_can_be_used_without_deletes() {
    assert_used_without_deletes(Lie::Delete).await;
}

/// A sweeper that removes a tombstone would else take away the lease of whoever acquires the key at that moment.
#[tokio::test]
async fn a_store_that_deletes_what_was_written_meanwhile_can_be_used_without_deletes() {
    assert_used_without_deletes(Lie::DeleteRace).await;
}

#[tokio::test]
async fn a_store_that_cannot_delete_under_a_condition_can_be_used() {
    assert_used_without_deletes(Lie::NoDelete).await;
}

/// The real servers of the tests: what they are found to do.
#[tokio::test(flavor = "multi_thread")]
async fn real_stores_are_tried() {
    let seaweed = bygone_testkit::SeaweedFs::shared().await.fresh_bucket().await;
    let moto = bygone_testkit::Moto::shared().await.fresh_bucket().await;
    let azurite = bygone_testkit::Azurite::shared().await.fresh_bucket().await;
    for (bucket, keeps_conditions_of_deletes) in [(seaweed, true), (moto, false), (azurite, true)] {
        let store = LeaseStore::open(bucket_storage(&bucket), Options::default()).await.unwrap();
        let proof = bucket_storage(&bucket).get(".bygone/proof.json").await.unwrap().unwrap();
        let proof: serde_json::Value = serde_json::from_slice(&proof.body).unwrap();
        assert_eq!(proof["deletes"], keeps_conditions_of_deletes, "{}: {proof}", bucket.url());
        let lease = store.acquire(&ask("k", "a")).await.unwrap();
        store.keepalive(&lease, None).await.unwrap();
        assert!(matches!(store.acquire(&ask("k", "b")).await, Err(Error::Held { .. })));
        store.release(&lease).await.unwrap();
        assert!(store.acquire(&ask("k", "b")).await.unwrap().fencing_token > lease.fencing_token);
    }
}
