//! A process that dies: of what it asks for then nobody hears any more.

use std::fmt;

use async_trait::async_trait;
use bygone_core::ClockReading;
use bygone_lease::storage::{Capabilities, Expected, Listing, Request, Storage, StorageError, Stored, Version};
use bytes::Bytes;

/// A store that never answers the request before which its user dies.
pub(crate) struct Mortal<S> {
    inner: S,
    dies: Box<dyn Fn(Request<'_>) -> bool + Send + Sync>,
}

impl<S> Mortal<S> {
    pub(crate) fn new(inner: S, dies: impl Fn(Request<'_>) -> bool + Send + Sync + 'static) -> Self {
        Self { inner, dies: Box::new(dies) }
    }

    async fn live_for(&self, request: Request<'_>) {
        if (self.dies)(request) {
            std::future::pending::<()>().await;
        }
    }
}

impl<S: fmt::Debug> fmt::Debug for Mortal<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
impl<S: Storage> Storage for Mortal<S> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, key: &str) -> Result<Option<Stored>, StorageError> {
        self.live_for(Request::Get(key)).await;
        self.inner.get(key).await
    }

    async fn put(&self, key: &str, body: Bytes, expected: Expected<'_>) -> Result<Version, StorageError> {
        self.live_for(Request::Put(key)).await;
        self.inner.put(key, body, expected).await
    }

    async fn delete(&self, key: &str, version: &Version) -> Result<(), StorageError> {
        self.live_for(Request::Delete(key)).await;
        self.inner.delete(key, version).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Listing, StorageError> {
        self.live_for(Request::List(prefix)).await;
        self.inner.list(prefix, after, limit).await
    }

    async fn read_clock(&self) -> Result<Option<ClockReading>, StorageError> {
        self.inner.read_clock().await
    }
}

/// A store that cannot list.
#[derive(Debug)]
pub(crate) struct Unlisting<S>(pub(crate) S);

#[async_trait]
impl<S: Storage> Storage for Unlisting<S> {
    fn capabilities(&self) -> Capabilities {
        Capabilities { list: false, ..self.0.capabilities() }
    }

    async fn get(&self, key: &str) -> Result<Option<Stored>, StorageError> {
        self.0.get(key).await
    }

    async fn put(&self, key: &str, body: Bytes, expected: Expected<'_>) -> Result<Version, StorageError> {
        self.0.put(key, body, expected).await
    }

    async fn delete(&self, key: &str, version: &Version) -> Result<(), StorageError> {
        self.0.delete(key, version).await
    }

    async fn list(&self, _: &str, _: Option<&str>, _: usize) -> Result<Listing, StorageError> {
        Err(StorageError::Unsupported { operation: "list keys" })
    }

    async fn read_clock(&self) -> Result<Option<ClockReading>, StorageError> {
        self.0.read_clock().await
    }
}

/// A store that cannot delete under a condition.
#[derive(Debug)]
pub(crate) struct Undeleting<S>(pub(crate) S);

#[async_trait]
impl<S: Storage> Storage for Undeleting<S> {
    fn capabilities(&self) -> Capabilities {
        Capabilities { delete_if_version: false, ..self.0.capabilities() }
    }

    async fn get(&self, key: &str) -> Result<Option<Stored>, StorageError> {
        self.0.get(key).await
    }

    async fn put(&self, key: &str, body: Bytes, expected: Expected<'_>) -> Result<Version, StorageError> {
        self.0.put(key, body, expected).await
    }

    async fn delete(&self, _: &str, _: &Version) -> Result<(), StorageError> {
        Err(StorageError::Unsupported { operation: "delete under a condition" })
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Listing, StorageError> {
        self.0.list(prefix, after, limit).await
    }

    async fn read_clock(&self) -> Result<Option<ClockReading>, StorageError> {
        self.0.read_clock().await
    }
}
