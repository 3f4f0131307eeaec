//! Transactions that are over, and decisions that may be forgotten.

use uuid::Uuid;

use crate::Error;
use crate::layout::{self, Hour};
use crate::moment::Moment;
use crate::storage::{Expected, Listed, StorageError};
use crate::store::Shared;
use crate::sweep::HOUR_MARGIN;
use crate::sweep::look::{Kept, Looked, Outlook, Removed};
use crate::txn::{Decided, Decision, Standing, TxnSeen};

impl Shared {
    /// Whether a transaction is to be ended. Two requests, and nothing is decided.
    pub(crate) async fn foresee_txn(&self, listed: &Listed, boundary: Moment) -> Result<Outlook, Error> {
        let Some(id) = id_of(listed) else { return Ok(Outlook::Unreadable) };
        Ok(match self.standing(id, boundary).await {
            Err(Error::Unreadable { .. }) => Outlook::Unreadable,
            Err(error) => return Err(error),
            Ok(Standing::Lapsed(record) | Standing::Decided(_, Some(record))) => {
                Outlook::Bygone(Some(record.expires_at))
            }
            Ok(Standing::Pending | Standing::Decided(_, None) | Standing::Forgotten) => Outlook::Stays,
        })
    }

    /// Ends a transaction that is past its time or decided: at every key, and then itself.
    pub(crate) async fn end_txn(&self, listed: &Listed, boundary: Moment) -> Result<Looked, Error> {
        let unreadable = Looked { kept: Some(Kept::Unreadable), ..Looked::default() };
        let Some(id) = id_of(listed) else { return Ok(unreadable) };
        let looked = Looked { requests: 2, ..Looked::default() };
        match self.outlook(id, boundary).await {
            Err(Error::Unreadable { .. }) => Ok(unreadable),
            Err(error) => Err(error),
            Ok(Decided::Pending) => Ok(looked),
            Ok(Decided::Over(decision)) => {
                self.try_finish(id, &decision).await?;
                let requests = looked.requests + 2 + u64::try_from(decision.participants.len()).unwrap_or(u64::MAX);
                Ok(Looked { entry_removed: true, requests, ..looked })
            }
        }
    }

    /// What following the index entry of a decision would do. Two requests.
    pub(crate) async fn foresee_decision(
        &self,
        listed: &Listed,
        hour: Hour,
        boundary: Moment,
    ) -> Result<Outlook, Error> {
        let Some(id) = id_of(listed) else { return Ok(Outlook::Unreadable) };
        let expires_at = match self.standing(id, boundary).await {
            Err(Error::Unreadable { .. }) => return Ok(Outlook::Unreadable),
            Err(error) => return Err(error),
            Ok(Standing::Decided(decision, _)) => Some(decision.expires_at),
            // It is decided by then.
            Ok(Standing::Lapsed(_)) => Some(boundary.plus(self.options.decision_keep)),
            Ok(Standing::Pending | Standing::Forgotten) => None,
        };
        let deadline = expires_at.filter(|expires_at| expires_at.has_passed(boundary));
        let is_done = match expires_at {
            // In the hours behind its own it is gone by then.
            Some(expires_at) if deadline.is_none() || hour <= Hour::of(expires_at) => {
                deadline.is_some() || Hour::of(expires_at) != hour
            }
            _ => is_long_over(hour, boundary),
        };
        let is_done = is_done && self.storage.capabilities().delete_if_version;
        Ok(if is_done { Outlook::Bygone(deadline) } else { Outlook::Stays })
    }

    /// Follows the index entry of a decision. A decision without one is left alone: nothing leads to it.
    pub(crate) async fn forget_decision(&self, listed: &Listed, hour: Hour, boundary: Moment) -> Result<Looked, Error> {
        let unreadable = Looked { kept: Some(Kept::Unreadable), ..Looked::default() };
        let Some(id) = id_of(listed) else { return Ok(unreadable) };
        let Some(version) = self.entry_version(listed).await?.0 else { return Ok(Looked::default()) };
        let path = layout::decision(id);
        let looked = Looked { requests: 2, ..Looked::default() };
        let Some(stored) = self.storage.get(&path).await? else {
            // Somebody may have written the entry, and be about to write the decision that needs it.
            let is_stale = is_long_over(hour, boundary);
            return if is_stale { self.unlink(listed, &version, looked).await } else { Ok(looked) };
        };
        let Ok(decision) = serde_json::from_slice::<Decision>(&stored.body) else { return Ok(unreadable) };
        let due = Hour::of(decision.expires_at);
        // It goes by the entry of its own hour; others lead there.
        if due == hour && decision.expires_at.has_passed(boundary) {
            // While somebody may still have to ask for it, it stays.
            if let TxnSeen::Known { .. } = self.read_txn(id).await? {
                self.try_finish(id, &decision).await?;
            }
            return match self.storage.delete(&path, &stored.version).await {
                Ok(()) => {
                    let looked = Looked { removed: Some(Removed::Decision), ..looked.after(2) };
                    self.unlink(listed, &version, looked).await
                }
                Err(StorageError::Conflict { .. }) => Ok(looked.conflict()),
                Err(StorageError::Unsupported { .. }) => Ok(looked),
                Err(error) => Err(error.into()),
            };
        }
        if due == hour {
            return Ok(looked);
        }
        self.index_decision(id, due).await?;
        self.unlink(listed, &version, looked.after(1)).await
    }

    /// Writes the index entry of a decision.
    pub(crate) async fn index_decision(&self, id: Uuid, hour: Hour) -> Result<(), Error> {
        self.list_hours(|hours| hours.buckets.insert(hour)).await?;
        let path = layout::decision_entry(hour, id);
        let body = format!("{{\"attempt\":\"{}\",\"id\":\"{id}\"}}", self.ids.next());
        match self.storage.put(&path, body.into(), Expected::Absent).await {
            Ok(_) | Err(StorageError::Conflict { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether nobody writes a decision any more that is to be forgotten in this hour.
fn is_long_over(hour: Hour, boundary: Moment) -> bool {
    hour.end().plus(HOUR_MARGIN).has_passed(boundary)
}

fn id_of(listed: &Listed) -> Option<Uuid> {
    listed.key.rsplit('/').next().and_then(|id| Uuid::try_parse(id).ok())
}
