//! A directory by its handle.
//!
//! It was opened below its parent's handle without following a link, and it remembers where it hung. Several hands may be
//! at work in it; when the last of them lets go of it, it is finished, and may go itself if nothing stays in it.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{FlockOperation, Mode, OFlags, ResolveFlags, flock, openat, openat2};
use rustix::io::Errno;

use super::facts::{Facts, Identity};
use super::stamp::{Age, Stamp};

/// Opening and reading a directory leaves no trace, not even its time of access, where that is ours to say.
const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOATIME);

/// An open directory of the tree.
#[derive(Debug)]
pub(crate) struct Directory {
    handle: Arc<OwnedFd>,
    place: Option<Place>,
    path: Vec<u8>,
    depth: u32,
    identity: Identity,
    stamp: Option<Stamp>,
    due: bool,
    stays: AtomicBool,
    emptied: AtomicBool,
    workers: Mutex<u32>,
}

/// Where a directory hangs.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) parent: Arc<Directory>,
    pub(crate) name: CString,
}

impl Directory {
    /// The directory that is swept. It never goes.
    pub(crate) fn root(handle: Arc<OwnedFd>, facts: &Facts) -> Self {
        Self::new(handle, None, Vec::new(), 0, facts)
    }

    /// A directory that hangs below another by `name`.
    pub(crate) fn below(parent: &Arc<Self>, name: &CStr, handle: OwnedFd, facts: &Facts) -> Self {
        let place = Place { parent: Arc::clone(parent), name: name.to_owned() };
        let mut path = Vec::new();
        parent.path_of(name, &mut path);
        Self::new(Arc::new(handle), Some(place), path, parent.depth + 1, facts)
    }

    fn new(handle: Arc<OwnedFd>, place: Option<Place>, path: Vec<u8>, depth: u32, facts: &Facts) -> Self {
        Self {
            handle,
            place,
            path,
            depth,
            identity: facts.identity(),
            stamp: facts.stamp(),
            due: false,
            stays: AtomicBool::new(false),
            emptied: AtomicBool::new(false),
            workers: Mutex::new(0),
        }
    }

    /// Marks that it is an item past its time, as it was found.
    pub(crate) fn due(mut self) -> Self {
        self.due = true;
        self
    }

    pub(crate) fn handle(&self) -> &Arc<OwnedFd> {
        &self.handle
    }

    pub(crate) fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    pub(crate) fn into_place(self) -> Option<Place> {
        self.place
    }

    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    /// Its stamp as it was before the sweep touched anything in it.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        self.stamp
    }

    /// Its path below the swept directory.
    pub(crate) fn path(&self) -> &[u8] {
        &self.path
    }

    /// The path of a name in it, into a buffer that is used again and again.
    pub(crate) fn path_of(&self, name: &CStr, path: &mut Vec<u8>) {
        path.clear();
        path.extend_from_slice(&self.path);
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name.to_bytes());
    }

    /// Something in it stays, and so must it.
    pub(crate) fn mark_stays(&self) {
        self.stays.store(true, Ordering::Release);
    }

    /// This sweep removed something from it, and with that changed its stamps.
    pub(crate) fn mark_emptied(&self) {
        self.emptied.store(true, Ordering::Release);
    }

    pub(crate) fn was_emptied(&self) -> bool {
        self.emptied.load(Ordering::Acquire)
    }

    /// Past its time, with nothing known that stays in it.
    pub(crate) fn may_go(&self) -> bool {
        self.due && !self.stays.load(Ordering::Acquire)
    }

    /// Whether it and all above it, up to the root, still hang where they were found. A directory that was moved away took
    /// its files with it: they are no longer ours.
    pub(crate) fn is_in_place(&self, age: Age) -> bool {
        let Some(place) = &self.place else { return true };
        let found = Facts::of_name(place.parent.handle(), &place.name, age);
        found.is_ok_and(|facts| facts.identity() == self.identity) && place.parent.is_in_place(age)
    }

    /// Whether somebody else has locked it just now.
    pub(crate) fn is_locked(&self) -> bool {
        self.begin_work().is_none()
    }

    /// Locks it while something is removed from it, so that whoever wants to be alone with it can wait for that; `None`
    /// when somebody is. The hands that share a directory share the lock. It is never held between pages.
    pub(crate) fn begin_work(&self) -> Option<Work<'_>> {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if *workers == 0 && flock(&*self.handle, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return None;
        }
        *workers += 1;
        Some(Work { directory: self })
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// The lock on a directory, for as long as work goes on in it.
#[derive(Debug)]
pub(crate) struct Work<'a> {
    directory: &'a Directory,
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        let mut workers = self.directory.workers.lock().unwrap_or_else(PoisonError::into_inner);
        *workers -= 1;
        if *workers == 0 {
            // Where locks are not supported there was nothing to give back; a lock ends with its handle anyway.
            let _ = flock(&*self.directory.handle, FlockOperation::Unlock);
        }
    }
}

/// How directories are opened: `openat2` also refuses mount points, without triggering automounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opener {
    Beneath,
    Plain,
}

impl Opener {
    /// What the kernel, or the filter in front of it, lets us use.
    pub(crate) fn probe(directory: impl AsFd) -> Self {
        let flags = FLAGS.difference(OFlags::NOATIME);
        match openat2(directory, c".", flags, Mode::empty(), RESOLVE) {
            Ok(_) => Self::Beneath,
            Err(_) => Self::Plain,
        }
    }

    /// Opens the directory of that name. A link, a file or a mount point is an error.
    pub(crate) fn open(self, parent: impl AsFd, name: &CStr) -> Result<OwnedFd, Errno> {
        let open = |flags| match self {
            Self::Beneath => openat2(&parent, name, flags, Mode::empty(), RESOLVE),
            Self::Plain => openat(&parent, name, flags, Mode::empty()),
        };
        match open(FLAGS) {
            // Only the owner may leave the time of access alone.
            Err(Errno::PERM) => open(FLAGS.difference(OFlags::NOATIME)),
            opened => opened,
        }
    }
}

const RESOLVE: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);
