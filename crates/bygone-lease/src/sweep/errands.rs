//! Running the errands of the index.

use std::collections::BTreeSet;

use uuid::Uuid;

use crate::Error;
use crate::blob::BlobId;
use crate::errand::Errand;
use crate::layout;
use crate::moment::Moment;
use crate::name::{Key, Namespace};
use crate::planted::{self, Bug};
use crate::queue::{Message, Queue};
use crate::record::Record;
use crate::storage::{Listed, StorageError, Stored, Version};
use crate::store::Shared;
use crate::sweep::look::{Kept, Looked, Outlook, Removed};
use crate::sweep::{HOUR_MARGIN, STRAGGLERS};
use crate::txn::{Decided, Participant};

/// What is to be done with a message.
enum Fate {
    /// It goes, since it was past its time then.
    Removed(Moment),
    /// What this transaction says.
    Staged(Uuid),
    /// Nothing, and never will be.
    Nothing,
    /// Nothing yet.
    Waits,
}

impl Shared {
    /// What running an errand would do. At most four requests.
    pub(crate) async fn foresee_errand(
        &self,
        namespace: &Namespace,
        listed: &Listed,
        boundary: Moment,
    ) -> Result<Outlook, Error> {
        match self.try_foresee_errand(namespace, listed, boundary).await {
            Err(Error::Unreadable { .. }) => Ok(Outlook::Unreadable),
            outlook => outlook,
        }
    }

    async fn try_foresee_errand(
        &self,
        namespace: &Namespace,
        listed: &Listed,
        boundary: Moment,
    ) -> Result<Outlook, Error> {
        let Some((errand, _)) = self.read_errand(listed).await? else { return Ok(Outlook::Stays) };
        let done = if self.storage.capabilities().delete_if_version { Outlook::Bygone(None) } else { Outlook::Stays };
        match errand {
            Errand::Blobs { key, lease, .. } => {
                let is_young = is_young(listed, lease, boundary);
                let Some(seen) = self.peek(&layout::record(namespace, &key)).await? else {
                    return Ok(if is_young { Outlook::Stays } else { done });
                };
                let foreseen = self.foresee_record((namespace, &key), seen.record, boundary).await?;
                let is_awaited = is_awaited(Some(&foreseen.record), lease) && !self.clears_lease(&foreseen, boundary);
                Ok(if is_awaited || is_young { Outlook::Stays } else { done })
            }
            Errand::Message { queue, name, dead, due } => {
                let queue = Queue { namespace: namespace.clone(), name: queue };
                let found = self.find_message(&queue, &name, dead).await?;
                let message = match found {
                    Some((message, _)) if !dead => {
                        self.foresee_message(&Participant::message(&queue, &name), message, boundary).await?
                    }
                    found => found.map(|(message, _)| message),
                };
                Ok(match self.fate(message.as_ref(), dead, due, boundary) {
                    Fate::Removed(deadline) => Outlook::Bygone(Some(deadline)),
                    Fate::Nothing => done,
                    Fate::Staged(_) | Fate::Waits => Outlook::Stays,
                })
            }
        }
    }

    /// Runs an errand.
    pub(crate) async fn run_errand(
        &self,
        namespace: &Namespace,
        listed: &Listed,
        boundary: Moment,
    ) -> Result<Looked, Error> {
        match self.try_run_errand(namespace, listed, boundary).await {
            Err(Error::Unreadable { .. }) => Ok(Looked { kept: Some(Kept::Unreadable), ..Looked::default().after(2) }),
            looked => looked,
        }
    }

    async fn try_run_errand(&self, namespace: &Namespace, listed: &Listed, boundary: Moment) -> Result<Looked, Error> {
        let looked = Looked::default().after(1);
        let Some((errand, entry)) = self.read_errand(listed).await? else { return Ok(looked) };
        let run = match errand {
            // There may be more of them: what comes still must be found.
            Errand::Blobs { lease, .. } if is_young(listed, lease, boundary) => Run::Later(looked),
            Errand::Blobs { key, lease, blobs } => {
                self.remove_unnamed((namespace, &key), lease, &blobs, boundary, looked).await?
            }
            Errand::Message { queue, name, dead, due } => {
                let queue = Queue { namespace: namespace.clone(), name: queue };
                self.end_message((&queue, &name, dead, due), boundary, looked).await?
            }
        };
        match run {
            Run::Done(looked) => self.unlink(listed, &entry.version, looked).await,
            Run::Later(looked) => Ok(looked),
        }
    }

    /// The errand of an entry; `None` if it is gone.
    async fn read_errand(&self, listed: &Listed) -> Result<Option<(Errand, Stored)>, Error> {
        let Some(stored) = self.storage.get(&listed.key).await? else { return Ok(None) };
        Ok(Some((Errand::parse(&listed.key, &stored.body)?, stored)))
    }

    /// Removes those blobs that the record of their key does not name.
    async fn remove_unnamed(
        &self,
        (namespace, key): (&Namespace, &Key),
        lease: Option<Uuid>,
        blobs: &BTreeSet<BlobId>,
        boundary: Moment,
        looked: Looked,
    ) -> Result<Run, Error> {
        let mut looked = looked.after(1);
        let seen = self.read(&layout::record(namespace, key)).await?;
        let mut named = seen.as_ref().map(|seen| seen.record.blobs()).unwrap_or_default();
        if let Some(seen) = seen.as_ref().filter(|seen| is_awaited(Some(&seen.record), lease)) {
            // Once his time is over he is shut out, so that he cannot name them any more.
            let Some(record) = self.without_lease((namespace, key), &seen.record, boundary).await? else {
                return Ok(Run::Later(looked));
            };
            (named, looked) = (record.blobs(), looked.after(1));
            if !self.become_record(namespace, key, seen, record, None).await? {
                return Ok(Run::Later(looked.conflict()));
            }
            self.waiters.wake(&layout::record(namespace, key));
            looked.lease_cleared = true;
        }
        for blob in blobs.iter().filter(|blob| !named.contains_key(blob) || planted::is(Bug::RemovesNamed)) {
            match self.remove_blob(namespace, key, blob).await {
                Ok(removal) => looked = looked.after(removal.requests),
                Err(Error::Storage(StorageError::Unsupported { .. })) => return Ok(Run::Later(looked)),
                Err(error) => return Err(error),
            }
        }
        // Somebody may be about to write the record that does not name them any more. He has seen this one: let him fail,
        // look again, and post another errand.
        let is_any_named = blobs.iter().any(|blob| named.contains_key(blob));
        if let Some(seen) = seen.filter(|_| lease.is_none() && is_any_named) {
            looked = looked.after(1);
            if !self.become_record(namespace, key, &seen, seen.record.clone(), None).await? {
                return Ok(Run::Later(looked.conflict()));
            }
        }
        Ok(Run::Done(looked))
    }

    /// Removes a message that is past its time, or does what its transaction's decision says.
    async fn end_message(
        &self,
        (queue, name, dead, due): (&Queue, &str, bool, Moment),
        boundary: Moment,
        looked: Looked,
    ) -> Result<Run, Error> {
        let looked = looked.after(1);
        let found = self.find_message(queue, name, dead).await?;
        let fate = self.fate(found.as_ref().map(|(message, _)| message), dead, due, boundary);
        match (found, fate) {
            (_, Fate::Waits) => Ok(Run::Later(looked)),
            (_, Fate::Nothing) | (None, _) => Ok(Run::Done(looked)),
            (Some(_), Fate::Staged(txn)) => {
                if let Decided::Over(decision) = self.outlook(txn, boundary).await? {
                    self.apply(&Participant::message(queue, name), &decision).await?;
                }
                // What is left of it then is seen to by the next sweep.
                Ok(Run::Later(looked.after(3)))
            }
            (Some((message, version)), Fate::Removed(_)) => {
                let path = if dead { layout::dead_letter(queue, name) } else { layout::message(queue, name) };
                match self.take_out(&path, message, &version).await {
                    Ok(()) => {
                        let run = Run::Done(Looked { removed: Some(Removed::Message), ..looked.after(1) });
                        Ok(if is_settled(due, boundary) { run } else { run.later() })
                    }
                    Err(StorageError::Conflict { .. }) => Ok(Run::Later(looked.after(1).conflict())),
                    Err(error) => Err(error.into()),
                }
            }
        }
    }

    async fn find_message(&self, queue: &Queue, name: &str, dead: bool) -> Result<Option<(Message, Version)>, Error> {
        let path = if dead { layout::dead_letter(queue, name) } else { layout::message(queue, name) };
        self.read_message(&path).await
    }

    fn fate(&self, message: Option<&Message>, dead: bool, due: Moment, boundary: Moment) -> Fate {
        let nothing = if is_settled(due, boundary) { Fate::Nothing } else { Fate::Waits };
        let Some(message) = message else { return nothing };
        let is_held = message.held.as_ref().is_some_and(|held| !self.held_until(held).has_passed(boundary));
        // A letter says itself until when it stays: the errand may be of somebody who died before he had put it aside.
        let deadline = if dead { message.expires_at.max(Some(due)) } else { message.expires_at };
        if let Some(txn) = message.txn {
            Fate::Staged(txn)
        } else if message.is_done {
            nothing
        } else if let Some(deadline) = deadline {
            if deadline.has_passed(boundary) && !is_held { Fate::Removed(deadline) } else { Fate::Waits }
        } else {
            nothing
        }
    }
}

/// What became of an errand.
enum Run {
    Done(Looked),
    Later(Looked),
}

impl Run {
    fn later(self) -> Self {
        match self {
            Self::Done(looked) | Self::Later(looked) => Self::Later(looked),
        }
    }
}

/// Whether nobody writes the message any more that an errand leads to. Whoever posted the errand may be about to, and not for
/// the first time: where a reply was lost it is sent again, and may have come and gone by then.
fn is_settled(due: Moment, boundary: Moment) -> bool {
    due.plus(HOUR_MARGIN).has_passed(boundary)
}

/// Whether there may be more of a blob than can be found by now: listings may be behind, and whoever was writing it for a
/// lease that he has lost may not know.
fn is_young(listed: &Listed, lease: Option<Uuid>, boundary: Moment) -> bool {
    let margin = if lease.is_some() { HOUR_MARGIN } else { STRAGGLERS };
    layout::posted_at(&listed.key).is_some_and(|posted_at| !posted_at.plus(margin).has_passed(boundary))
}

/// Whether the holder of a lease may be about to make the record name what it does not name yet.
fn is_awaited(record: Option<&Record>, lease: Option<Uuid>) -> bool {
    let held = record.and_then(|record| record.lease.as_ref()).map(|held| held.id);
    lease.is_some() && held == lease
}
