//! What a sweep would do, told without doing it.

use std::collections::VecDeque;

use super::look::Outlook;
use super::rounds::{Place, Round};
use crate::Error;
use crate::layout;
use crate::moment::Moment;
use crate::storage::Listed;
use crate::store::Shared;

/// Entries listed by one request.
const LISTING_KEYS: usize = 1_000;

/// What a sweep would find.
#[derive(Debug, Default)]
pub(super) struct Census {
    pub(super) bygone: u64,
    pub(super) unreadable: u64,
    pub(super) oldest: Option<Moment>,
    pub(super) requests: u64,
}

impl Shared {
    /// Foresees what a sweep would do.
    pub(super) async fn census(&self, rounds: &VecDeque<Round>, boundary: Moment) -> Result<Census, Error> {
        let mut census = Census::default();
        for round in rounds {
            let prefix = round.place.prefix();
            let mut after: Option<String> = None;
            loop {
                let listing = self.storage.list(&prefix, after.as_deref(), LISTING_KEYS).await?;
                census.requests += 1;
                let foreseen = listing.keys.iter().map(|listed| self.foresee_at(&round.place, listed, boundary));
                for outlook in self.at_once(&round.place, &listing, foreseen).await? {
                    census.requests += 1;
                    match outlook {
                        Outlook::Stays => {}
                        Outlook::Unreadable => census.unreadable += 1,
                        Outlook::Bygone(deadline) => {
                            census.bygone += 1;
                            census.oldest = [census.oldest, deadline].into_iter().flatten().min();
                        }
                    }
                }
                after = listing.keys.last().map(|listed| listed.key.clone());
                if !listing.more || after.is_none() {
                    break;
                }
            }
        }
        Ok(census)
    }

    async fn foresee_at(&self, place: &Place, listed: &Listed, boundary: Moment) -> Result<Outlook, Error> {
        match place {
            Place::Transactions => self.foresee_txn(listed, boundary).await,
            Place::Leases(namespace, _) if layout::is_errand(&listed.key) => {
                self.foresee_errand(namespace, listed, boundary).await
            }
            Place::Leases(namespace, hour) => self.foresee(namespace, *hour, listed, boundary).await,
            Place::Decisions(hour) => self.foresee_decision(listed, *hour, boundary).await,
        }
    }
}
