//! What a sweep would do, told without doing it.
//!
//! Whoever says that so many items are bygone is held to it: a sweep by a saved plan stops at its number. So an entry is
//! judged as the sweep would find it, once the transactions have been ended: those come first. What nobody can tell is what
//! others do until then, nor, in a few cases, which of two entries that lead to the same thing does it.

use std::collections::{BTreeSet, VecDeque};

use super::look::Outlook;
use super::rounds::{Place, Round};
use crate::Error;
use crate::layout;
use crate::moment::Moment;
use crate::name::{Key, Namespace};
use crate::queue::Message;
use crate::record::Record;
use crate::storage::Listed;
use crate::store::Shared;
use crate::txn::{Decision, Participant, Standing};

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

/// The record of a key, as a sweep would find it.
#[derive(Debug)]
pub(super) struct Foreseen {
    /// When transactions have been ended, and its own entry has not been followed yet.
    pub(super) record: Record,
    /// Where its transaction is none of those, since nothing leads to it any more: what is made of it then.
    pub(super) settled: Option<Record>,
}

impl Foreseen {
    /// The record that whoever follows the entry of the key decides by.
    pub(super) fn shown(&self) -> &Record {
        self.settled.as_ref().unwrap_or(&self.record)
    }
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

    /// A record as it will be when transactions have been ended. Two requests where one has a hand in it.
    pub(super) async fn foresee_record(
        &self,
        (namespace, key): (&Namespace, &Key),
        record: Record,
        boundary: Moment,
    ) -> Result<Foreseen, Error> {
        let Some(txn) = record.txn() else { return Ok(Foreseen { record, settled: None }) };
        let (decision, is_ended_first) = match self.standing(txn, boundary).await? {
            Standing::Pending => return Ok(Foreseen { record, settled: None }),
            Standing::Lapsed(lapsed) => (Decision::undoing(txn, lapsed.participants, boundary), true),
            Standing::Decided(decision, left) => (decision, left.is_some()),
            Standing::Forgotten => (Decision::undoing(txn, BTreeSet::new(), boundary), false),
        };
        let resolved = record.resolved(&decision, &Participant::key(namespace, key), boundary);
        Ok(match resolved {
            Some(resolved) if is_ended_first => {
                Foreseen { record: Record { touched_at: boundary, ..resolved }, settled: None }
            }
            settled => Foreseen { record, settled },
        })
    }

    /// A message as it will be when transactions have been ended: `None` if it is gone then. Two requests where one has a
    /// hand in it.
    pub(super) async fn foresee_message(
        &self,
        participant: &Participant,
        message: Message,
        boundary: Moment,
    ) -> Result<Option<Message>, Error> {
        let Some(txn) = message.txn else { return Ok(Some(message)) };
        let promotes = match self.standing(txn, boundary).await? {
            Standing::Lapsed(_) => false,
            Standing::Decided(decision, Some(_)) => decision.promotes(participant),
            Standing::Pending | Standing::Decided(_, None) | Standing::Forgotten => return Ok(Some(message)),
        };
        Ok(promotes.then_some(Message { txn: None, ..message }))
    }
}
