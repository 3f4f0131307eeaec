//! How much may be staged, and what makes room.
//!
//! What is past its time and held by nobody always goes first. Whether anything else goes depends on [`WhenFull`]. What
//! could not fit even then is refused before anything is touched.

use std::fmt;

use rusqlite::Connection;

use super::error::StageError;
use super::manifest::{self, Amount, Place};
use super::moment::Moment;
use super::stage::Shared;

/// Attachments that one transaction lets go of, at most.
const RECLAIM_PAGE: u64 = 256;

/// The bounds of an area. `None` is unbounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// The most bytes of all attachments together. What is still being read does not count, but no single one is read
    /// further than this.
    pub max_bytes: Option<u64>,
    /// The most attachments.
    pub max_count: Option<u64>,
    /// The bytes of the file system that are left to others. Restaging needs room for a temporary copy too.
    pub min_free: Option<u64>,
    /// What to do when there is no room.
    pub when_full: WhenFull,
}

/// What to do when there is no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Refuse what is new. A path is good until its deadline, always.
    #[default]
    Refuse,
    /// Let go of what would expire soonest. A path is then good until its deadline only while it is held. What is
    /// persistent, held, or does not expire is never let go of.
    Evict,
}

/// What there is too little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shortage {
    /// Bytes of the quota.
    Bytes {
        /// How many are needed.
        needed: u64,
        /// How many could be had.
        available: u64,
        /// The quota.
        max_bytes: u64,
    },
    /// Attachments of the quota.
    Count {
        /// The quota.
        max_count: u64,
    },
    /// Bytes of the file system.
    Free {
        /// How many are needed.
        needed: u64,
        /// How many could be had without touching those left to others.
        available: u64,
        /// How many are left to others.
        min_free: u64,
    },
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes { needed, available, max_bytes } => write!(
                f,
                "the area is full: {needed} bytes are needed and {available} of max_bytes = {max_bytes} can be had; \
                 remove attachments or raise max_bytes"
            ),
            Self::Count { max_count } => write!(
                f,
                "the area is full: it holds max_count = {max_count} attachments; remove some or raise max_count"
            ),
            Self::Free { needed, available, min_free } => write!(
                f,
                "the file system is nearly full: {needed} bytes are needed and {available} can be had beyond \
                 min_free = {min_free}; free some space or lower min_free"
            ),
        }
    }
}

/// Watches what is read, so that an endless reader ends at the quota and not at the end of the disk.
pub(crate) struct Meter<'a> {
    shared: &'a Shared,
    taken: u64,
    assured: u64,
}

/// The file system is measured once for so many bytes.
const FREE_STEP: u64 = 8 << 20;

impl<'a> Meter<'a> {
    pub(crate) fn new(shared: &'a Shared) -> Self {
        Self { shared, taken: 0, assured: 0 }
    }

    /// Room for a file whose size is known.
    pub(crate) fn expect(&mut self, size: u64) -> Result<(), StageError> {
        self.check_size(size)?;
        self.shared.assure_free(size)?;
        self.assured = size;
        Ok(())
    }

    /// Room for so many bytes more.
    pub(crate) fn admit(&mut self, bytes: usize) -> Result<(), StageError> {
        self.taken = self.taken.saturating_add(bytes as u64);
        self.check_size(self.taken)?;
        if self.taken > self.assured {
            self.shared.assure_free(FREE_STEP)?;
            self.assured = self.taken.saturating_add(FREE_STEP);
        }
        Ok(())
    }

    fn check_size(&self, needed: u64) -> Result<(), StageError> {
        match self.shared.options.quota.max_bytes {
            Some(max_bytes) if needed > max_bytes => {
                Err(StageError::Full(Shortage::Bytes { needed, available: max_bytes, max_bytes }))
            }
            _ => Ok(()),
        }
    }
}

impl Shared {
    /// Why an attachment of so many bytes does not fit at this moment, if so.
    pub(crate) fn shortage(&self, conn: &Connection, size: u64) -> Result<Option<Shortage>, StageError> {
        self.shortage_without(conn, size, Amount::default())
    }

    /// The same, once so much is gone.
    fn shortage_without(&self, conn: &Connection, size: u64, gone: Amount) -> Result<Option<Shortage>, StageError> {
        let quota = &self.options.quota;
        if quota.max_bytes.is_none() && quota.max_count.is_none() {
            return Ok(None);
        }
        let totals = manifest::totals(conn)?;
        let bytes = (totals.persistent.bytes + totals.expirable.bytes).saturating_sub(gone.bytes);
        let count = (totals.persistent.count + totals.expirable.count).saturating_sub(gone.count);
        if let Some(max_bytes) = quota.max_bytes
            && bytes.saturating_add(size) > max_bytes
        {
            let available = max_bytes.saturating_sub(bytes);
            return Ok(Some(Shortage::Bytes { needed: size, available, max_bytes }));
        }
        Ok(quota.max_count.filter(|max| count >= *max).map(|max_count| Shortage::Count { max_count }))
    }

    /// How much could go to make room.
    fn reclaimable(&self, conn: &Connection) -> Result<Amount, StageError> {
        let now = Moment::of(&*self.options.clock).cutoff();
        let (all, held) = match self.options.quota.when_full {
            WhenFull::Refuse => (manifest::survey(conn, now)?.0, manifest::held(conn, now, Some(now))?),
            WhenFull::Evict => {
                let totals = manifest::totals(conn)?;
                let count = totals.expirable.count.saturating_sub(totals.lasting.count);
                let bytes = totals.expirable.bytes.saturating_sub(totals.lasting.bytes);
                (Amount { count, bytes }, manifest::held(conn, now, None)?)
            }
        };
        let (count, bytes) = (all.count.saturating_sub(held.count), all.bytes.saturating_sub(held.bytes));
        Ok(Amount { count, bytes })
    }

    /// Makes room for an attachment of so many bytes, or says why there cannot be any.
    pub(crate) fn make_room(&self, size: u64) -> Result<(), StageError> {
        let impossible = self.manifest.read(|conn| {
            let gone = self.reclaimable(conn)?;
            self.shortage_without(conn, size, gone)
        })?;
        if let Some(shortage) = impossible {
            return Err(StageError::Full(shortage));
        }
        self.reclaim(|conn| Ok(self.shortage(conn, size)?.is_none()))?;
        // What could not be deleted is still there.
        match self.manifest.read(|conn| self.shortage(conn, size))? {
            Some(shortage) => Err(StageError::Full(shortage)),
            None => Ok(()),
        }
    }

    /// Makes sure that the file system has so many bytes beyond those left to others.
    fn assure_free(&self, needed: u64) -> Result<(), StageError> {
        let Some(min_free) = self.options.quota.min_free else { return Ok(()) };
        let goal = min_free.saturating_add(needed);
        let short = |free: u64| {
            let available = free.saturating_sub(min_free);
            StageError::Full(Shortage::Free { needed, available, min_free })
        };
        let free = self.area.free_bytes()?;
        if free >= goal {
            return Ok(());
        }
        let possible = free.saturating_add(self.manifest.read(|conn| self.reclaimable(conn))?.bytes);
        if possible < goal {
            return Err(short(possible));
        }
        self.reclaim(|_| Ok(self.area.free_bytes()? >= goal))?;
        let free = self.area.free_bytes()?;
        if free >= goal { Ok(()) } else { Err(short(free)) }
    }

    /// Lets go of what may go, soonest deadline first, until it is enough.
    fn reclaim(&self, enough: impl Fn(&Connection) -> Result<bool, StageError>) -> Result<(), StageError> {
        let mut after: Option<Place> = None;
        loop {
            let mut cleaned = Vec::new();
            let more = self.manifest.write(|conn| {
                let now = Moment::of(&*self.options.clock).cutoff();
                let cutoff = if self.options.quota.when_full == WhenFull::Evict { i64::MAX } else { now };
                let due = manifest::due(conn, cutoff, now, after, RECLAIM_PAGE)?;
                let more = due.len() as u64 == RECLAIM_PAGE;
                for due in due {
                    if enough(conn)? {
                        return Ok(false);
                    }
                    after = due.entry.deadline.map(|deadline| (deadline, due.entry.seq));
                    if !due.held && self.discard(conn, &due.entry)? {
                        cleaned.push(due.entry);
                    }
                }
                Ok(more)
            })?;
            self.announce_cleaned(&cleaned);
            if !more {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_says_what_to_do() {
        let bytes = Shortage::Bytes { needed: 10, available: 3, max_bytes: 20 };
        assert!(bytes.to_string().ends_with("remove attachments or raise max_bytes"));
        assert!(Shortage::Count { max_count: 2 }.to_string().contains("max_count = 2"));
        let free = Shortage::Free { needed: 1, available: 0, min_free: 7 };
        assert!(free.to_string().contains("min_free = 7"));
    }
}
