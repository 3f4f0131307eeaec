//! The leases of a store, as the engine sweeps them.

use std::collections::VecDeque;
use std::sync::Arc;

use async_trait::async_trait;
use bygone_core::{Boundary, Care, Cursor, ErrorKind, Page, PageRequest, Survey, Target, TargetError};
use jiff::SignedDuration;

use crate::Error;
use crate::document;
use crate::layout::{self, Hour};
use crate::moment::Moment;
use crate::name::Namespace;
use crate::planted::{self, Bug};
use crate::storage::{Listed, Listing, StorageError};
use crate::store::LeaseStore;
use crate::sweep::HOUR_MARGIN;
use crate::sweep::gate::Gate;
use crate::sweep::look::{Kept, Looked, Removed};
use crate::sweep::rounds::{Place, Round};
use crate::txn::TxnHours;

/// The most entries of a page.
const LISTING_KEYS: usize = 1_000;

/// What of a store is swept. In this order: leases end by the decisions of transactions, and those are needed until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swept {
    /// Transactions that are past their time, or decided and not done everywhere.
    Transactions,
    /// Leases that are over, and the records of keys in which nothing is left.
    Leases,
    /// Decisions of transactions that nobody can ask for any more.
    Decisions,
}

/// A part of a store, bound to the engine.
///
/// Its items are the entries of the index in the hours that have come. A page takes entries of one hour of one namespace,
/// in one listing; namespaces take turns, so that one with much to do keeps none of the others waiting.
#[derive(Debug)]
pub struct LeaseTarget {
    swept: Swept,
    policy: String,
    source: String,
    store: LeaseStore,
    /// The hours that are still to be gone through, as the survey found them: the next is at the front.
    rounds: Option<VecDeque<Round>>,
    /// Whether the pages so far left something that is past its time.
    left: bool,
    pages: u64,
    /// What the last page did.
    counts: Counts,
    /// The namespace of the last page.
    last: Option<Namespace>,
    /// Where it is swept beside nobody, what says whether to go on.
    gate: Option<Arc<Gate>>,
}

/// What the seed's metrics count.
#[derive(Debug, Default)]
struct Counts {
    leases_cleared: u64,
    markers_deleted: u64,
    index_entries_deleted: u64,
    messages_deleted: u64,
}

impl Counts {
    fn add(&mut self, looked: Looked, place: &Place) {
        // The transactions' own records are no entries of an index.
        let is_entry = looked.entry_removed && !matches!(place, Place::Transactions);
        self.leases_cleared += u64::from(looked.lease_cleared);
        self.markers_deleted += u64::from(looked.removed == Some(Removed::Decision));
        self.index_entries_deleted += u64::from(is_entry);
        self.messages_deleted += u64::from(looked.removed == Some(Removed::Message));
    }
}

impl LeaseTarget {
    /// Binds a part of a store.
    pub fn new(swept: Swept, policy: impl Into<String>, source: impl Into<String>, store: &LeaseStore) -> Self {
        let (policy, source, store) = (policy.into(), source.into(), store.clone());
        let (rounds, counts) = (None, Counts::default());
        Self { swept, policy, source, store, rounds, left: false, pages: 0, counts, last: None, gate: None }
    }

    /// Puts it behind a gate. False if nothing has come.
    pub(super) async fn gate(&mut self, gate: &Arc<Gate>, txns: &TxnHours, boundary: Moment) -> Result<bool, Error> {
        let rounds = self.store.shared.due(self.swept, Some(txns), boundary).await?;
        let is_any = !rounds.is_empty();
        (self.rounds, self.gate) = (Some(rounds), Some(Arc::clone(gate)));
        Ok(is_any)
    }

    async fn look(&self, place: &Place, listed: &Listed, boundary: Moment) -> Result<Looked, Error> {
        let shared = &self.store.shared;
        match place {
            Place::Transactions => shared.end_txn(listed, boundary).await,
            Place::Leases(namespace, _) if layout::is_errand(&listed.key) => {
                shared.run_errand(namespace, listed, boundary).await
            }
            Place::Leases(namespace, hour) => shared.look(namespace, *hour, listed, boundary).await,
            Place::Decisions(hour) => shared.forget_decision(listed, *hour, boundary).await,
        }
    }

    /// Follows the entries of a listing as its gate lets it pass, and none behind that.
    async fn one_by_one(
        &self,
        gate: &Gate,
        place: &Place,
        listing: &Listing,
        boundary: Moment,
    ) -> Result<Vec<Looked>, Error> {
        let mut all_looked = Vec::new();
        for listed in &listing.keys {
            if !gate.pass().await {
                break;
            }
            let looked = self.look(place, listed, boundary).await?;
            gate.spend(looked.requests);
            all_looked.push(looked);
        }
        Ok(all_looked)
    }

    async fn sweep_page(&mut self, boundary: Moment, limit: u64, care: Care) -> Result<Page, Error> {
        let mut page = Page::default();
        // It leaves the queue when the page is done: after a failure the same page is asked for again.
        let Some(mut round) = self.rounds.as_ref().and_then(VecDeque::front).cloned() else { return Ok(page) };
        let shared = Arc::clone(&self.store.shared);
        let prefix = round.place.prefix();
        let limit = usize::try_from(limit).unwrap_or(usize::MAX).clamp(1, LISTING_KEYS);
        let limit = if care == Care::KeepBack { 1 } else { limit };
        let listing = shared.storage.list(&prefix, round.after.as_deref(), limit).await?;
        page.requests += 1;
        let all_looked = if care == Care::KeepBack {
            listing.keys.iter().map(|_| Looked::default().conflict()).collect()
        } else if let Some(gate) = &self.gate {
            self.one_by_one(gate, &round.place, &listing, boundary).await?
        } else {
            let looks = listing.keys.iter().map(|listed| self.look(&round.place, listed, boundary));
            shared.at_once(&round.place, &listing, looks).await?
        };
        let is_stopped = all_looked.len() < listing.keys.len();
        for (listed, looked) in listing.keys.iter().zip(all_looked) {
            page.requests += looked.requests;
            page.tally.removed += u64::from(looked.did_something());
            self.counts.add(looked, &round.place);
            // What cannot be read was counted by the survey; what lives is none of the policy's items.
            page.tally.kept_back.conflict += u64::from(looked.kept == Some(Kept::Conflict));
            round.left |= !looked.entry_removed || looked.kept.is_some();
            self.left |= looked.kept.is_some();
            round.after = Some(listed.key.clone());
        }
        page.tally.examined = page.tally.removed + page.tally.kept_back.conflict;
        let goes_on = is_stopped || (listing.more && !listing.keys.is_empty());
        if let Place::Leases(namespace, _) = &round.place {
            self.last = Some(namespace.clone());
        }
        if !goes_on && !round.left {
            page.requests += self.drop_hour(&round.place, boundary).await?;
        }
        let rounds = self.rounds.get_or_insert_default();
        rounds.pop_front();
        if goes_on {
            // At the end of the queue: the other namespaces come first.
            rounds.push_back(round);
        }
        self.pages += 1;
        page.next = (!rounds.is_empty()).then(|| Cursor::new(self.pages.to_string()));
        Ok(page)
    }

    /// What the store cannot do, and what is left out for it.
    fn lacks(&self) -> Vec<String> {
        let capabilities = self.store.shared.storage.capabilities();
        let mut lacks = Vec::new();
        if !capabilities.list {
            lacks.push(
                "the store cannot list keys: nothing is swept, and what is over is cleared when it is used".into(),
            );
        }
        if !capabilities.delete_if_version {
            lacks.push(
                "the store does not keep the conditions of deletes: leases are cleared, but entries stay, and a lease that \
                 several lead to is counted with each"
                    .into(),
            );
        }
        lacks
    }

    /// Takes what is long over off its list, once a listing shows that nothing is in it.
    async fn drop_hour(&self, place: &Place, boundary: Moment) -> Result<u64, Error> {
        let is_over =
            |hour: Hour| planted::is(Bug::HourDroppedEarly) || hour.end().plus(HOUR_MARGIN).has_passed(boundary);
        let shared = &self.store.shared;
        match place {
            Place::Leases(_, hour) | Place::Decisions(hour) if !is_over(*hour) => Ok(0),
            Place::Leases(namespace, hour) => shared.close_hour(namespace, *hour).await,
            Place::Decisions(hour) => self.drop_txn_hours(place, |hours| hours.buckets.remove(hour)).await,
            Place::Transactions => {
                let drop = |hours: &mut TxnHours| {
                    let before = hours.pending.len();
                    hours.pending.retain(|hour| !is_over(*hour));
                    hours.pending.len() < before
                };
                self.drop_txn_hours(place, drop).await
            }
        }
    }

    async fn drop_txn_hours(&self, place: &Place, drop: impl FnMut(&mut TxnHours) -> bool) -> Result<u64, Error> {
        let shared = &self.store.shared;
        if !shared.storage.list(&place.prefix(), None, 1).await?.keys.is_empty() {
            return Ok(1);
        }
        shared.keep_txn_hours(document::amend(&*shared.storage, &shared.ids, layout::TXN_HOURS, drop).await?);
        Ok(3)
    }
}

fn failure(error: Error) -> TargetError {
    let kind = match &error {
        Error::Throttled | Error::Contended { .. } => ErrorKind::Busy,
        Error::OutcomeUnknown { .. } | Error::Storage(StorageError::Unavailable { .. }) => ErrorKind::Lost,
        Error::Storage(StorageError::Unsupported { .. }) => ErrorKind::Unfit,
        _ => ErrorKind::Failed,
    };
    TargetError::new(kind, error.to_string()).with_source(error)
}

#[async_trait]
impl Target for LeaseTarget {
    fn policy(&self) -> &str {
        &self.policy
    }

    fn source(&self) -> &str {
        &self.source
    }

    fn page_items_max(&self) -> u64 {
        1_000
    }

    async fn survey(&mut self, boundary: Boundary) -> Result<Survey, TargetError> {
        let boundary = Moment::from(boundary.instant());
        if self.gate.is_some() {
            return Ok(Survey { warnings: self.lacks(), ..Survey::default() });
        }
        let rounds = self.store.shared.due(self.swept, None, boundary).await.map_err(failure)?;
        let census = self.store.shared.census(&rounds, boundary).await.map_err(failure)?;
        (self.rounds, self.left) = (Some(rounds), false);
        Ok(Survey {
            bygone: Some(census.bygone),
            unreadable: census.unreadable,
            oldest: census.oldest.and_then(Moment::timestamp),
            requests: census.requests,
            warnings: self.lacks(),
            ..Survey::default()
        })
    }

    /// The index knows only what has a deadline: what it holds beyond that nobody counts.
    async fn holds_at_least(&mut self, _items: u64) -> Result<bool, TargetError> {
        Ok(false)
    }

    async fn page(&mut self, request: PageRequest<'_>) -> Result<Page, TargetError> {
        let boundary = Moment::from(request.boundary.instant());
        if self.rounds.is_none() {
            self.rounds = Some(self.store.shared.due(self.swept, None, boundary).await.map_err(failure)?);
        }
        self.sweep_page(boundary, request.limit, request.care).await.map_err(failure)
    }

    /// A store has written what it has answered. What is left is where the next sweep begins.
    async fn settle(&mut self) -> Result<(), TargetError> {
        let is_cut_short = self.rounds.as_ref().is_some_and(|rounds| !rounds.is_empty());
        match self.last.as_ref().filter(|_| is_cut_short) {
            Some(last) => self.store.shared.remember_namespace(last.as_str()).await.map_err(failure),
            None => Ok(()),
        }
    }

    fn counted(&mut self) -> Vec<(&'static str, u64)> {
        let counts = std::mem::take(&mut self.counts);
        let all = [
            ("leases_cleared", counts.leases_cleared),
            ("markers_deleted", counts.markers_deleted),
            ("index_entries_deleted", counts.index_entries_deleted),
            ("messages_deleted", counts.messages_deleted),
        ];
        all.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    async fn lag(&mut self, boundary: Boundary) -> Result<Option<SignedDuration>, TargetError> {
        // Where every hour was gone through and nothing was left, nobody has to look again.
        let is_through = !self.left && self.rounds.as_ref().is_some_and(VecDeque::is_empty);
        // Behind a gate nobody does more than he may.
        if is_through || self.gate.is_some() {
            return Ok(None);
        }
        let now = Moment::from(boundary.instant());
        let rounds = self.store.shared.due(self.swept, None, now).await.map_err(failure)?;
        let oldest = self.store.shared.census(&rounds, now).await.map_err(failure)?.oldest.and_then(Moment::timestamp);
        Ok(oldest.map(|oldest| boundary.instant().duration_since(oldest)))
    }
}
