//! The directory itself: every file of the area is reached through handles, never by a path.
//!
//! A path is looked up anew by each call, and whoever can rename a directory on the way sends the call elsewhere. The
//! handles are opened once, without following links; from then on a name is one component below a handle.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::error::StageError;
use super::id::AttachmentId;
use super::manifest::Entry;
use super::name::Name;
use super::options::Durability;
use crate::turn::TURN_FILE;

/// Where bygone keeps its own files.
pub(crate) const OWN: &str = ".bygone";
/// The manifest's name in there.
pub(crate) const MANIFEST: &str = "manifest.db";
/// Its log, in which SQLite commits.
const MANIFEST_LOG: &str = "manifest.db-wal";
const DIRECTORY: Mode = Mode::RWXU;
const FILE: Mode = Mode::RUSR.union(Mode::WUSR);
/// A directory, and not a link to one.
pub(crate) const AS_DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The handles of an open area.
#[derive(Debug)]
pub(crate) struct Area {
    path: PathBuf,
    root: OwnedFd,
    own: OwnedFd,
    tmp: OwnedFd,
    sessions: OwnedFd,
    durability: Durability,
}

/// What stands where an attachment belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// A file of the right size.
    Whole,
    /// Nothing.
    Gone,
    /// Something else: a link, a directory, a file of another size.
    Spoiled,
}

impl Area {
    /// Opens the directory, and makes it and what belongs in it where that is missing.
    pub(crate) fn open(dir: &Path, durability: Durability) -> Result<Self, StageError> {
        match rustix::fs::mkdir(dir, DIRECTORY) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(StageError::open("make", dir)(errno)),
        }
        let (root, path) = open_root(dir)?;
        let own = match open_below(&root, OWN, &path) {
            Err(StageError::Open { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                if !is_empty(&root, &path)? {
                    return Err(StageError::Foreign(path));
                }
                make_below(&root, OWN, &path)?
            }
            opened => opened?,
        };
        check_owner(&own, &path.join(OWN))?;
        let tmp = make_below(&own, "tmp", &path.join(OWN))?;
        let sessions = make_below(&own, "sessions", &path.join(OWN))?;
        Ok(Self { path, root, own, tmp, sessions, durability })
    }

    /// Whether the directory is still where it was opened.
    pub(crate) fn is_in_place(&self) -> bool {
        let (held, there) = (rustix::fs::fstat(&self.root), rustix::fs::lstat(&self.path));
        matches!((held, there), (Ok(held), Ok(there)) if (held.st_dev, held.st_ino) == (there.st_dev, there.st_ino))
    }

    /// Where the area is, with no link in it.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn root(&self) -> &OwnedFd {
        &self.root
    }

    pub(crate) fn tmp(&self) -> &OwnedFd {
        &self.tmp
    }

    pub(crate) fn sessions(&self) -> &OwnedFd {
        &self.sessions
    }

    pub(crate) fn is_durable(&self) -> bool {
        self.durability == Durability::Full
    }

    /// Runs `work` while no other process of the area does the same: for making the manifest.
    pub(crate) fn alone<T>(&self, work: impl FnOnce() -> Result<T, StageError>) -> Result<T, StageError> {
        let failed = || StageError::open("lock", &self.path);
        let lock = rustix::fs::openat(&self.root, OWN, AS_DIRECTORY, Mode::empty()).map_err(failed())?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive).map_err(failed())?;
        work()
    }

    /// Makes an empty manifest for SQLite to open, so that its mode is ours.
    ///
    /// One that exists is not opened here: closing a file gives up all locks that this process has on it, those of SQLite
    /// among them, and another process could then take itself for the last and delete the log that we write to.
    pub(crate) fn make_manifest(&self) -> Result<PathBuf, StageError> {
        let path = self.path.join(OWN).join(MANIFEST);
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.own, MANIFEST, flags, FILE) {
            Ok(_) | Err(Errno::EXIST) => Ok(path),
            Err(errno) => Err(StageError::open("make", &path)(errno)),
        }
    }

    /// Makes everything durable that the manifest has committed so far.
    pub(crate) fn sync_manifest(&self) -> Result<(), StageError> {
        if !self.is_durable() {
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.own, MANIFEST_LOG, flags, Mode::empty()) {
            // No lock is held on the log. What is no longer in it was synced by SQLite when it moved on.
            Ok(log) => rustix::fs::fsync(log).map_err(StageError::call("sync the manifest")),
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(StageError::call("sync the manifest")(errno)),
        }
    }

    /// A new file among the temporaries.
    pub(crate) fn new_temporary(&self, name: &str) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(&self.tmp, name, flags, FILE)
    }

    /// Makes a temporary's content durable.
    pub(crate) fn sync_temporary(&self, name: &str) -> Result<(), StageError> {
        if !self.is_durable() {
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.tmp, name, flags, Mode::empty());
        file.and_then(rustix::fs::fsync).map_err(StageError::call("sync the file"))
    }

    pub(crate) fn path_of(&self, id: &AttachmentId, name: &Name) -> PathBuf {
        let mut path = self.path.join(id.to_string());
        path.push(name.as_str());
        path
    }

    /// What stands where this attachment belongs.
    pub(crate) fn presence(&self, entry: &Entry) -> io::Result<Presence> {
        let directory = match rustix::fs::openat(&self.root, entry.id.to_string(), AS_DIRECTORY, Mode::empty()) {
            Ok(directory) => directory,
            Err(Errno::NOENT) => return Ok(Presence::Gone),
            Err(Errno::LOOP | Errno::NOTDIR) => return Ok(Presence::Spoiled),
            Err(errno) => return Err(errno.into()),
        };
        match rustix::fs::statat(&directory, entry.name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if is_file(&stat) && size(&stat) == entry.size => Ok(Presence::Whole),
            Ok(_) => Ok(Presence::Spoiled),
            Err(Errno::NOENT) => Ok(Presence::Gone),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Opens the file of an attachment; `None` where it is not there, or is not what it should be.
    pub(crate) fn open_file(&self, id: &AttachmentId, name: &Name, bytes: u64) -> io::Result<Option<File>> {
        let directory = match rustix::fs::openat(&self.root, id.to_string(), AS_DIRECTORY, Mode::empty()) {
            Err(Errno::NOENT | Errno::LOOP | Errno::NOTDIR) => return Ok(None),
            opened => opened?,
        };
        // A pipe that somebody put there is not waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&directory, name.as_str(), flags, Mode::empty()) {
            Err(Errno::NOENT | Errno::LOOP) => return Ok(None),
            opened => opened?,
        };
        let stat = rustix::fs::fstat(&file)?;
        Ok((is_file(&stat) && size(&stat) == bytes).then(|| File::from(file)))
    }

    /// Moves a temporary to where its attachment belongs. Call it inside a transaction of the manifest only.
    pub(crate) fn place(&self, temporary: &str, id: &AttachmentId, name: &Name, sync: bool) -> Result<(), StageError> {
        let hex = id.to_string();
        let made = match rustix::fs::mkdirat(&self.root, &*hex, DIRECTORY) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(errno) => return Err(StageError::call("make the attachment's directory")(errno)),
        };
        let blocked = || StageError::Blocked(self.path.join(&hex));
        let directory = match rustix::fs::openat(&self.root, &*hex, AS_DIRECTORY, Mode::empty()) {
            Err(Errno::LOOP | Errno::NOTDIR) => return Err(blocked()),
            opened => opened.map_err(StageError::call("open the attachment's directory"))?,
        };
        match rustix::fs::renameat(&self.tmp, temporary, &directory, name.as_str()) {
            Ok(()) => {}
            Err(Errno::ISDIR | Errno::EXIST | Errno::NOTEMPTY) => return Err(blocked()),
            Err(errno) => {
                if made {
                    self.remove_directory(&hex);
                }
                return Err(StageError::call("move the file to its place")(errno));
            }
        }
        if sync && self.is_durable() {
            let synced = rustix::fs::fsync(&directory).and_then(|()| rustix::fs::fsync(&self.root));
            synced.map_err(StageError::call("sync the attachment's directory"))?;
        }
        Ok(())
    }

    /// Deletes an attachment's file and its directory. True when the file was there. Call it inside a transaction of the
    /// manifest only.
    pub(crate) fn discard(&self, id: &AttachmentId, name: &Name) -> io::Result<bool> {
        let hex = id.to_string();
        let directory = match rustix::fs::openat(&self.root, &*hex, AS_DIRECTORY, Mode::empty()) {
            Ok(directory) => directory,
            Err(Errno::NOENT) => return Ok(false),
            Err(errno) => return Err(errno.into()),
        };
        let was_there = match rustix::fs::unlinkat(&directory, name.as_str(), AtFlags::empty()) {
            Ok(()) => true,
            Err(Errno::NOENT) => false,
            Err(errno) => return Err(errno.into()),
        };
        self.remove_directory(&hex);
        Ok(was_there)
    }

    /// Removes an attachment's directory if it is empty. What somebody else put there stays, and is an orphan.
    pub(crate) fn remove_directory(&self, hex: &str) -> bool {
        match rustix::fs::unlinkat(&self.root, hex, AtFlags::REMOVEDIR) {
            Ok(()) => true,
            Err(errno) => {
                tracing::debug!(directory = hex, %errno, "an attachment's directory stays");
                false
            }
        }
    }

    /// Makes everything durable that was written to the file system of the area so far.
    pub(crate) fn sync_all(&self) -> Result<(), StageError> {
        if !self.is_durable() {
            return Ok(());
        }
        #[cfg(target_os = "linux")]
        rustix::fs::syncfs(&self.root).map_err(StageError::call("sync the file system"))?;
        #[cfg(not(target_os = "linux"))]
        rustix::fs::sync();
        Ok(())
    }

    /// The bytes that the file system still has for us.
    pub(crate) fn free_bytes(&self) -> Result<u64, StageError> {
        let stat = rustix::fs::fstatvfs(&self.root).map_err(StageError::open("measure", &self.path))?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }
}

/// The directory as a handle, and its path without links.
pub(crate) fn open_root(dir: &Path) -> Result<(OwnedFd, PathBuf), StageError> {
    let root = match rustix::fs::open(dir, AS_DIRECTORY, Mode::empty()) {
        Err(Errno::LOOP | Errno::NOTDIR) => return Err(StageError::NotADirectory(dir.to_path_buf())),
        opened => opened.map_err(StageError::open("open", dir))?,
    };
    check_owner(&root, dir)?;
    let failed = |source| StageError::Open { action: "find", path: dir.to_path_buf(), source };
    let path = dir.canonicalize().map_err(failed)?;
    // SQLite opens the manifest by its path: it must lead to the directory that the handle holds.
    let by_path = rustix::fs::lstat(&path).map_err(StageError::open("find", dir))?;
    let by_handle = rustix::fs::fstat(&root).map_err(StageError::open("find", dir))?;
    if (by_path.st_dev, by_path.st_ino) != (by_handle.st_dev, by_handle.st_ino) {
        return Err(StageError::NotADirectory(dir.to_path_buf()));
    }
    Ok((root, path))
}

/// The directory must be ours alone to write: others could put links and names of their own there.
fn check_owner(handle: &OwnedFd, path: &Path) -> Result<(), StageError> {
    let stat = rustix::fs::fstat(handle).map_err(StageError::open("look at", path))?;
    let user = rustix::process::geteuid().as_raw();
    if stat.st_uid != user {
        return Err(StageError::Owner { path: path.to_path_buf(), owner: stat.st_uid, user });
    }
    if Mode::from_raw_mode(stat.st_mode).intersects(Mode::WGRP | Mode::WOTH) {
        return Err(StageError::Mode { path: path.to_path_buf(), mode: stat.st_mode & 0o7777 });
    }
    Ok(())
}

fn open_below(parent: &OwnedFd, name: &str, path: &Path) -> Result<OwnedFd, StageError> {
    match rustix::fs::openat(parent, name, AS_DIRECTORY, Mode::empty()) {
        Err(Errno::LOOP | Errno::NOTDIR) => Err(StageError::NotADirectory(path.join(name))),
        opened => opened.map_err(StageError::open("open", &path.join(name))),
    }
}

fn make_below(parent: &OwnedFd, name: &str, path: &Path) -> Result<OwnedFd, StageError> {
    match rustix::fs::mkdirat(parent, name, DIRECTORY) {
        Ok(()) | Err(Errno::EXIST) => open_below(parent, name, path),
        Err(errno) => Err(StageError::open("make", &path.join(name))(errno)),
    }
}

fn is_empty(directory: &OwnedFd, path: &Path) -> Result<bool, StageError> {
    let entries = Dir::read_from(directory).map_err(StageError::open("read", path))?;
    for entry in entries {
        let entry = entry.map_err(StageError::open("read", path))?;
        // Another process may be making the area at this moment, or looking after the directory.
        let ours = [".", "..", OWN, TURN_FILE].map(str::as_bytes);
        if !ours.contains(&entry.file_name().to_bytes()) {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(crate) fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

pub(crate) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}
