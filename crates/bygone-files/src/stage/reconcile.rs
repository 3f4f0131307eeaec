//! After a crash the manifest and the files may disagree. Here they are made to agree again.
//!
//! A file is placed and deleted inside a transaction of the manifest, but a crash can come between the two. So there may be
//! an entry whose file is gone, a file of which no entry speaks, and temporaries of those who are no longer there. Nothing
//! is decided without the write lock; nothing that bygone did not make is touched.

use std::os::fd::OwnedFd;

use jiff::{SignedDuration, Timestamp};
use rusqlite::Connection;
use rustix::fs::{AtFlags, Dir, FileType, Mode};
use rustix::io::Errno;

use super::area::{AS_DIRECTORY, OWN, Presence};
use super::error::StageError;
use super::id::AttachmentId;
use super::manifest::{self, Entry};
use super::session::{Dead, remove_dead_temporaries};
use super::stage::Shared;

/// Entries or directories compared at a time: memory does not grow with the area.
const PAGE: usize = 512;
/// A directory of ours holds one file. One with more than this many is left to whoever made it.
const ORPHAN_FILES_MAX: usize = 64;

/// What a comparison of manifest and files found and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReconcileReport {
    /// Entries compared.
    pub entries: u64,
    /// Entries forgotten because their file was gone.
    pub missing: u64,
    /// Those among them that were persistent.
    pub missing_persistent: u64,
    /// Entries in whose place something else stands; kept.
    pub spoiled: u64,
    /// Files without an entry, past their grace: removed.
    pub orphans_removed: u64,
    /// Files without an entry, within their grace: left for a later look.
    pub orphans_young: u64,
    /// Empty directories removed.
    pub empty_removed: u64,
    /// Temporaries removed of those who ended without closing.
    pub temporaries_removed: u64,
    /// What is not ours, and was left alone.
    pub foreign: u64,
    /// Whether somebody had ended without closing.
    pub after_crash: bool,
}

impl Shared {
    pub(crate) fn reconcile(&self, dead: &Dead) -> Result<ReconcileReport, StageError> {
        let mut report = ReconcileReport { after_crash: !dead.is_empty(), ..ReconcileReport::default() };
        report.temporaries_removed = remove_dead_temporaries(&self.area, dead)?;
        self.compare_entries(&mut report)?;
        self.compare_directories(&mut report)?;
        self.await_orphans(report.orphans_young);
        let told = ReconcileReport { entries: report.entries, ..ReconcileReport::default() };
        if report == told {
            tracing::debug!(entries = report.entries, "the manifest and the files agree");
        } else {
            tracing::info!(?report, "the manifest and the files were reconciled");
        }
        Ok(report)
    }

    /// Forgets entries whose file is gone.
    fn compare_entries(&self, report: &mut ReconcileReport) -> Result<(), StageError> {
        let mut after: Option<AttachmentId> = None;
        loop {
            let page = self.manifest.read(|conn| manifest::by_id(conn, after.as_ref(), None, PAGE))?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.id);
            report.entries += page.len() as u64;
            let mut gone = Vec::new();
            for entry in page {
                match self.presence(&entry)? {
                    Presence::Whole => {}
                    Presence::Spoiled => report.spoiled += 1,
                    Presence::Gone => gone.push(entry),
                }
            }
            if !gone.is_empty() {
                self.manifest.write(|conn| self.forget_missing(conn, &gone, report))?;
            }
        }
    }

    fn forget_missing(
        &self,
        conn: &Connection,
        gone: &[Entry],
        report: &mut ReconcileReport,
    ) -> Result<(), StageError> {
        for entry in gone {
            // It may have been staged again, or swept, since it was looked at.
            let Some(entry) = manifest::find(conn, &entry.id)? else { continue };
            if self.presence(&entry)? != Presence::Gone {
                continue;
            }
            tracing::warn!(checksum = %entry.id, name = %entry.name, persist = entry.persist, "an attachment's file is gone");
            manifest::delete(conn, &entry)?;
            report.missing += 1;
            report.missing_persistent += u64::from(entry.persist);
        }
        Ok(())
    }

    /// Looks for directories that no entry speaks of.
    fn compare_directories(&self, report: &mut ReconcileReport) -> Result<(), StageError> {
        let failed = || StageError::open("read", self.area.path());
        let mut names = Dir::read_from(self.area.root()).map_err(failed())?;
        loop {
            let mut page = Vec::with_capacity(PAGE);
            while page.len() < PAGE
                && let Some(name) = names.next()
            {
                let name = name.map_err(failed())?;
                match name.file_name().to_str() {
                    Ok("." | ".." | OWN) => {}
                    Ok(text) => match text.parse::<AttachmentId>() {
                        Ok(id) => page.push(id),
                        Err(_) => report.foreign += 1,
                    },
                    Err(_) => report.foreign += 1,
                }
            }
            if page.is_empty() {
                return Ok(());
            }
            self.compare_page(page, report)?;
        }
    }

    fn compare_page(&self, mut page: Vec<AttachmentId>, report: &mut ReconcileReport) -> Result<(), StageError> {
        self.manifest.read(|conn| {
            for id in std::mem::take(&mut page) {
                if !manifest::exists(conn, &id)? {
                    page.push(id);
                }
            }
            Ok(())
        })?;
        if page.is_empty() {
            return Ok(());
        }
        self.manifest.write(|conn| {
            for id in &page {
                // With the write lock nobody is about to enter it: what has no entry now is an orphan.
                if !manifest::exists(conn, id)? {
                    self.remove_orphan(&id.to_string(), report)?;
                }
            }
            Ok(())
        })
    }

    fn remove_orphan(&self, hex: &str, report: &mut ReconcileReport) -> Result<(), StageError> {
        let failed = || StageError::open("look at", self.area.path());
        let directory = match rustix::fs::openat(self.area.root(), hex, AS_DIRECTORY, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(()),
            Err(Errno::LOOP | Errno::NOTDIR) => {
                report.foreign += 1;
                return Ok(());
            }
            opened => opened.map_err(failed())?,
        };
        let Some(files) = plain_files(&directory).map_err(failed())? else {
            report.foreign += 1;
            return Ok(());
        };
        if files.is_empty() {
            report.empty_removed += u64::from(self.area.remove_directory(hex));
            return Ok(());
        }
        let stat = rustix::fs::fstat(&directory).map_err(failed())?;
        if !self.is_old(stat.st_mtime.max(stat.st_ctime)) {
            report.orphans_young += 1;
            return Ok(());
        }
        for file in &files {
            match rustix::fs::unlinkat(&directory, &**file, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => tracing::warn!(directory = hex, %errno, "an orphan cannot be removed"),
            }
        }
        report.orphans_removed += u64::from(self.area.remove_directory(hex));
        Ok(())
    }

    /// Whether something that last changed in that second is past its grace.
    fn is_old(&self, second: i64) -> bool {
        let Ok(changed) = Timestamp::from_second(second.saturating_add(1)) else { return false };
        let age = self.now().instant().duration_since(changed);
        SignedDuration::try_from(self.options.orphan_grace).is_ok_and(|grace| age > grace)
    }
}

/// The names of the files in a directory; `None` if there is anything else in it, or too much.
fn plain_files(directory: &OwnedFd) -> rustix::io::Result<Option<Vec<String>>> {
    let mut files = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().to_str() else { return Ok(None) };
        if name == "." || name == ".." {
            continue;
        }
        let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if !matches!(kind, FileType::RegularFile | FileType::Symlink) || files.len() == ORPHAN_FILES_MAX {
            return Ok(None);
        }
        files.push(name.to_owned());
    }
    Ok(Some(files))
}
