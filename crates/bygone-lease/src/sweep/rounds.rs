//! What of the index has come, and in which order it is gone through.

use std::collections::VecDeque;

use futures_util::{StreamExt, TryStreamExt, stream};

use super::Swept;
use super::turn::Turn;
use crate::Error;
use crate::document;
use crate::index::{Catalogue, Hours};
use crate::layout::{self, Hour};
use crate::moment::Moment;
use crate::name::Namespace;
use crate::storage::Listing;
use crate::store::Shared;
use crate::txn::TxnHours;

/// A part of the index.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Transactions,
    Leases(Namespace, Hour),
    Decisions(Hour),
}

impl Place {
    pub(super) fn prefix(&self) -> String {
        match self {
            Self::Transactions => layout::TXNS.to_owned(),
            Self::Leases(namespace, hour) => layout::hour_prefix(namespace, *hour),
            Self::Decisions(hour) => layout::decision_prefix(*hour),
        }
    }
}

/// A part of the index on its way.
#[derive(Clone, Debug)]
pub(super) struct Round {
    pub(super) place: Place,
    pub(super) after: Option<String>,
    /// Whether anything was left that leads somewhere.
    pub(super) left: bool,
}

impl Shared {
    /// What has come of a part of the store, in turns. Whoever has read the hours of transactions just now need not do so
    /// again.
    pub(super) async fn due(
        &self,
        swept: Swept,
        txns: Option<&TxnHours>,
        boundary: Moment,
    ) -> Result<VecDeque<Round>, Error> {
        if !self.storage.capabilities().list {
            return Ok(VecDeque::new());
        }
        let has_come = |hour: &Hour| *hour <= Hour::of(boundary);
        let places = match swept {
            Swept::Leases => self.due_leases(boundary).await?,
            Swept::Transactions => {
                let hours = self.hours_of_txns(txns).await?;
                let is_any = hours.pending.iter().any(has_come);
                is_any.then_some(Place::Transactions).into_iter().collect()
            }
            Swept::Decisions => {
                let hours = self.hours_of_txns(txns).await?;
                hours.buckets.into_iter().filter(has_come).map(Place::Decisions).collect()
            }
        };
        Ok(places.into_iter().map(|place| Round { place, after: None, left: false }).collect())
    }

    async fn hours_of_txns(&self, known: Option<&TxnHours>) -> Result<TxnHours, Error> {
        match known {
            Some(hours) => Ok(hours.clone()),
            None => document::read(&*self.storage, layout::TXN_HOURS).await,
        }
    }

    /// One hour of each namespace, then the next of each.
    async fn due_leases(&self, boundary: Moment) -> Result<Vec<Place>, Error> {
        let storage = &*self.storage;
        let catalogue: Catalogue = document::read(storage, layout::STORE).await?;
        let mut namespaces = Vec::new();
        for name in catalogue.namespaces {
            let namespace = Namespace::new(name)?;
            let hours: Hours = document::read(storage, &layout::hours(&namespace)).await?;
            let due = hours.buckets.into_iter().filter(|hour| *hour <= Hour::of(boundary));
            namespaces.push((namespace, due.collect::<VecDeque<_>>()));
        }
        namespaces.retain(|(_, hours)| !hours.is_empty());
        if namespaces.len() > 1 {
            // Where the last sweep was cut short, others were promised that they come first now.
            let turn: Turn = document::read(storage, layout::SWEEPER).await?;
            let is_served = |namespace: &Namespace| turn.after.as_deref().is_none_or(|last| namespace.as_str() <= last);
            let first = namespaces.iter().position(|(namespace, _)| !is_served(namespace)).unwrap_or(0);
            namespaces.rotate_left(first);
        }
        let mut places = Vec::new();
        while namespaces.iter().any(|(_, hours)| !hours.is_empty()) {
            for (namespace, hours) in &mut namespaces {
                places.extend(hours.pop_front().map(|hour| Place::Leases(namespace.clone(), hour)));
            }
        }
        Ok(places)
    }

    /// Does something with every entry of a listing, in order; with several at once where they are of different keys and the
    /// store is good at that.
    pub(super) async fn at_once<T>(
        &self,
        place: &Place,
        listing: &Listing,
        each: impl Iterator<Item = impl Future<Output = Result<T, Error>> + Send>,
    ) -> Result<Vec<T>, Error> {
        let is_apart = matches!(place, Place::Leases(..)) && !listing.keys.iter().any(|l| layout::is_errand(&l.key));
        let most = if is_apart { self.storage.capabilities().requests_at_once.max(1) } else { 1 };
        // Each in a place of its own: they are large, and would be moved about.
        let boxed: Vec<_> = each.map(Box::pin).collect();
        stream::iter(boxed).buffered(most).try_collect().await
    }
}
