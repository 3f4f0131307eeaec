//! Removing one item, after looking again.

use std::ffi::CStr;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, flock, openat, unlinkat};
use rustix::io::Errno;

use super::directory::Directory;
use super::facts::Facts;
use super::held::Held;
use super::judge::Reach;
use super::stamp::{Age, Stamp};

/// Opening must not wait for a writer, become a terminal's master, or leave a trace.
const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOATIME);

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is gone, and these bytes with it.
    Removed(u64),
    /// A name was removed, but the file that was looked at has all its names: somebody put another in its place.
    Swapped,
    /// Somebody uses it.
    Locked,
    /// The file system does not let it go.
    Conflict,
    /// It was gone already.
    Gone,
    /// It is not what it was, or no longer past its time.
    Stays,
}

/// An item that was found to be past its time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'a> {
    pub(crate) directory: &'a Directory,
    pub(crate) name: &'a CStr,
    pub(crate) facts: &'a Facts,
    pub(crate) stamp: Stamp,
}

/// What removing needs to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remover<'a> {
    pub(crate) age: Age,
    /// Deadlines stand in paths: they are what they were.
    pub(crate) dated: bool,
    pub(crate) reach: &'a Reach,
    pub(crate) held: &'a Held,
    /// Files with several names are removed one at a time: two hands at one file would lock each other out of it.
    pub(crate) linked: &'a Mutex<()>,
}

impl Remover<'_> {
    pub(crate) fn remove(self, found: Found<'_>) -> Fate {
        if found.facts.is_sticky() {
            return Fate::Locked;
        }
        match found.facts.kind() {
            FileType::RegularFile => self.remove_file(found),
            FileType::Socket if self.held.sockets().is_bound(found.facts.identity(), found.name) => Fate::Locked,
            _ => self.remove_by_name(found),
        }
    }

    fn remove_file(self, found: Found<'_>) -> Fate {
        let several = found.facts.links() > 1;
        let _alone = several.then(|| self.linked.lock().unwrap_or_else(PoisonError::into_inner));
        // Asked before opening: closing a file gives up the locks that this very process may have on it.
        if self.held.has(found.facts.identity().inode) {
            return Fate::Locked;
        }
        let open = |flags| openat(found.directory, found.name, flags, Mode::empty());
        let opened = match open(FLAGS) {
            Err(Errno::PERM) => open(FLAGS.difference(OFlags::NOATIME)),
            opened => opened,
        };
        match opened {
            Ok(handle) => self.remove_by_handle(found, &handle),
            Err(Errno::NOENT) => Fate::Gone,
            Err(Errno::LOOP | Errno::NOTDIR) => Fate::Stays,
            Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => Fate::Conflict,
            Err(_) => self.remove_by_name(found),
        }
    }

    fn remove_by_handle(self, found: Found<'_>, handle: &OwnedFd) -> Fate {
        if is_locked(handle) {
            return Fate::Locked;
        }
        let Ok(now) = Facts::of_handle(handle, self.age) else { return Fate::Conflict };
        if now.links() == 0 {
            return Fate::Gone;
        }
        if !self.is_still_due(found, &now) {
            return Fate::Stays;
        }
        // The handle is right; is it still what the name stands for?
        match Facts::of_name(found.directory, found.name, self.age) {
            Ok(named) if named.identity() == now.identity() => {}
            Err(Errno::NOENT) => return Fate::Gone,
            _ => return Fate::Stays,
        }
        match unlink(found) {
            Fate::Removed(_) => match Facts::of_handle(handle, self.age) {
                Ok(after) if after.links() == 0 => Fate::Removed(now.allocated()),
                Ok(after) if after.links() >= now.links() => Fate::Swapped,
                _ => Fate::Removed(0),
            },
            fate => fate,
        }
    }

    /// What has no handle: links, sockets, pipes, and files that we may remove but not read.
    fn remove_by_name(self, found: Found<'_>) -> Fate {
        let now = match Facts::of_name(found.directory, found.name, self.age) {
            Ok(now) => now,
            Err(Errno::NOENT) => return Fate::Gone,
            Err(_) => return Fate::Conflict,
        };
        if !self.is_still_due(found, &now) {
            return Fate::Stays;
        }
        match unlink(found) {
            Fate::Removed(_) if now.links() > 1 => Fate::Removed(0),
            Fate::Removed(_) => Fate::Removed(now.allocated()),
            fate => fate,
        }
    }

    fn is_still_due(self, found: Found<'_>, now: &Facts) -> bool {
        now.identity() == found.facts.identity()
            && now.kind() == found.facts.kind()
            && !now.is_sticky()
            && (self.dated || now.stamp().is_some_and(|stamp| self.reach.still_takes(found.stamp, stamp)))
    }

    /// Removes a directory, if it is empty: the system itself sees to that, at the moment of removal.
    pub(crate) fn remove_directory(self, directory: &Directory) -> Fate {
        let Some(place) = directory.place() else { return Fate::Stays };
        let (Some(_within), Some(_above)) = (directory.begin_work(), place.parent.begin_work()) else {
            return Fate::Locked;
        };
        if !directory.is_in_place(self.age) {
            return Fate::Gone;
        }
        // Where nothing was removed from it, its stamp is still its own. A look at it may count as access, though.
        if !directory.was_emptied() && self.age != Age::Accessed {
            let now = Facts::of_handle(directory, self.age).ok().and_then(|facts| facts.stamp());
            if now != directory.stamp() {
                return Fate::Stays;
            }
        }
        match unlinkat(&place.parent, &*place.name, AtFlags::REMOVEDIR) {
            Ok(()) => Fate::Removed(0),
            Err(Errno::NOENT) => Fate::Gone,
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Fate::Stays,
            Err(_) => Fate::Conflict,
        }
    }
}

fn unlink(found: Found<'_>) -> Fate {
    match unlinkat(found.directory, found.name, AtFlags::empty()) {
        Ok(()) => Fate::Removed(0),
        Err(Errno::NOENT) => Fate::Gone,
        Err(Errno::ISDIR) => Fate::Stays,
        Err(_) => Fate::Conflict,
    }
}

/// Whether somebody else has locked the file. Some file systems lock for writing only through a handle for writing, but
/// then show by a shared lock whether somebody has it to himself.
fn is_locked(handle: &OwnedFd) -> bool {
    for lock in [FlockOperation::NonBlockingLockExclusive, FlockOperation::NonBlockingLockShared] {
        match flock(handle, lock) {
            Ok(()) => return false,
            Err(Errno::WOULDBLOCK) => return true,
            Err(_) => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;
    use std::time::{Duration, SystemTime};

    use bygone_core::Boundary;
    use jiff::{SignedDuration, Timestamp};
    use tempfile::TempDir;

    use super::super::policy::TreePolicy;
    use super::super::root::Root;
    use super::*;

    /// A directory with one old file, looked at and about to be removed.
    struct Moment {
        outer: TempDir,
        directory: Directory,
        facts: Facts,
    }

    const HOUR: SignedDuration = SignedDuration::from_hours(1);

    fn old() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000)
    }

    fn age(path: &PathBuf, at: SystemTime) {
        fs::File::open(path).unwrap().set_modified(at).unwrap();
    }

    impl Moment {
        fn new() -> Self {
            let outer = tempfile::tempdir().unwrap();
            let root = outer.path().join("root");
            fs::create_dir(&root).unwrap();
            fs::write(root.join("file"), b"content").unwrap();
            age(&root.join("file"), old());
            let policy = TreePolicy { keep: Some(HOUR), ..TreePolicy::new("p", "s", &root) };
            let directory = Root::open(&policy).unwrap().directory(Age::Modified).unwrap();
            let facts = Facts::of_name(&directory, c"file", Age::Modified).unwrap();
            Self { outer, directory, facts }
        }

        fn file(&self) -> PathBuf {
            self.outer.path().join("root/file")
        }

        fn remove(&self) -> Fate {
            let reach = Reach::aged(Boundary::at(Timestamp::from_second(1_794_744_000).unwrap()), Some(HOUR));
            let (held, linked) = (Held::read((0, 0)), Mutex::new(()));
            let remover = Remover { age: Age::Modified, dated: false, reach: &reach, held: &held, linked: &linked };
            let stamp = self.facts.stamp().unwrap();
            remover.remove(Found { directory: &self.directory, name: c"file", facts: &self.facts, stamp })
        }
    }

    #[test]
    fn what_is_as_it_was_goes_with_its_bytes() {
        let moment = Moment::new();
        assert_eq!(moment.remove(), Fate::Removed(moment.facts.allocated()));
        assert!(!moment.file().exists());
        assert_eq!(moment.remove(), Fate::Gone);
    }

    #[test]
    fn what_was_touched_since_the_look_stays() {
        let moment = Moment::new();
        age(&moment.file(), SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000));
        assert_eq!(moment.remove(), Fate::Stays);
        assert_eq!(fs::read(moment.file()).unwrap(), b"content");
    }

    #[test]
    fn another_file_in_its_place_stays_however_old() {
        let moment = Moment::new();
        let other = moment.outer.path().join("other");
        fs::write(&other, b"other").unwrap();
        age(&other, old());
        fs::rename(&other, moment.file()).unwrap();
        assert_eq!(moment.remove(), Fate::Stays);
        assert_eq!(fs::read(moment.file()).unwrap(), b"other");
    }

    #[test]
    fn a_link_in_its_place_stays_and_so_does_what_it_points_at() {
        let moment = Moment::new();
        let kept = moment.outer.path().join("kept");
        fs::rename(moment.file(), &kept).unwrap();
        symlink(&kept, moment.file()).unwrap();
        assert_eq!(moment.remove(), Fate::Stays);
        assert!(moment.file().is_symlink() && kept.exists());
    }

    #[test]
    fn a_directory_in_its_place_stays() {
        let moment = Moment::new();
        fs::remove_file(moment.file()).unwrap();
        fs::create_dir(moment.file()).unwrap();
        assert_eq!(moment.remove(), Fate::Stays);
        assert!(moment.file().is_dir());
    }
}
