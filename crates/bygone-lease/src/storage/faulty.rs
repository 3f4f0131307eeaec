//! A store that fails as stores do: before the request, after it, or by asking for patience. And one that takes its time.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::{Clock, ClockReading};
use bytes::Bytes;

use super::{Capabilities, Expected, Listing, Storage, StorageError, Stored, Version};

/// What a store is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Request<'a> {
    /// A read of this key.
    Get(&'a str),
    /// A write of this key.
    Put(&'a str),
    /// A delete of this key.
    Delete(&'a str),
    /// A listing of this prefix.
    List(&'a str),
}

/// How a request goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// Well.
    #[default]
    None,
    /// The store asks for patience and does nothing.
    Throttled,
    /// The request never arrives, and nobody can tell.
    LostRequest,
    /// It is carried out, and the reply never arrives.
    LostReply,
}

/// How each request goes, decided anew for every one.
pub trait Script: Send + Sync {
    /// How this one goes, and how long it takes on its way there and on its way back.
    fn next(&self, request: Request<'_>) -> (Fault, Duration, Duration);
}

impl<F: Fn(Request<'_>) -> Fault + Send + Sync> Script for F {
    fn next(&self, request: Request<'_>) -> (Fault, Duration, Duration) {
        (self(request), Duration::ZERO, Duration::ZERO)
    }
}

/// A store that fails by a script.
pub struct Faulty<S> {
    inner: S,
    clock: Arc<dyn Clock>,
    script: Box<dyn Script>,
}

impl<S: fmt::Debug> fmt::Debug for Faulty<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<S: Storage> Faulty<S> {
    /// Wraps a store.
    pub fn new(inner: S, clock: Arc<dyn Clock>, script: impl Script + 'static) -> Self {
        Self { inner, clock, script: Box::new(script) }
    }

    /// Sends a request through the weather.
    async fn send<T, F>(&self, request: Request<'_>, carry_out: impl FnOnce() -> F + Send) -> Result<T, StorageError>
    where
        T: Send,
        F: Future<Output = Result<T, StorageError>> + Send,
    {
        let (fault, there, back) = self.script.next(request);
        if !there.is_zero() {
            self.clock.sleep(there).await;
        }
        let reads = matches!(request, Request::Get(_) | Request::List(_));
        let lost = |reason: &str| {
            let reason = reason.to_owned();
            if reads { StorageError::Unavailable { reason } } else { StorageError::Unknown { reason } }
        };
        let answer = match fault {
            Fault::None => carry_out().await,
            Fault::Throttled => Err(StorageError::Throttled),
            Fault::LostRequest => Err(lost("the request was lost")),
            Fault::LostReply => {
                let _ = carry_out().await;
                Err(lost("the reply was lost"))
            }
        };
        if !back.is_zero() {
            self.clock.sleep(back).await;
        }
        answer
    }
}

#[async_trait]
impl<S: Storage> Storage for Faulty<S> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, key: &str) -> Result<Option<Stored>, StorageError> {
        self.send(Request::Get(key), || self.inner.get(key)).await
    }

    async fn put(&self, key: &str, body: Bytes, expected: Expected<'_>) -> Result<Version, StorageError> {
        self.send(Request::Put(key), || self.inner.put(key, body, expected)).await
    }

    async fn delete(&self, key: &str, version: &Version) -> Result<(), StorageError> {
        self.send(Request::Delete(key), || self.inner.delete(key, version)).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Listing, StorageError> {
        self.send(Request::List(prefix), || self.inner.list(prefix, after, limit)).await
    }

    async fn read_clock(&self) -> Result<Option<ClockReading>, StorageError> {
        self.inner.read_clock().await
    }
}
