//! Counts what is asked of a store: requests are what buckets are paid by, and what makes them slow.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bygone_core::ClockReading;
use bytes::Bytes;

use super::{Capabilities, Expected, Listing, Storage, StorageError, Stored, Version};

/// A store whose requests are counted.
#[derive(Debug)]
pub struct Counting<S> {
    inner: S,
    gets: AtomicU64,
    puts: AtomicU64,
    deletes: AtomicU64,
    lists: AtomicU64,
}

/// Requests by their kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Reads of a key.
    pub gets: u64,
    /// Writes, whether or not their condition was met.
    pub puts: u64,
    /// Deletes, whether or not their condition was met.
    pub deletes: u64,
    /// Listings, page by page.
    pub lists: u64,
}

impl Requests {
    /// All of them.
    pub fn total(self) -> u64 {
        self.gets + self.puts + self.deletes + self.lists
    }

    /// Those that came after an earlier count.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            gets: self.gets - earlier.gets,
            puts: self.puts - earlier.puts,
            deletes: self.deletes - earlier.deletes,
            lists: self.lists - earlier.lists,
        }
    }
}

impl<S> Counting<S> {
    /// Counts from now on.
    pub fn new(inner: S) -> Self {
        let zero = || AtomicU64::new(0);
        Self { inner, gets: zero(), puts: zero(), deletes: zero(), lists: zero() }
    }

    /// The count so far.
    pub fn requests(&self) -> Requests {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Requests {
            gets: read(&self.gets),
            puts: read(&self.puts),
            deletes: read(&self.deletes),
            lists: read(&self.lists),
        }
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

#[async_trait]
impl<S: Storage> Storage for Counting<S> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, key: &str) -> Result<Option<Stored>, StorageError> {
        count(&self.gets);
        self.inner.get(key).await
    }

    async fn put(&self, key: &str, body: Bytes, expected: Expected<'_>) -> Result<Version, StorageError> {
        count(&self.puts);
        self.inner.put(key, body, expected).await
    }

    async fn delete(&self, key: &str, version: &Version) -> Result<(), StorageError> {
        count(&self.deletes);
        self.inner.delete(key, version).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Listing, StorageError> {
        count(&self.lists);
        self.inner.list(prefix, after, limit).await
    }

    async fn read_clock(&self) -> Result<Option<ClockReading>, StorageError> {
        self.inner.read_clock().await
    }
}
