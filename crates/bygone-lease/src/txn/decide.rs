//! Enlisting keys, deciding, and doing what was decided.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{Decision, Participant, TxnRecord, TxnSeen, Verdict};
use crate::Error;
use crate::document;
use crate::layout::{self, Hour};
use crate::lease::{Acquire, Lease};
use crate::moment::Moment;
use crate::queue::Queue;
use crate::record::Record;
use crate::state::{Change, IfVersion};
use crate::storage::{Expected, StorageError, Stored};
use crate::store::{Shared, Step};

/// How often others may come first.
const CONFLICTS_MAX: u32 = 64;

/// What is known of a transaction that somebody meets.
#[derive(Debug)]
pub(crate) enum Outlook {
    /// It is under way.
    Pending,
    /// It is over.
    Over(Decision),
}

/// A transaction as the store has it.
#[derive(Debug)]
pub(crate) enum Standing {
    /// It is under way.
    Pending,
    /// It is past its time, and nobody has decided it: it will be undone.
    Lapsed(TxnRecord),
    /// It is decided. As long as it has a record, that may not be done everywhere.
    Decided(Decision, Option<TxnRecord>),
    /// It never was, or is long over.
    Forgotten,
}

/// The hours in which transactions began that may not be over, and those in which decisions are to be forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TxnHours {
    #[serde(default)]
    pub(crate) pending: BTreeSet<Hour>,
    #[serde(default)]
    pub(crate) buckets: BTreeSet<Hour>,
}

impl Shared {
    /// Names a key as a participant, and then takes its lease in the transaction, with a change staged where there is one.
    pub(crate) async fn enlist(
        &self,
        acquire: &Acquire,
        ttl: Duration,
        change: Option<(Change, IfVersion)>,
    ) -> Result<Lease, Error> {
        let id = acquire.txn.ok_or(Error::LeaseRequired)?.0;
        let participant = Participant::key(&acquire.namespace, &acquire.key);
        self.join(id, Some(&participant), self.now().plus(ttl)).await?;
        let lease = self.try_acquire(acquire, ttl, change.as_ref()).await?;
        self.txns.note_prepared(id, participant);
        Ok(lease)
    }

    /// Makes a transaction last until then at least, with this participant in it.
    pub(crate) async fn join(&self, id: Uuid, participant: Option<&Participant>, until: Moment) -> Result<(), Error> {
        let path = layout::txn(id);
        let mut seen = self.txn(id).await?;
        for _ in 0..CONFLICTS_MAX {
            let (mut record, version) = match &seen {
                TxnSeen::New { expires_at } => {
                    self.list_hours(|hours| hours.pending.insert(Hour::of(begun_at(id)))).await?;
                    let (expires_at, participants) = (*expires_at, BTreeSet::new());
                    let (attempt, granted_by) = (id, self.process);
                    (TxnRecord { attempt, id, expires_at, granted_by, participants }, None)
                }
                TxnSeen::Known { record, version } => (record.clone(), Some(version)),
                TxnSeen::Absent => {
                    return Err(match self.decision_of(id).await? {
                        Some(_) => Error::TxnConflict { txn: id },
                        None => Error::TxnUnknown { txn: id },
                    });
                }
            };
            if record.expires_at.has_passed(self.now()) {
                return Err(Error::TxnConflict { txn: id });
            }
            let is_named = participant.is_none_or(|participant| record.participants.contains(participant));
            if version.is_some() && is_named && record.expires_at >= until {
                return Ok(());
            }
            record.participants.extend(participant.cloned());
            if record.expires_at < until {
                (record.expires_at, record.granted_by) = (until, self.process);
            }
            record.attempt = self.ids.next();
            let expected = version.map_or(Expected::Absent, Expected::Version);
            match self.storage.put(&path, json(&path, &record)?, expected).await {
                Ok(version) => {
                    self.replayed.note_pending();
                    self.txns.keep(record, version);
                    return Ok(());
                }
                Err(StorageError::Conflict { current }) => seen = read_txn(&path, current.map(|found| *found))?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Contended { times: CONFLICTS_MAX })
    }

    /// A transaction, as we know it or as the store does.
    pub(crate) async fn txn(&self, id: Uuid) -> Result<TxnSeen, Error> {
        match self.txns.get(id) {
            Some(seen) => Ok(seen),
            None => self.read_txn(id).await,
        }
    }

    pub(crate) async fn read_txn(&self, id: Uuid) -> Result<TxnSeen, Error> {
        let path = layout::txn(id);
        read_txn(&path, self.storage.get(&path).await?)
    }

    pub(crate) async fn decision_of(&self, id: Uuid) -> Result<Option<Decision>, Error> {
        let path = layout::decision(id);
        self.storage.get(&path).await?.map(|stored| parse(&path, &stored.body)).transpose()
    }

    /// Whether every participant is staged. What was answered to us needs no look.
    pub(crate) async fn are_prepared(&self, record: &TxnRecord) -> Result<bool, Error> {
        for participant in &record.participants {
            if self.txns.is_prepared(record.id, participant) {
                continue;
            }
            let staged_by = match participant {
                Participant::Key { namespace, key } => {
                    self.read(&layout::record(namespace, key)).await?.and_then(|seen| seen.record.txn())
                }
                Participant::Message { namespace, queue, message } => {
                    let queue = Queue { namespace: namespace.clone(), name: queue.clone() };
                    self.read_message(&layout::message(&queue, message)).await?.and_then(|(message, _)| message.txn)
                }
            };
            if staged_by != Some(record.id) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes the decision, unless there is one: then that is it.
    pub(crate) async fn decide(&self, record: &TxnRecord, verdict: Verdict) -> Result<Decision, Error> {
        let expires_at = self.now().plus(self.options.decision_keep);
        let hour = Hour::of(expires_at);
        self.index_decision(record.id, hour).await?;
        let decision = Decision {
            attempt: self.ids.next(),
            id: record.id,
            verdict,
            participants: record.participants.clone(),
            expires_at,
        };
        let path = layout::decision(record.id);
        match self.storage.put(&path, json(&path, &decision)?, Expected::Absent).await {
            Ok(_) => Ok(decision),
            Err(StorageError::Conflict { current: Some(current) }) => parse(&path, &current.body),
            Err(StorageError::Conflict { current: None }) => Err(Error::Contended { times: 1 }),
            Err(error) => Err(error.into()),
        }
    }

    /// Does what was decided, everywhere, and then takes the record away. What fails is left to whoever comes next.
    pub(crate) async fn finish(&self, id: Uuid, decision: &Decision) {
        if let Err(error) = self.try_finish(id, decision).await {
            tracing::debug!(txn = %id, %error, "a transaction is decided, but not done everywhere");
        }
        self.txns.forget(id);
    }

    pub(crate) async fn try_finish(&self, id: Uuid, decision: &Decision) -> Result<(), Error> {
        let mut seen = match self.txns.get(id) {
            Some(seen @ TxnSeen::Known { .. }) => seen,
            _ => self.read_txn(id).await?,
        };
        for _ in 0..CONFLICTS_MAX {
            let TxnSeen::Known { record, version } = &seen else { return Ok(()) };
            for participant in record.participants.union(&decision.participants) {
                self.apply(participant, decision).await?;
            }
            match self.storage.delete(&layout::txn(id), version).await {
                // Without conditional deletes the record stays: it says nothing that the decision does not.
                Ok(()) | Err(StorageError::Unsupported { .. }) => return Ok(()),
                // Somebody enlisted a key meanwhile: too late for the decision, but not for the end.
                Err(StorageError::Conflict { .. }) => seen = self.read_txn(id).await?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Contended { times: CONFLICTS_MAX })
    }

    /// Does what was decided at one key. Doing so twice changes nothing.
    pub(crate) async fn apply(&self, participant: &Participant, decision: &Decision) -> Result<(), Error> {
        let (namespace, key) = match participant {
            Participant::Key { namespace, key } => (namespace, key),
            Participant::Message { namespace, queue, message } => {
                let queue = Queue { namespace: namespace.clone(), name: queue.clone() };
                return self.end_staging(&queue, message, decision).await;
            }
        };
        let step = |_: &Self, record: Option<&Record>, now: Moment| {
            let resolved = record.and_then(|record| record.resolved(decision, participant, now));
            Ok(match resolved {
                None => Step::Answer(()),
                Some(record) => Step::Swap { record: Box::new(record), look_by: None, answer: () },
            })
        };
        self.change_within(namespace, key, Some(decision.id), step).await?;
        self.waiters.wake(&layout::record(namespace, key));
        Ok(())
    }

    /// What became of a transaction that somebody meets. One that is past its time is decided here and now.
    pub(crate) async fn outlook(&self, id: Uuid, now: Moment) -> Result<Outlook, Error> {
        match self.standing(id, now).await? {
            Standing::Pending => {
                self.replayed.note_pending();
                Ok(Outlook::Pending)
            }
            Standing::Lapsed(record) => Ok(Outlook::Over(self.decide(&record, Verdict::Rollback).await?)),
            Standing::Decided(decision, _) => Ok(Outlook::Over(decision)),
            Standing::Forgotten => Ok(Outlook::Over(Decision::undoing(id, BTreeSet::new(), now))),
        }
    }

    /// How a transaction stands. Two requests, and nothing is decided.
    ///
    /// The record is read before the decision: it goes only after there is one, so that without a record the decision, if
    /// there ever was one, is there to be read.
    pub(crate) async fn standing(&self, id: Uuid, now: Moment) -> Result<Standing, Error> {
        let record = match self.read_txn(id).await? {
            TxnSeen::Known { record, .. } => Some(record),
            TxnSeen::New { .. } | TxnSeen::Absent => None,
        };
        Ok(match (self.decision_of(id).await?, record) {
            (Some(decision), record) => Standing::Decided(decision, record),
            (None, Some(record)) if self.is_txn_over(&record, now) => Standing::Lapsed(record),
            (None, Some(_)) => Standing::Pending,
            (None, None) => Standing::Forgotten,
        })
    }

    pub(crate) fn is_txn_over(&self, record: &TxnRecord, now: Moment) -> bool {
        let skew = if record.granted_by == self.process { Duration::ZERO } else { self.options.skew };
        record.expires_at.plus(skew).has_passed(now)
    }

    /// Puts an hour on the list of transactions; `insert` answers whether it was missing.
    pub(crate) async fn list_hours(&self, mut insert: impl FnMut(&mut TxnHours) -> bool) -> Result<(), Error> {
        let mut known = self.txn_hours();
        if !insert(&mut known) {
            return Ok(());
        }
        let hours = document::amend(&*self.storage, &self.ids, layout::TXN_HOURS, insert).await?;
        self.keep_txn_hours(hours);
        Ok(())
    }
}

/// When a transaction began: its identifier says so.
pub(crate) fn begun_at(id: Uuid) -> Moment {
    let (seconds, nanos) = id.get_timestamp().map_or((0, 0), |at| at.to_unix());
    let millis = seconds.saturating_mul(1_000).saturating_add(u64::from(nanos / 1_000_000));
    Moment::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}

fn read_txn(path: &str, found: Option<Stored>) -> Result<TxnSeen, Error> {
    let Some(found) = found else { return Ok(TxnSeen::Absent) };
    Ok(TxnSeen::Known { record: parse(path, &found.body)?, version: found.version })
}

fn parse<T: DeserializeOwned>(path: &str, body: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(body).map_err(|error| Error::unreadable(path, &error))
}

fn json(path: &str, value: &impl Serialize) -> Result<Bytes, Error> {
    serde_json::to_vec(value).map(Bytes::from).map_err(|error| Error::unreadable(path, &error))
}
