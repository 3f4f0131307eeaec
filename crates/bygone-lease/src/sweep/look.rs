//! Following one entry of the index.
//!
//! The entry says "look at this key". What is over is cleared by a swap; what has a later deadline gets an entry in its
//! hour, before this one goes; what has none any more stops saying that it is indexed, before this one goes. The entry
//! itself goes only as it was listed: one that somebody wrote anew meanwhile stays.
//!
//! Somebody may just have written the entry, and be about to write the record that needs it. So the record is swapped
//! before the entry goes, even where there is nothing to change in it, and made where there is none: whoever saw it as it
//! was fails with his write, looks again, and finds that he needs an entry.

use crate::Error;
use crate::cache::Seen;
use crate::layout::{self, Hour};
use crate::moment::Moment;
use crate::name::{Key, Namespace};
use crate::planted::{self, Bug};
use crate::record::Record;
use crate::storage::{Expected, Listed, StorageError, Version};
use crate::store::Shared;
use crate::sweep::census::Foreseen;

/// What became of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Looked {
    /// A lease that was over was cleared.
    pub(crate) lease_cleared: bool,
    /// The entry is gone.
    pub(crate) entry_removed: bool,
    /// What else is gone.
    pub(crate) removed: Option<Removed>,
    /// Why it was left as it is, if it was.
    pub(crate) kept: Option<Kept>,
    /// Requests that it took.
    pub(crate) requests: u64,
}

/// What an entry led to that is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removed {
    /// The decision of a transaction.
    Decision,
    /// A message that was past its time.
    Message,
}

/// Why an entry was left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Somebody changed it under our hands: it is looked at again by the next sweep.
    Conflict,
    /// It cannot be read, or cannot be ours.
    Unreadable,
}

/// What would become of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// Something is over: the lease that ended then, or what leads here for nothing.
    Bygone(Option<Moment>),
    /// Everything is as it should be.
    Stays,
    /// It cannot be read, or cannot be ours.
    Unreadable,
}

impl Looked {
    pub(crate) fn conflict(self) -> Self {
        Self { lease_cleared: false, kept: Some(Kept::Conflict), ..self }
    }

    pub(crate) fn did_something(self) -> bool {
        self.lease_cleared || self.entry_removed || self.removed.is_some()
    }

    pub(crate) fn after(mut self, requests: u64) -> Self {
        self.requests += requests;
        self
    }
}

/// What is to be done with a record.
enum Verdict {
    /// There is nothing in it that anybody could want any more.
    Remove,
    /// It is to be this; the entry that led here goes.
    Become(Box<Record>, Option<Moment>),
    /// It is as it should be, and so is the entry.
    Leave,
}

impl Shared {
    /// When the key must be looked at next; `None` if never.
    fn deadline(&self, record: &Record) -> Option<Moment> {
        match &record.lease {
            Some(lease) => Some(lease.expires_at),
            None if record.is_empty() => Some(record.touched_at.plus(self.options.tombstone_keep)),
            None => self.retired_at(record),
        }
    }

    /// When what a key has is past its time; `None` if never, or while somebody has a lease of it.
    pub(crate) fn retired_at(&self, record: &Record) -> Option<Moment> {
        let is_left_alone = record.lease.is_none() && record.staged.is_none() && !record.has_nothing();
        let retention = self.options.retention.filter(|_| is_left_alone)?;
        Some(record.updated_at.plus(retention))
    }

    fn judge(&self, record: &Record, is_settled: bool, hour: Hour, boundary: Moment) -> Verdict {
        // Its transaction is not over: it is for that to end it.
        if record.txn().is_some() {
            return Verdict::Leave;
        }
        let mut wanted = record.clone();
        let is_over = record.lease.as_ref().is_some_and(|lease| self.is_over(lease, boundary));
        if is_over {
            wanted.lease = None;
        }
        if self.retired_at(&wanted).is_some_and(|deadline| deadline.has_passed(boundary)) {
            // The record stays for a while: it holds the last token.
            (wanted.state, wanted.touched_at) = (None, boundary);
            wanted.attachments.clear();
            wanted.version += 1;
            return Verdict::Become(Box::new(Record { indexed: None, ..wanted.clone() }), self.deadline(&wanted));
        }
        let deadline = self.deadline(&wanted);
        let is_bygone = deadline.is_some_and(|deadline| deadline.has_passed(boundary)) && wanted.is_empty();
        let next = deadline.map(Hour::of);
        let is_as_it_should_be = !is_over && !is_settled && record.indexed == next && next == Some(hour);
        if is_bygone && !is_settled {
            Verdict::Remove
        } else if is_as_it_should_be {
            Verdict::Leave
        } else {
            wanted.indexed = record.indexed.filter(|indexed| next == Some(*indexed));
            Verdict::Become(Box::new(wanted), deadline)
        }
    }

    /// Makes the record of a key that has none, with nothing in it. False when somebody was faster.
    async fn make_tombstone(&self, namespace: &Namespace, key: &Key) -> Result<bool, Error> {
        let now = self.now();
        let hour = Hour::of(now.plus(self.options.tombstone_keep));
        self.enter((namespace, key), hour).await?;
        let attempt = self.ids.next();
        let record = Record { attempt, touched_at: now, indexed: Some(hour), ..Record::default() };
        match self.storage.put(&layout::record(namespace, key), record.body()?, Expected::Absent).await {
            Ok(_) => Ok(true),
            Err(StorageError::Conflict { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// What following an entry would do. One request, and two more where a transaction has a hand in it.
    pub(crate) async fn foresee(
        &self,
        namespace: &Namespace,
        hour: Hour,
        listed: &Listed,
        boundary: Moment,
    ) -> Result<Outlook, Error> {
        match self.try_foresee(namespace, hour, listed, boundary).await {
            Err(Error::Unreadable { .. }) => Ok(Outlook::Unreadable),
            outlook => outlook,
        }
    }

    async fn try_foresee(
        &self,
        namespace: &Namespace,
        hour: Hour,
        listed: &Listed,
        boundary: Moment,
    ) -> Result<Outlook, Error> {
        let Some(key) = key_of(listed) else { return Ok(Outlook::Unreadable) };
        let entries_go = self.storage.capabilities().delete_if_version;
        let Some(seen) = self.peek(&layout::record(namespace, &key)).await? else {
            return Ok(if entries_go { Outlook::Bygone(None) } else { Outlook::Stays });
        };
        let deadline = self.deadline(&seen.record).filter(|deadline| deadline.has_passed(boundary));
        let foreseen = self.foresee_record((namespace, &key), seen.record, boundary).await?;
        let does_something = match self.judge(foreseen.shown(), foreseen.settled.is_some(), hour, boundary) {
            Verdict::Leave => false,
            Verdict::Remove => entries_go,
            Verdict::Become(_, next) => {
                let entry_goes = entries_go && next.map(Hour::of) != Some(hour);
                entry_goes || self.clears_lease(&foreseen, boundary)
            }
        };
        Ok(if does_something { Outlook::Bygone(deadline) } else { Outlook::Stays })
    }

    /// Whether following the entry of a key would clear its lease.
    pub(super) fn clears_lease(&self, foreseen: &Foreseen, boundary: Moment) -> bool {
        foreseen.settled.is_some() || self.is_cleared(&foreseen.record, boundary)
    }

    /// Whether a lease is over that no transaction has a hand in.
    fn is_cleared(&self, record: &Record, boundary: Moment) -> bool {
        record.txn().is_none() && record.lease.as_ref().is_some_and(|lease| self.is_over(lease, boundary))
    }

    /// Follows an entry.
    pub(crate) async fn look(
        &self,
        namespace: &Namespace,
        hour: Hour,
        listed: &Listed,
        boundary: Moment,
    ) -> Result<Looked, Error> {
        let nothing = Looked::default();
        let unreadable = Looked { kept: Some(Kept::Unreadable), ..nothing };
        let Some(key) = key_of(listed) else { return Ok(unreadable) };
        let (entry, requests) = self.entry_version(listed).await?;
        let nothing = nothing.after(requests + 1);
        let path = layout::record(namespace, &key);
        let seen = match self.peek(&path).await {
            Err(Error::Unreadable { .. }) => return Ok(unreadable.after(requests + 1)),
            seen => seen?,
        };
        let Some(entry) = entry else { return Ok(nothing.conflict()) };
        let Some(seen) = seen else {
            let nothing = nothing.after(2);
            let is_made = self.make_tombstone(namespace, &key).await?;
            return if is_made { self.unlink(listed, &entry, nothing).await } else { Ok(nothing.conflict()) };
        };
        let settled = self.settled((namespace, &key), &seen.record, None, boundary).await?;
        let record = settled.as_ref().unwrap_or(&seen.record);
        let lease_cleared = settled.is_some() || self.is_cleared(record, boundary);
        let looked = Looked { lease_cleared, ..nothing };
        match self.judge(record, settled.is_some(), hour, boundary) {
            Verdict::Leave => Ok(looked),
            Verdict::Remove => {
                self.cache.forget(&path);
                match self.storage.delete(&path, &seen.version).await {
                    Ok(()) => self.unlink(listed, &entry, looked.after(1)).await,
                    Err(StorageError::Conflict { .. }) => Ok(looked.after(1).conflict()),
                    // A tombstone for ever: it holds the last token and harms nobody.
                    Err(StorageError::Unsupported { .. }) => Ok(nothing),
                    Err(error) => Err(error.into()),
                }
            }
            Verdict::Become(record, deadline) => {
                let looked = looked.after(if deadline.is_some() { 2 } else { 1 });
                let is_skipped = planted::is(Bug::EntryBeforeRecord) && deadline.is_none();
                if !is_skipped && !self.become_record(namespace, &key, &seen, *record, deadline).await? {
                    return Ok(looked.conflict());
                }
                if lease_cleared {
                    self.waiters.wake(&path);
                }
                let stays = deadline.map(Hour::of) == Some(hour);
                if stays { Ok(looked) } else { self.unlink(listed, &entry, looked).await }
            }
        }
    }

    /// The record without its lease, where that is over; `None` where it is not.
    pub(super) async fn without_lease(
        &self,
        of: (&Namespace, &Key),
        record: &Record,
        boundary: Moment,
    ) -> Result<Option<Record>, Error> {
        if let Some(settled) = self.settled(of, record, None, boundary).await? {
            return Ok(Some(settled));
        }
        Ok(self.is_cleared(record, boundary).then(|| Record { lease: None, ..record.clone() }))
    }

    /// Swaps a record, with an entry in the hour of its deadline written first. False when somebody was faster.
    pub(crate) async fn become_record(
        &self,
        namespace: &Namespace,
        key: &Key,
        seen: &Seen,
        mut record: Record,
        deadline: Option<Moment>,
    ) -> Result<bool, Error> {
        let path = layout::record(namespace, key);
        if let Some(hour) = deadline.map(Hour::of).filter(|hour| record.indexed != Some(*hour)) {
            self.enter((namespace, key), hour).await?;
            record.indexed = Some(hour);
        }
        let dropped = self.post_dropped((namespace, key), Some(&seen.record), &record).await?;
        record.attempt = self.ids.attempt();
        self.cache.forget(&path);
        match self.storage.put(&path, record.body()?, Expected::Version(&seen.version)).await {
            Ok(_) => {
                if let Some((blobs, errand)) = dropped {
                    self.discard(namespace, key, &blobs, &errand).await;
                }
                Ok(true)
            }
            Err(StorageError::Conflict { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The version of an entry from before its record was read: listings tell, or it is read.
    pub(crate) async fn entry_version(&self, listed: &Listed) -> Result<(Option<Version>, u64), Error> {
        match &listed.version {
            Some(version) => Ok((Some(version.clone()), 0)),
            None => Ok((self.storage.get(&listed.key).await?.map(|stored| stored.version), 1)),
        }
    }

    pub(crate) async fn unlink(&self, listed: &Listed, version: &Version, looked: Looked) -> Result<Looked, Error> {
        match self.storage.delete(&listed.key, version).await {
            Ok(()) => Ok(Looked { entry_removed: true, ..looked.after(1) }),
            Err(StorageError::Conflict { .. }) => Ok(looked.after(1)),
            Err(StorageError::Unsupported { .. }) => Ok(looked),
            Err(error) => Err(error.into()),
        }
    }
}

pub(crate) fn key_of(listed: &Listed) -> Option<Key> {
    listed.key.rsplit('/').next().and_then(Key::from_segment)
}
