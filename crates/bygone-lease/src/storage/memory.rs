//! A store in memory: the smallest thing that keeps the whole contract, and the measure of the others.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bygone_core::ClockReading;
use bytes::Bytes;

use super::{Capabilities, Expected, Listed, Listing, Storage, StorageError, Stored, Version};

/// A map behind a lock.
#[derive(Debug, Default)]
pub struct Memory {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    values: BTreeMap<String, Stored>,
    writes: u64,
}

impl Memory {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Storage for Memory {
    fn capabilities(&self) -> Capabilities {
        // Each is answered before the next can be asked.
        let (value_bytes_max, requests_at_once) = (usize::MAX, 1);
        Capabilities { proven: true, list: true, delete_if_version: true, value_bytes_max, requests_at_once }
    }

    async fn get(&self, key: &str) -> Result<Option<Stored>, StorageError> {
        Ok(self.state().values.get(key).cloned())
    }

    async fn put(&self, key: &str, body: Bytes, expected: Expected<'_>) -> Result<Version, StorageError> {
        let mut state = self.state();
        let found = state.values.get(key).map(|stored| &stored.version);
        let as_expected = match expected {
            Expected::Absent => found.is_none(),
            Expected::Version(version) => found == Some(version),
        };
        if !as_expected {
            return Err(StorageError::conflict());
        }
        state.writes += 1;
        let version = Version::new(state.writes.to_string());
        state.values.insert(key.to_owned(), Stored { body, version: version.clone() });
        Ok(version)
    }

    async fn delete(&self, key: &str, version: &Version) -> Result<(), StorageError> {
        let mut state = self.state();
        if state.values.get(key).is_none_or(|stored| stored.version != *version) {
            return Err(StorageError::conflict());
        }
        state.values.remove(key);
        Ok(())
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Listing, StorageError> {
        let state = self.state();
        let start = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        let mut found = state.values.range::<str, _>((start, Bound::Unbounded));
        let mut within =
            found.by_ref().map(|(key, stored)| (key, &stored.version)).take_while(|(key, _)| key.starts_with(prefix));
        let listed = |(key, version): (&String, &Version)| Listed { key: key.clone(), version: Some(version.clone()) };
        let keys = within.by_ref().take(limit).map(listed).collect();
        Ok(Listing { keys, more: within.next().is_some() })
    }

    async fn read_clock(&self) -> Result<Option<ClockReading>, StorageError> {
        Ok(None)
    }
}
