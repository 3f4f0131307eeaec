//! What a store holds, told to people: which leases live, which are over and not yet swept, and when the others end.
//!
//! The index leads there, hour by hour, as it leads the sweeper; the records are never listed, and so many entries are
//! followed and no more. It is no operation on the store: looking at it keeps nobody from sweeping it.

use std::collections::{BTreeMap, VecDeque};

use futures_util::{StreamExt, TryStreamExt, stream};

use crate::Error;
use crate::document;
use crate::index::{Catalogue, Hours};
use crate::layout::{self, Hour};
use crate::moment::Moment;
use crate::name::Namespace;
use crate::record::LeaseRecord;
use crate::storage::{Listed, StorageError};
use crate::store::{LeaseStore, Shared};
use crate::sweep::key_of;

/// How far a look goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LookBounds {
    /// The most namespaces; each takes a request.
    pub namespaces_max: usize,
    /// The most listings, one for each hour of a namespace.
    pub listings_max: usize,
    /// The most entries in all; each takes a request.
    pub entries_max: usize,
}

impl Default for LookBounds {
    fn default() -> Self {
        Self { namespaces_max: 100, listings_max: 200, entries_max: 1_000 }
    }
}

/// What was found, by what the index tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// By namespace, in the order of their names.
    pub namespaces: Vec<NamespaceHoldings>,
    /// Whether there are further namespaces.
    pub more: bool,
    /// The leases that live, by the hour in which they end: when it begins, and what ends within it.
    pub ending: BTreeMap<Moment, Ending>,
}

/// The leases of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceHoldings {
    /// Its name.
    pub namespace: Namespace,
    /// Leases that live.
    pub live: u64,
    /// Leases that are over, and not yet swept.
    pub expired: u64,
    /// Whether something was left out, so that there may be more.
    pub more: bool,
}

/// What ends within an hour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// Leases, unless they are extended.
    pub leases: u64,
    /// Whether something was left out, so that there may be more.
    pub more: bool,
}

/// What of the bounds is left.
struct Left {
    listings: usize,
    entries: usize,
}

impl LeaseStore {
    /// Looks at what the store holds. Writes nothing, and is no use of the store.
    pub async fn holdings(&self, bounds: LookBounds) -> Result<Holdings, Error> {
        let shared = &*self.shared;
        if !shared.storage.capabilities().list {
            return Err(StorageError::Unsupported { operation: "list" }.into());
        }
        let now = shared.now();
        let catalogue: Catalogue = document::read(&*shared.storage, layout::STORE).await?;
        let mut holdings = Holdings { more: catalogue.namespaces.len() > bounds.namespaces_max, ..Holdings::default() };
        let mut hours = Vec::new();
        for name in catalogue.namespaces.into_iter().take(bounds.namespaces_max) {
            let namespace = Namespace::new(name)?;
            let listed: Hours = document::read(&*shared.storage, &layout::hours(&namespace)).await?;
            hours.push(listed.buckets.into_iter().collect::<VecDeque<_>>());
            holdings.namespaces.push(NamespaceHoldings { namespace, live: 0, expired: 0, more: false });
        }
        let mut left = Left { listings: bounds.listings_max, entries: bounds.entries_max };
        // One hour of each namespace, then the next of each: a large one leaves something to the others.
        while hours.iter().any(|hours| !hours.is_empty()) {
            for (at, hours) in hours.iter_mut().enumerate() {
                if let Some(hour) = hours.pop_front() {
                    shared.look_into(&mut holdings, at, hour, now, &mut left).await?;
                }
            }
        }
        Ok(holdings)
    }
}

impl Shared {
    /// Adds what an hour of a namespace leads to, as far as the bounds allow.
    async fn look_into(
        &self,
        holdings: &mut Holdings,
        at: usize,
        hour: Hour,
        now: Moment,
        left: &mut Left,
    ) -> Result<(), Error> {
        let Holdings { namespaces, ending, .. } = holdings;
        let found = &mut namespaces[at];
        let hour_of = |moment: Moment| Hour::of(moment.max(now)).begin();
        let mut is_cut_off = left.listings == 0 || left.entries == 0;
        if !is_cut_off {
            // A part of what is left: one hour of one namespace is not to take it all.
            let limit = left.entries.div_ceil(2);
            let listing = self.storage.list(&layout::hour_prefix(&found.namespace, hour), None, limit).await?;
            is_cut_off = listing.more;
            left.listings -= 1;
            left.entries -= listing.keys.len();
            for lease in self.leases_at(&found.namespace, hour, &listing.keys).await? {
                if self.is_over(&lease, now) {
                    found.expired += 1;
                } else {
                    found.live += 1;
                    ending.entry(hour_of(lease.expires_at)).or_default().leases += 1;
                }
            }
        }
        if is_cut_off {
            found.more = true;
            // What is left of an hour that is past is over, and no longer ends.
            if hour >= Hour::of(now) {
                ending.entry(hour.begin()).or_default().more = true;
            }
        }
        Ok(())
    }

    /// The leases that entries of an hour lead to. A key may have entries in several hours: the one that its record names is
    /// the one that counts. What cannot be read is for a sweep to tell of.
    async fn leases_at(&self, namespace: &Namespace, hour: Hour, listed: &[Listed]) -> Result<Vec<LeaseRecord>, Error> {
        let keys = listed.iter().filter(|listed| !layout::is_errand(&listed.key)).filter_map(key_of);
        let each = keys.map(async |key| match self.peek(&layout::record(namespace, &key)).await {
            Ok(seen) => {
                let record = seen.map(|seen| seen.record).filter(|record| record.indexed == Some(hour));
                Ok(record.and_then(|record| record.lease))
            }
            Err(Error::Unreadable { .. }) => Ok(None),
            Err(error) => Err(error),
        });
        let most = self.storage.capabilities().requests_at_once.max(1);
        // Each in a place of its own: they are large, and would be moved about.
        let boxed: Vec<_> = each.map(Box::pin).collect();
        let found: Vec<Option<LeaseRecord>> = stream::iter(boxed).buffered(most).try_collect().await?;
        Ok(found.into_iter().flatten().collect())
    }
}
