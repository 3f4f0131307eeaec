//! The janitor: state that nobody changes does not stay for ever, where a retention says so.
//!
//! What is past its retention is found by the index, as everything else is. State is written under a lease, so every key
//! with state had an entry once; the sweeper that follows it enters the key in the hour of its retention instead. Keys from
//! before there was a retention are entered once, namespace by namespace.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Boundary, Budget, Consent, Job, Observer, Report, Sweep};
use tokio_util::sync::CancellationToken;

use super::look::key_of;
use super::{LeaseTarget, Swept};
use crate::Error;
use crate::document;
use crate::index::Catalogue;
use crate::layout;
use crate::moment::Moment;
use crate::name::Namespace;
use crate::record::Record;
use crate::store::{LeaseStore, Shared, Step};

/// How often it comes, at most and at least.
const EVERY: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(3600));
/// Keys listed at once.
const LISTING_KEYS: usize = 1_000;
/// Entries that a run follows.
const ITEMS_MAX: u64 = 10_000;
/// How long a run may take.
const RUN_TIME: Duration = Duration::from_secs(30);

/// Removes what is past the retention of a store, whether that is in use or not.
#[derive(Debug)]
pub struct Janitor {
    store: LeaseStore,
    every: Duration,
}

impl Janitor {
    /// A janitor of this store, who comes at this interval, or by half of the retention. `None` without a retention.
    pub fn new(store: &LeaseStore, every: Option<Duration>) -> Option<Self> {
        let retention = store.shared.options.retention?;
        Some(Self { store: store.clone(), every: every.unwrap_or_else(|| Self::every(retention)) })
    }

    /// How often a janitor comes: by half of the retention, but not more than once a minute, and at least every hour.
    pub fn every(retention: Duration) -> Duration {
        (retention / 2).clamp(EVERY.0, EVERY.1)
    }

    /// Comes again and again, until told to stop. What fails is told to the log, and tried again.
    pub async fn run(&self, observer: Arc<dyn Observer>, stop: CancellationToken) {
        while self.store.shared.rest(self.every, &stop).await {
            if let Err(error) = self.look(Arc::clone(&observer), stop.clone()).await {
                tracing::warn!(%error, "what is past its retention is left for the next time");
            }
        }
    }

    /// Comes once.
    pub async fn look(&self, observer: Arc<dyn Observer>, stop: CancellationToken) -> Result<Report, Error> {
        let shared = &self.store.shared;
        shared.enrol(&stop).await?;
        let target = LeaseTarget::new(Swept::Leases, "retention", "janitor", &self.store);
        let budget = Budget { items: Some(ITEMS_MAX), run_time: Some(RUN_TIME), ..Budget::default() };
        let job = Job::new(Box::new(target), budget).with_consent(Consent::Released);
        let sweep = Sweep::new(Arc::clone(&shared.clock), Boundary::at(shared.clock.now()));
        Ok(sweep.observed_by(observer).cancelled_by(stop).run(vec![job]).await)
    }
}

impl Shared {
    /// Enters every key that has state into the index, once in the life of each namespace.
    async fn enrol(&self, stop: &CancellationToken) -> Result<(), Error> {
        let catalogue: Catalogue = document::read(&*self.storage, layout::STORE).await?;
        for name in catalogue.namespaces.difference(&catalogue.enrolled) {
            if !self.enrol_namespace(&Namespace::new(name.as_str())?, stop).await? {
                return Ok(());
            }
            let enrolled = |catalogue: &mut Catalogue| catalogue.enrolled.insert(name.clone());
            document::amend(&*self.storage, &self.ids, layout::STORE, enrolled).await?;
        }
        Ok(())
    }

    /// False if it was stopped on the way.
    async fn enrol_namespace(&self, namespace: &Namespace, stop: &CancellationToken) -> Result<bool, Error> {
        let prefix = layout::records(namespace);
        let mut after: Option<String> = None;
        loop {
            let listing = self.storage.list(&prefix, after.as_deref(), LISTING_KEYS).await?;
            for key in listing.keys.iter().filter_map(key_of) {
                if stop.is_cancelled() {
                    return Ok(false);
                }
                // Whatever has an entry already is looked at when that has come.
                let enter = |shared: &Self, record: Option<&Record>, _: Moment| {
                    let found = record.filter(|record| record.indexed.is_none());
                    let due = found.and_then(|record| Some((record, shared.retired_at(record)?)));
                    Ok(due.map_or(Step::Answer(()), |(record, look_by)| Step::Swap {
                        record: Box::new(record.clone()),
                        look_by: Some(look_by),
                        answer: (),
                    }))
                };
                match self.change(namespace, &key, enter).await {
                    // It is left as it is.
                    Ok(()) | Err(Error::Unreadable { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            after = listing.keys.last().map(|listed| listed.key.clone());
            if !listing.more || after.is_none() {
                return Ok(true);
            }
        }
    }
}
