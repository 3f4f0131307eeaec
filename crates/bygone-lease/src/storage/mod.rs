//! What leases, queues and transactions are kept in: a store that compares before it swaps.
//!
//! [`Storage`] is all that is asked of one: read a value with its version, write or delete it only while that version is
//! still the one, list keys in order. Everything that matters is decided by such a step, so any number of processes may
//! work on one store, and none of them has to be trusted to be alive.
//!
//! | store | what it is |
//! |---|---|
//! | [`Memory`] | a map, for tests and simulations |
//! | [`Disk`] | an embedded file, durable before it answers, shared by the processes of one machine |
//! | [`Objects`] | a bucket of S3, Azure or Google |
//!
//! Replies get lost. A write that was carried out although nobody heard of it must not be taken for one that lost a race,
//! so every body carries a unique attempt, and [`Careful`] looks before it concludes anything. What cannot be found out
//! is [`StorageError::Unknown`]: neither a success nor a failure.

mod careful;
mod counting;
mod disk;
mod faulty;
mod memory;
mod objects;
mod proof;

use std::fmt;

use async_trait::async_trait;
use bygone_core::ClockReading;
use bytes::Bytes;

pub use careful::{Careful, Patience};
pub use counting::{Counting, Requests};
pub use disk::Disk;
pub use faulty::{Fault, Faulty, Request, Script};
pub use memory::Memory;
pub use objects::Objects;
pub(crate) use proof::PROOF;
pub use proof::Proven;

/// A compare-and-swap store.
///
/// The conformance suite of the test kit says what each method must do; all stores and wrappers pass it.
#[async_trait]
pub trait Storage: fmt::Debug + Send + Sync {
    /// What it can do. A step that needs something else is left out, and that is said.
    fn capabilities(&self) -> Capabilities;

    /// The value of a key, as the last write left it.
    async fn get(&self, key: &str) -> Result<Option<Stored>, StorageError>;

    /// Writes a value if the key is as expected, and answers with its new version.
    async fn put(&self, key: &str, body: Bytes, expected: Expected<'_>) -> Result<Version, StorageError>;

    /// Removes a key while it has this version.
    async fn delete(&self, key: &str, version: &Version) -> Result<(), StorageError>;

    /// The first `limit` keys that begin with `prefix` and come after `after`, in the order of their bytes.
    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Listing, StorageError>;

    /// What time the store has; `None` when it has no clock of its own.
    async fn read_clock(&self) -> Result<Option<ClockReading>, StorageError>;
}

/// Which of its versions a value is. Only equality means anything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Version(Box<str>);

impl Version {
    /// A version as the store writes it.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    /// As the store writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A value and its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The value.
    pub body: Bytes,
    /// Its version.
    pub version: Version,
}

/// What a key must be like for a write to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected<'a> {
    /// It is not there.
    Absent,
    /// It has this version.
    Version(&'a Version),
}

/// Some keys, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The keys.
    pub keys: Vec<Listed>,
    /// Whether there are more behind the last of them.
    pub more: bool,
}

/// A key that was listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The whole key.
    pub key: String,
    /// Its version, where listings tell.
    pub version: Option<Version>,
}

/// What a store can do beyond reading and writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Its conditions are known to be true: it is our own, or it was tried.
    pub proven: bool,
    /// Keys can be listed.
    pub list: bool,
    /// A delete may depend on the version.
    pub delete_if_version: bool,
    /// The largest value that one write may have, in bytes.
    pub value_bytes_max: usize,
    /// How many requests it is good to have under way at once: more would only wait for each other.
    pub requests_at_once: usize,
}

/// Why a store did not do what it was asked.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The key was not as expected. Nothing was written.
    #[error("the key was changed by somebody else")]
    Conflict {
        /// What the key has now, where somebody looked.
        current: Option<Box<Stored>>,
    },
    /// The store has too much to do. Nothing was written.
    #[error("the store asks for fewer requests")]
    Throttled,
    /// The store could not be asked. Nothing was written.
    #[error("the store cannot be reached: {reason}")]
    Unavailable {
        /// What went wrong.
        reason: String,
    },
    /// The request may have been carried out, or not, or may still be.
    #[error("nobody knows what became of the request: {reason}")]
    Unknown {
        /// What went wrong.
        reason: String,
    },
    /// The store will not, however often it is asked.
    #[error("the store refuses: {reason}")]
    Refused {
        /// In the store's words.
        reason: String,
    },
    /// The store does not keep its conditions, so nothing can be kept safely in it.
    #[error("the store cannot be trusted: {what}; use one that keeps the conditions of writes")]
    Lying {
        /// What it was asked, and what it answered.
        what: String,
    },
    /// The store has no such operation.
    #[error("the store cannot {operation}")]
    Unsupported {
        /// What was asked of it.
        operation: &'static str,
    },
}

impl StorageError {
    /// A conflict of which nothing more is known.
    pub fn conflict() -> Self {
        Self::Conflict { current: None }
    }

    /// Whether the same request may succeed later.
    pub fn passes(&self) -> bool {
        matches!(self, Self::Throttled | Self::Unavailable { .. } | Self::Unknown { .. })
    }
}

#[async_trait]
impl<S: Storage + ?Sized> Storage for std::sync::Arc<S> {
    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    async fn get(&self, key: &str) -> Result<Option<Stored>, StorageError> {
        (**self).get(key).await
    }

    async fn put(&self, key: &str, body: Bytes, expected: Expected<'_>) -> Result<Version, StorageError> {
        (**self).put(key, body, expected).await
    }

    async fn delete(&self, key: &str, version: &Version) -> Result<(), StorageError> {
        (**self).delete(key, version).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Listing, StorageError> {
        (**self).list(prefix, after, limit).await
    }

    async fn read_clock(&self) -> Result<Option<ClockReading>, StorageError> {
        (**self).read_clock().await
    }
}
