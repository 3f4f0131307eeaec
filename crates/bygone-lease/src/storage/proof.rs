//! A store is believed only after it was tried.
//!
//! Everything here rests on conditions: make a key only if it is absent, change it only if it is still the one. Stores
//! that speak S3 are known to ignore such conditions, and some of them only when two ask at once. So a store is tried
//! before its first use, alone and in races, and what it did is remembered in the store itself: the next opening costs
//! one read.
//!
//! One that makes or changes a key against its condition is refused. One that merely deletes against its condition can
//! be used: whatever needs such a delete is then left out.

use std::sync::Arc;

use async_trait::async_trait;
use bygone_core::{Clock, ClockReading};
use bytes::Bytes;
use futures_util::future::{join, join_all};
use serde::{Deserialize, Serialize};

use super::{Capabilities, Expected, Listing, Storage, StorageError, Stored, Version};
use crate::chance::Chance;
use crate::document;
use crate::ids::Ids;

/// Where the proof is remembered.
pub(crate) const PROOF: &str = ".bygone/proof.json";
/// Those who race for a key at once, and how often.
const RACERS: usize = 4;
const RACES: usize = 2;

/// What a store was found to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Proof {
    /// Makes and changes keys only under their conditions.
    #[serde(default)]
    writes: bool,
    /// Deletes keys only under their conditions.
    #[serde(default)]
    deletes: bool,
}

/// A store that was tried.
#[derive(Debug)]
pub struct Proven<S> {
    inner: S,
    deletes: bool,
}

impl<S: Storage> Proven<S> {
    /// Tries a store, unless that was done before.
    pub async fn open(inner: S, clock: Arc<dyn Clock>, chance: Arc<dyn Chance>) -> Result<Self, StorageError> {
        let ids = &Ids::new(clock, chance);
        let unreadable = |error: crate::Error| match error {
            crate::Error::Storage(error) => error,
            error => StorageError::Refused { reason: error.to_string() },
        };
        let known: Proof = document::read(&inner, PROOF).await.map_err(unreadable)?;
        if known.writes {
            return Ok(Self { inner, deletes: known.deletes });
        }
        let proof = Trial { store: &inner, ids, place: format!(".bygone/trial-{}", ids.next()) }.run().await?;
        let remember = |found: &mut Proof| {
            let news = *found != proof;
            *found = proof;
            news
        };
        document::amend(&inner, ids, PROOF, remember).await.map_err(unreadable)?;
        Ok(Self { inner, deletes: proof.deletes })
    }
}

/// A store on trial.
struct Trial<'a> {
    store: &'a dyn Storage,
    ids: &'a Ids,
    /// Below this nobody else has keys.
    place: String,
}

impl Trial<'_> {
    async fn run(&self) -> Result<Proof, StorageError> {
        let key = format!("{}/alone", self.place);
        let first = self.create(&key).await?;
        expect_conflict("a second creation of a key", self.create(&key).await)?;
        let second = self.swap(&key, &first).await?;
        expect_conflict("a change of a version that was gone", self.swap(&key, &first).await)?;
        expect_conflict("a change of a key that was not there", self.swap(&format!("{key}-absent"), &first).await)?;
        self.list_after_write(&key).await?;
        for race in 0..RACES {
            self.race(&format!("{}/race-{race}", self.place)).await?;
        }
        let deletes = self.heeds_conditions_of_deletes(&key, (&first, &second)).await?;
        Ok(Proof { writes: true, deletes: deletes && self.heeds_them_in_races().await? })
    }

    fn body(&self) -> Bytes {
        Bytes::from(format!("{{\"attempt\":\"{}\"}}", self.ids.next()))
    }

    async fn create(&self, key: &str) -> Result<Version, StorageError> {
        self.store.put(key, self.body(), Expected::Absent).await
    }

    async fn swap(&self, key: &str, version: &Version) -> Result<Version, StorageError> {
        self.store.put(key, self.body(), Expected::Version(version)).await
    }

    async fn list_after_write(&self, key: &str) -> Result<(), StorageError> {
        if !self.store.capabilities().list {
            return Ok(());
        }
        let listing = self.store.list(&format!("{}/", self.place), None, 10).await?;
        if listing.keys.iter().any(|listed| listed.key == key) {
            return Ok(());
        }
        Err(StorageError::Lying { what: "a listing right after a key was written did not show it".to_owned() })
    }

    /// Several make one key at once, and then several change it at once: one of each may succeed.
    async fn race(&self, key: &str) -> Result<(), StorageError> {
        let made = join_all((0..RACERS).map(|_| self.create(key))).await;
        let version = only_one("made the same key", made)?;
        let changed = join_all((0..RACERS).map(|_| self.swap(key, &version))).await;
        let version = only_one("changed the same version of a key", changed)?;
        if self.store.capabilities().delete_if_version {
            self.store.delete(key, &version).await?;
        }
        Ok(())
    }

    /// Also takes away what the trial left.
    async fn heeds_conditions_of_deletes(
        &self,
        key: &str,
        (old, new): (&Version, &Version),
    ) -> Result<bool, StorageError> {
        if !self.store.capabilities().delete_if_version {
            return Ok(false);
        }
        let refused = matches!(self.store.delete(key, old).await, Err(StorageError::Conflict { .. }));
        let heeds = refused && self.store.get(key).await?.is_some();
        if heeds {
            self.store.delete(key, new).await?;
        }
        Ok(heeds)
    }

    async fn heeds_them_in_races(&self) -> Result<bool, StorageError> {
        let mut heeds = true;
        for race in 0..RACES {
            heeds &= self.race_of_deletes(&format!("{}/delete-{race}", self.place)).await?;
        }
        Ok(heeds)
    }

    /// Some delete a version while others change it: whoever changed it must find his own. That two who delete it are both
    /// told that they did is no harm.
    async fn race_of_deletes(&self, key: &str) -> Result<bool, StorageError> {
        let version = self.create(key).await?;
        // The deletes first: one that looks, takes its time and deletes does so while somebody writes.
        let deletes = join_all((0..RACERS / 2).map(|_| self.store.delete(key, &version)));
        let swaps = join_all((0..RACERS / 2).map(|_| self.swap(key, &version)));
        let (deletes, swaps) = join(deletes, swaps).await;
        let is_deleted = !successes(deletes)?.is_empty();
        let found = self.store.get(key).await?.map(|found| found.version);
        let heeds = if swaps.iter().any(Result::is_ok) {
            let changed = only_one("changed the same version of a key", swaps)?;
            !is_deleted && found.as_ref() == Some(&changed)
        } else {
            successes(swaps)?;
            is_deleted && found.is_none()
        };
        if heeds && let Some(version) = found {
            self.store.delete(key, &version).await?;
        }
        Ok(heeds)
    }
}

fn expect_conflict(what: &str, answer: Result<Version, StorageError>) -> Result<(), StorageError> {
    match answer {
        Err(StorageError::Conflict { .. }) => Ok(()),
        Ok(version) => Err(StorageError::Lying {
            what: format!("{what} was answered with success, and version {}", version.as_str()),
        }),
        Err(error) => Err(error),
    }
}

fn only_one(what: &str, answers: Vec<Result<Version, StorageError>>) -> Result<Version, StorageError> {
    let asked = answers.len();
    let winners = successes(answers)?;
    match &winners[..] {
        [winner] => Ok(winner.clone()),
        _ => Err(StorageError::Lying { what: format!("{} of {asked} at once {what}, by its answers", winners.len()) }),
    }
}

/// What those got whose condition was met. Whoever lost a race has failed in no other way.
fn successes<T>(answers: Vec<Result<T, StorageError>>) -> Result<Vec<T>, StorageError> {
    let met = answers.into_iter().filter(|answer| !matches!(answer, Err(StorageError::Conflict { .. })));
    met.collect()
}

#[async_trait]
impl<S: Storage> Storage for Proven<S> {
    fn capabilities(&self) -> Capabilities {
        let inner = self.inner.capabilities();
        Capabilities { proven: true, delete_if_version: inner.delete_if_version && self.deletes, ..inner }
    }

    async fn get(&self, key: &str) -> Result<Option<Stored>, StorageError> {
        self.inner.get(key).await
    }

    async fn put(&self, key: &str, body: Bytes, expected: Expected<'_>) -> Result<Version, StorageError> {
        self.inner.put(key, body, expected).await
    }

    async fn delete(&self, key: &str, version: &Version) -> Result<(), StorageError> {
        if !self.deletes {
            return Err(StorageError::Unsupported { operation: "delete a key under a condition" });
        }
        self.inner.delete(key, version).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Listing, StorageError> {
        self.inner.list(prefix, after, limit).await
    }

    async fn read_clock(&self) -> Result<Option<ClockReading>, StorageError> {
        self.inner.read_clock().await
    }
}
