//! Transactions: several keys change together, or none of them does.
//!
//! A transaction has a record, which names its participants, and in the end a decision, which is written once and never
//! changed. A participant is named before anything is staged at it; what is staged lies beside the published state, in the
//! record of the key, and only the decision says what becomes of it. Whoever meets it asks for the decision first; where a
//! transaction is past its time and has none, he decides it himself, for rollback. So either commit or rollback wins, and
//! it wins everywhere: nothing that was staged can get lost without a decision, and a commit needs no second look at it.
//!
//! | step | what is written |
//! |---|---|
//! | the first key is enlisted | the record `.txns/<id>`, with the participant in it |
//! | each further key | the participant into that record |
//! | staging | the record of the key: lease and staged change in one |
//! | commit or rollback | the index entry of the decision, then the decision, if there is none |
//! | applying | the record of each key; then the record of the transaction goes |
//!
//! With neither record nor decision a transaction never was, or is long over: what is staged for it is discarded. A record
//! goes only after all its participants were seen to, and a decision outlives it, so that cannot hit what was committed.

mod decide;
mod record;
mod replay;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Error;
use crate::lease::{Acquire, Lease};
use crate::moment::Moment;
use crate::state::{Change, IfVersion};
use crate::store::LeaseStore;

pub(crate) use decide::{Outlook as Decided, Standing, TxnHours, begun_at};
pub(crate) use record::{Decision, Participant, TxnRecord, TxnSeen, Txns, Verdict};
pub(crate) use replay::Replayed;

/// A transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TxnId(pub Uuid);

/// What became of a transaction that was rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RolledBack {
    /// It is undone, by us or by somebody before us.
    Now,
    /// There was nothing to undo: it never was, or is long over.
    Unknown,
}

impl LeaseStore {
    /// Begins a transaction that ends, undone, after `ttl`, unless it is committed or kept alive. Nothing is written
    /// before its first key is enlisted.
    pub fn begin(&self, ttl: Option<Duration>) -> Result<TxnId, Error> {
        let shared = &*self.shared;
        let expires_at = shared.now().plus(shared.ttl(ttl)?);
        let id = shared.ids.next();
        shared.txns.begin(id, expires_at, shared.now(), shared.options.decision_keep);
        Ok(TxnId(id))
    }

    /// The same for a transaction that other processes work on, too: it is written at once, so that they know of it.
    pub async fn begin_shared(&self, ttl: Option<Duration>) -> Result<TxnId, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        let txn = self.begin(ttl)?;
        // Until when is said already: it is enough to write that.
        shared.join(txn.0, None, shared.now()).await?;
        Ok(txn)
    }

    /// Takes the lease of a key and stages a change of its state, in one step. `acquire` must name a transaction.
    pub async fn stage(&self, acquire: &Acquire, state: &[u8], if_version: IfVersion) -> Result<Lease, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        let ttl = shared.ttl(acquire.ttl)?;
        if let Some(small) = shared.inline(state)? {
            return shared.enlist(acquire, ttl, Some((Change::Write(small), if_version))).await;
        }
        // What is too large for the record needs a lease that waits for it.
        let lease = shared.enlist(acquire, ttl, None).await?;
        self.update(&lease, state, if_version).await?;
        Ok(lease)
    }

    /// Makes everything that was staged in a transaction come true at once.
    ///
    /// Once this has answered, it stays so: what was not applied yet is applied by whoever comes next.
    pub async fn commit(&self, txn: TxnId) -> Result<(), Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        let seen = shared.txn(txn.0).await?;
        let record = match &seen {
            TxnSeen::New { .. } => return Ok(()),
            TxnSeen::Known { record, .. } => record,
            TxnSeen::Absent => {
                return match shared.decision_of(txn.0).await?.map(|decision| decision.verdict) {
                    Some(Verdict::Commit) => Ok(()),
                    Some(Verdict::Rollback) => Err(Error::TxnConflict { txn: txn.0 }),
                    None => Err(Error::TxnUnknown { txn: txn.0 }),
                };
            }
        };
        let is_late = record.expires_at.has_passed(shared.now());
        let verdict = if is_late || !shared.are_prepared(record).await? { Verdict::Rollback } else { Verdict::Commit };
        let decision = shared.decide(record, verdict).await?;
        shared.finish(txn.0, &decision).await;
        match decision.verdict {
            Verdict::Commit if record.participants.iter().all(|one| decision.participants.contains(one)) => Ok(()),
            _ => Err(Error::TxnConflict { txn: txn.0 }),
        }
    }

    /// Undoes everything that was staged in a transaction. Doing so twice is no error; after a commit it is.
    pub async fn rollback(&self, txn: TxnId) -> Result<RolledBack, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        let record = match shared.txn(txn.0).await? {
            TxnSeen::New { .. } => {
                shared.txns.forget(txn.0);
                return Ok(RolledBack::Unknown);
            }
            TxnSeen::Known { record, .. } => record,
            TxnSeen::Absent => {
                return match shared.decision_of(txn.0).await?.map(|decision| decision.verdict) {
                    Some(Verdict::Commit) => Err(Error::TxnConflict { txn: txn.0 }),
                    Some(Verdict::Rollback) => Ok(RolledBack::Now),
                    None => Ok(RolledBack::Unknown),
                };
            }
        };
        let decision = shared.decide(&record, Verdict::Rollback).await?;
        shared.finish(txn.0, &decision).await;
        match decision.verdict {
            Verdict::Rollback => Ok(RolledBack::Now),
            Verdict::Commit => Err(Error::TxnConflict { txn: txn.0 }),
        }
    }

    /// When a transaction ends, unless it is kept alive; `None` when it is over or was never begun.
    pub async fn txn_expires_at(&self, txn: TxnId) -> Result<Option<Moment>, Error> {
        let _operation = self.shared.activity.begin();
        Ok(match self.shared.txn(txn.0).await? {
            TxnSeen::New { expires_at } => Some(expires_at),
            TxnSeen::Known { record, .. } => Some(record.expires_at),
            TxnSeen::Absent => None,
        })
    }
}
