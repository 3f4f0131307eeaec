//! The staging area: what can be asked of it, apart from staging itself.

use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::vec;

use jiff::{SignedDuration, Timestamp};
use rusqlite::Connection;

use super::area::{Area, Presence};
use super::attachment::{Attachment, Metrics};
use super::error::StageError;
use super::event::announce_cleaned;
use super::id::AttachmentId;
use super::manifest::{self, Entry, Manifest, Totals};
use super::moment::Moment;
use super::options::{Reconcile, StageOptions};
use super::reconcile::ReconcileReport;
use super::session::{Dead, Session};
use super::ttl::Ttl;

/// Attachments that one look of [`Stage::list`] or one transaction of [`Stage::reset`] takes, at most.
const PAGE: usize = 256;

/// A staging area: a directory that hands out files with a lifetime.
///
/// Clones share one handle. Several handles, in one process or in many on one machine, may share one directory. All calls
/// block; from async code use `spawn_blocking`.
#[derive(Clone)]
pub struct Stage {
    pub(crate) shared: Arc<Shared>,
}

/// What the clones of a handle share. The manifest is closed before the session: the order of the fields matters.
pub(crate) struct Shared {
    pub(crate) manifest: Manifest,
    pub(crate) session: Session,
    pub(crate) area: Arc<Area>,
    pub(crate) options: StageOptions,
    opened: Option<ReconcileReport>,
    /// When orphans that are too young now will be old enough.
    orphans_at: Mutex<Option<Timestamp>>,
}

impl fmt::Debug for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage")
            .field("path", &self.path())
            .field("options", &self.shared.options)
            .finish_non_exhaustive()
    }
}

/// What a reset did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResetReport {
    /// Attachments gone.
    pub removed: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Attachments that somebody holds.
    pub held: u64,
    /// Attachments that could not be deleted; the next sweep tries again once they are past their time.
    pub failed: u64,
}

impl Stage {
    /// Opens an area, and makes it where there is none; the parent of the directory must exist.
    pub fn open(dir: impl AsRef<Path>, options: StageOptions) -> Result<Self, StageError> {
        let area = Arc::new(Area::open(dir.as_ref(), options.durability)?);
        let manifest = area.alone(|| Manifest::open(&area.make_manifest()?, options.durability))?;
        let dead = Dead::find(&area)?;
        let session = Session::begin(&area)?;
        let orphans_at = Mutex::new(None);
        let mut shared = Shared { manifest, session, area, options, opened: None, orphans_at };
        if !dead.is_empty() || shared.options.reconcile == Reconcile::Full {
            let report = shared.reconcile(&dead)?;
            shared.opened = Some(report);
        }
        dead.forget(&shared.area);
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The directory, without links in its path.
    pub fn path(&self) -> &Path {
        self.shared.area.path()
    }

    /// Whether the directory is still where it was opened. One that was moved away or replaced has to be opened anew.
    pub fn is_in_place(&self) -> bool {
        self.shared.area.is_in_place()
    }

    /// What opening found when it compared the manifest with the files; `None` where it did not have to.
    pub fn opened_with(&self) -> Option<&ReconcileReport> {
        self.shared.opened.as_ref()
    }

    /// Compares the manifest with the files now. Safe at any time, beside everybody else.
    pub fn reconcile(&self) -> Result<ReconcileReport, StageError> {
        let dead = Dead::find(&self.shared.area)?;
        let report = self.shared.reconcile(&dead)?;
        dead.forget(&self.shared.area);
        Ok(report)
    }

    /// The attachment, if it lives and its file is there. An entry whose file somebody deleted is forgotten.
    pub fn get(&self, id: &AttachmentId) -> Result<Option<Attachment>, StageError> {
        let now = self.shared.now();
        let entry = self.shared.manifest.read(|conn| manifest::find(conn, id))?;
        let Some(entry) = entry.filter(|entry| !entry.is_expired(now.cutoff())) else { return Ok(None) };
        let entry = match self.shared.presence(&entry)? {
            Presence::Whole => Some(entry),
            _ => self.shared.manifest.write(|conn| self.shared.living(conn, id, now))?,
        };
        Ok(entry.map(|entry| self.shared.attachment(&entry, true)))
    }

    /// Every attachment that lives, in the order of ids. Looks at a bounded number at a time: what is staged or removed
    /// meanwhile may be missing or there.
    pub fn list(&self) -> List {
        self.list_after(None)
    }

    /// The same, from behind an id on: for whoever asks for them piece by piece.
    pub fn list_after(&self, after: Option<AttachmentId>) -> List {
        List { stage: self.clone(), page: Vec::new().into_iter(), after, is_last: false }
    }

    /// Opens what an attachment holds, if it lives. Whoever has it open can read it to its end, whatever becomes of its name.
    pub fn read(&self, id: &AttachmentId) -> Result<Option<(Attachment, File)>, StageError> {
        let Some(attachment) = self.get(id)? else { return Ok(None) };
        let opened = self.shared.area.open_file(id, &attachment.name, attachment.size);
        let failed = |source| StageError::Open { action: "open", path: attachment.path.clone(), source };
        // One that was swept meanwhile is as absent as one that had been before.
        Ok(opened.map_err(failed)?.map(|file| (attachment, file)))
    }

    /// Starts the lifetime of a living attachment anew, and stretches it where `ttl` is longer than it was.
    pub fn touch(&self, id: &AttachmentId, ttl: Option<Ttl>) -> Result<Option<Attachment>, StageError> {
        let touched = self.shared.manifest.write(|conn| {
            let now = self.shared.now();
            let Some(mut entry) = self.shared.living(conn, id, now)? else { return Ok(None) };
            let ttl = ttl.unwrap_or(entry.ttl);
            renew(&mut entry, now, ttl, false)?;
            manifest::refresh(conn, &entry)?;
            Ok(Some(entry))
        })?;
        Ok(touched.map(|entry| self.shared.attachment(&entry, true)))
    }

    /// Removes an attachment now, a persistent one too. True if it was there and lived. Refused while somebody holds it.
    pub fn remove(&self, id: &AttachmentId) -> Result<bool, StageError> {
        let removed = self.shared.manifest.write(|conn| {
            let now = self.shared.now().cutoff();
            let Some(entry) = manifest::find(conn, id)? else { return Ok(None) };
            if manifest::is_held(conn, id, now)? {
                return Err(StageError::Held(*id));
            }
            let discarded = self.shared.area.discard(id, &entry.name);
            discarded.map_err(|source| StageError::Remove { id: *id, source })?;
            manifest::delete(conn, &entry)?;
            let lived = !entry.is_expired(now);
            Ok(Some((entry, lived)))
        })?;
        let Some((entry, lived)) = removed else { return Ok(false) };
        self.shared.announce_cleaned(std::slice::from_ref(&entry));
        Ok(lived)
    }

    /// How much is staged.
    pub fn metrics(&self) -> Result<Metrics, StageError> {
        self.shared.manifest.read(manifest::totals).map(|totals| metrics(&totals))
    }

    /// Removes everything that is not persistent and that nobody holds, whatever its deadline. Persistent attachments
    /// stay: [`remove`](Self::remove) is the way to them.
    pub fn reset(&self) -> Result<ResetReport, StageError> {
        let mut report = ResetReport::default();
        let mut after = i64::MIN;
        loop {
            let mut cleaned = Vec::new();
            let page = self.shared.manifest.write(|conn| {
                let page = manifest::expirable(conn, self.shared.now().cutoff(), after, PAGE as u64)?;
                for due in &page {
                    if due.held {
                        report.held += 1;
                    } else if self.shared.discard(conn, &due.entry)? {
                        cleaned.push(due.entry.clone());
                    } else {
                        report.failed += 1;
                    }
                }
                Ok(page)
            })?;
            self.shared.announce_cleaned(&cleaned);
            report.removed += cleaned.len() as u64;
            report.bytes += cleaned.iter().map(|entry| entry.size).sum::<u64>();
            match page.last() {
                Some(last) => after = last.entry.seq,
                None => return Ok(report),
            }
        }
    }
}

impl Shared {
    pub(crate) fn now(&self) -> Moment {
        Moment::of(&*self.options.clock)
    }

    pub(crate) fn presence(&self, entry: &Entry) -> Result<Presence, StageError> {
        let path = || self.area.path_of(&entry.id, &entry.name);
        let failed = |source| StageError::Open { action: "look at", path: path(), source };
        let presence = self.area.presence(entry).map_err(failed)?;
        if presence == Presence::Spoiled {
            tracing::warn!(checksum = %entry.id, name = %entry.name, "something else stands where an attachment was");
        }
        Ok(presence)
    }

    /// The entry, if it lives and its file is there; one whose file is gone is forgotten. Inside a transaction.
    pub(crate) fn living(
        &self,
        conn: &Connection,
        id: &AttachmentId,
        now: Moment,
    ) -> Result<Option<Entry>, StageError> {
        let entry = manifest::find(conn, id)?.filter(|entry| !entry.is_expired(now.cutoff()));
        let Some(entry) = entry else { return Ok(None) };
        match self.presence(&entry)? {
            Presence::Whole => Ok(Some(entry)),
            // It stays in the manifest, so that a restage mends it and a sweep tries to remove it.
            Presence::Spoiled => Ok(None),
            Presence::Gone => {
                tracing::warn!(checksum = %id, name = %entry.name, "somebody deleted the file of an attachment");
                manifest::delete(conn, &entry)?;
                Ok(None)
            }
        }
    }

    /// Deletes an entry with its file. False when the file cannot be deleted: then the entry stays too, to be tried again.
    pub(crate) fn discard(&self, conn: &Connection, entry: &Entry) -> Result<bool, StageError> {
        if let Err(error) = self.area.discard(&entry.id, &entry.name) {
            tracing::warn!(checksum = %entry.id, name = %entry.name, %error, "an attachment cannot be deleted");
            return Ok(false);
        }
        manifest::delete(conn, entry)?;
        Ok(true)
    }

    /// Tells of what is gone, after the manifest has it.
    pub(crate) fn announce_cleaned(&self, entries: &[Entry]) {
        for entry in entries {
            announce_cleaned(&*self.options.observer, entry);
        }
    }

    pub(crate) fn attachment(&self, entry: &Entry, cached: bool) -> Attachment {
        Attachment {
            id: entry.id,
            path: self.area.path_of(&entry.id, &entry.name),
            name: entry.name.clone(),
            size: entry.size,
            inserted_at: Timestamp::from_millisecond(entry.inserted_at).unwrap_or(Timestamp::MIN),
            ttl: entry.ttl,
            persist: entry.persist,
            cached,
            deadline: entry.deadline_instant(),
        }
    }

    /// Remembers when young orphans will be old enough.
    pub(crate) fn await_orphans(&self, young: u64) {
        let grace = SignedDuration::try_from(self.options.orphan_grace).unwrap_or(SignedDuration::MAX);
        let at = (young > 0).then(|| self.now().instant().checked_add(grace).unwrap_or(Timestamp::MAX));
        *self.orphans_at.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }

    /// Whether orphans that were too young when last seen are old enough by now.
    pub(crate) fn orphans_are_due(&self) -> bool {
        let at = *self.orphans_at.lock().unwrap_or_else(PoisonError::into_inner);
        at.is_some_and(|at| at <= self.now().instant())
    }
}

/// What a restage and a touch do to an entry: its time starts anew, and stretches. The deadline never moves back, not even
/// when the clock does.
pub(crate) fn renew(entry: &mut Entry, now: Moment, ttl: Ttl, persist: bool) -> Result<(), StageError> {
    entry.persist |= persist;
    entry.ttl = if entry.persist { Ttl::Forever } else { entry.ttl.stretched(ttl) };
    entry.inserted_at = now.millis();
    entry.deadline = now.deadline(entry.ttl)?.map(|new| entry.deadline.map_or(new, |old| old.max(new)));
    Ok(())
}

pub(crate) fn metrics(totals: &Totals) -> Metrics {
    let Totals { persistent, expirable, .. } = totals;
    Metrics {
        total_count: persistent.count + expirable.count,
        total_bytes: persistent.bytes + expirable.bytes,
        persistent_count: persistent.count,
        persistent_bytes: persistent.bytes,
        expirable_count: expirable.count,
        expirable_bytes: expirable.bytes,
    }
}

/// The attachments that live. See [`Stage::list`].
#[derive(Debug)]
pub struct List {
    stage: Stage,
    page: vec::IntoIter<Entry>,
    after: Option<AttachmentId>,
    is_last: bool,
}

impl Iterator for List {
    type Item = Result<Attachment, StageError>;

    fn next(&mut self) -> Option<Self::Item> {
        let shared = Arc::clone(&self.stage.shared);
        loop {
            for entry in self.page.by_ref() {
                match shared.presence(&entry) {
                    Ok(Presence::Whole) => return Some(Ok(shared.attachment(&entry, true))),
                    Ok(_) => {}
                    Err(error) => return Some(Err(error)),
                }
            }
            if self.is_last {
                return None;
            }
            let living_at = Some(shared.now().cutoff());
            match shared.manifest.read(|conn| manifest::by_id(conn, self.after.as_ref(), living_at, PAGE)) {
                Ok(page) => {
                    self.is_last = page.len() < PAGE;
                    self.after = page.last().map(|entry| entry.id).or(self.after);
                    self.page = page.into_iter();
                }
                Err(error) => {
                    self.is_last = true;
                    return Some(Err(error));
                }
            }
        }
    }
}
