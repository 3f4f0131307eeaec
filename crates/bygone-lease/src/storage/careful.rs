//! Asks a store with patience, and looks before it concludes anything.
//!
//! A reply that was lost says nothing about the request. So a write is sent again with the very same body, and when it
//! then fails its condition, the key is read: a body with our own attempt in it is our own write, whoever else believes
//! to have lost a race. Only when somebody else's stands there after a lost reply is the outcome unknown: ours may have
//! been there in between.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::{Clock, ClockReading};
use bytes::Bytes;

use super::{Capabilities, Expected, Listing, Storage, StorageError, Stored, Version};
use crate::chance::{Chance, jitter};

/// How long to put up with a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// How often a request is sent before it has failed.
    pub attempts: u32,
    /// The longest pause after the first attempt; it doubles with each.
    pub first_pause: Duration,
    /// The longest pause of all.
    pub pause_max: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { attempts: 6, first_pause: Duration::from_millis(50), pause_max: Duration::from_secs(5) }
    }
}

/// A store asked with patience.
#[derive(Debug)]
pub struct Careful<S> {
    inner: S,
    clock: Arc<dyn Clock>,
    chance: Arc<dyn Chance>,
    patience: Patience,
}

impl<S: Storage> Careful<S> {
    /// Wraps a store.
    pub fn new(inner: S, clock: Arc<dyn Clock>, chance: Arc<dyn Chance>, patience: Patience) -> Self {
        Self { inner, clock, chance, patience }
    }

    async fn pause(&self, attempt: u32) {
        let patience = &self.patience;
        let longest = patience.first_pause.saturating_mul(1 << attempt.min(16)).min(patience.pause_max);
        self.clock.sleep(longest.mul_f64(jitter(&*self.chance))).await;
    }

    /// Whether a request that failed is worth another attempt; waits for its turn if it is.
    async fn may_try_again(&self, error: &StorageError, attempt: u32) -> bool {
        let again = error.passes() && attempt < self.patience.attempts;
        if again {
            self.pause(attempt).await;
        }
        again
    }
}

/// What is known of a request that was sent, perhaps several times.
#[derive(Debug, Default)]
struct Doubt {
    /// Why an attempt may have been carried out although it failed.
    reason: Option<String>,
}

impl Doubt {
    fn note(&mut self, error: &StorageError) {
        if let StorageError::Unknown { reason } = error {
            self.reason = Some(reason.clone());
        }
    }

    /// The error to end with: one that says "nothing was written" is believed only if no attempt was in doubt.
    fn end(self, error: StorageError) -> StorageError {
        match self.reason {
            Some(reason) => StorageError::Unknown { reason },
            None => error,
        }
    }
}

#[async_trait]
impl<S: Storage> Storage for Careful<S> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, key: &str) -> Result<Option<Stored>, StorageError> {
        let mut attempt = 1;
        loop {
            match self.inner.get(key).await {
                Err(error) if self.may_try_again(&error, attempt).await => attempt += 1,
                answer => return answer,
            }
        }
    }

    async fn put(&self, key: &str, body: Bytes, expected: Expected<'_>) -> Result<Version, StorageError> {
        let (mut doubt, mut attempt) = (Doubt::default(), 1);
        loop {
            let error = match self.inner.put(key, body.clone(), expected).await {
                Ok(version) => return Ok(version),
                Err(error) => error,
            };
            doubt.note(&error);
            if let StorageError::Conflict { .. } = error {
                return match self.get(key).await {
                    Ok(Some(found)) if found.body == body => Ok(found.version),
                    Ok(current) => Err(doubt.end(StorageError::Conflict { current: current.map(Box::new) })),
                    // Something between us and the store may have sent it twice without telling.
                    Err(error) => Err(StorageError::Unknown { reason: error.to_string() }),
                };
            }
            if !self.may_try_again(&error, attempt).await {
                return Err(doubt.end(error));
            }
            attempt += 1;
        }
    }

    async fn delete(&self, key: &str, version: &Version) -> Result<(), StorageError> {
        let (mut doubt, mut attempt) = (Doubt::default(), 1);
        loop {
            let error = match self.inner.delete(key, version).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            doubt.note(&error);
            if let StorageError::Conflict { .. } = error {
                if doubt.reason.is_none() {
                    return Err(error);
                }
                return match self.get(key).await {
                    // After a lost reply the key is gone one way or the other, and that is what was asked for.
                    Ok(None) => Ok(()),
                    // Somebody has it: whoever asks for the end of it must not take this for one.
                    Ok(Some(found)) => Err(StorageError::Conflict { current: Some(Box::new(found)) }),
                    Err(_) => Err(doubt.end(error)),
                };
            }
            if !self.may_try_again(&error, attempt).await {
                return Err(doubt.end(error));
            }
            attempt += 1;
        }
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Listing, StorageError> {
        let mut attempt = 1;
        loop {
            match self.inner.list(prefix, after, limit).await {
                Err(error) if self.may_try_again(&error, attempt).await => attempt += 1,
                answer => return answer,
            }
        }
    }

    async fn read_clock(&self) -> Result<Option<ClockReading>, StorageError> {
        self.inner.read_clock().await
    }
}
