//! A bucket that policies can be bound to.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Clock, ClockReading, TargetError};
use bygone_objects::{Access, BucketUrl, Environment, plain_transport};
use opendal::HttpTransporter;

use super::PrefixError;
use super::store::Store;
use super::wire::Wire;

/// How long to put up with a store.
#[derive(Clone, Debug)]
pub struct Patience {
    /// How often a request is sent before it has failed.
    pub attempts: u32,
    /// How long one attempt may take.
    pub request_time: Duration,
    /// The longest pause after the first attempt; it doubles with each.
    pub first_pause: Duration,
    /// The longest pause of all.
    pub pause_max: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            attempts: 6,
            request_time: Duration::from_secs(30),
            first_pause: Duration::from_millis(100),
            pause_max: Duration::from_secs(5),
        }
    }
}

/// A bucket, ready to be spoken to. Opening it contacts nobody.
#[derive(Clone, Debug)]
pub struct Bucket {
    access: Access,
    clock: Arc<dyn Clock>,
    patience: Patience,
}

impl Bucket {
    /// Opens a bucket with the credentials of an environment.
    pub fn open(url: BucketUrl, environment: Environment, clock: Arc<dyn Clock>) -> Result<Self, PrefixError> {
        Ok(Self { access: Access::new(url, environment)?, clock, patience: Patience::default() })
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// Its URL.
    pub fn url(&self) -> &BucketUrl {
        self.access.url()
    }

    /// The store's clock, by the `Date` of its answer to one small request. It has whole seconds, cut off: the reading is
    /// never later than the store's true time.
    pub async fn read_clock(&self) -> Result<ClockReading, TargetError> {
        self.store("")?.read_clock().await
    }

    /// A way of its own to the objects below `prefix`, which is below that of the URL.
    pub(super) fn store(&self, prefix: &str) -> Result<Store, PrefixError> {
        let url = self.url();
        let wire = Wire::new(plain_transport(), Arc::clone(&self.clock), url.scheme(), self.patience.clone());
        let operator = self.access.operator(prefix, HttpTransporter::new(wire.clone()))?;
        let place = format!("{}{prefix}", url.prefix());
        Ok(Store::new(operator, wire, url.clone(), place, Arc::clone(&self.clock)))
    }
}
