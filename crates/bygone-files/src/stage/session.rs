//! Who has the area open, and whose temporaries are whose.
//!
//! Everybody who opens an area holds a lock on a file of their own in `.bygone/sessions`. The system drops the lock when
//! the process ends, however it ends. So a session file that can be locked belonged to somebody who ended without closing:
//! their temporaries are rubbish, and the manifest and the files may disagree.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::area::Area;
use super::error::StageError;

/// Random names are tried so often; a second try is already unheard of.
const TRIES: usize = 16;

/// Our part of the area, until it is closed.
#[derive(Debug)]
pub(crate) struct Session {
    area: Arc<Area>,
    name: String,
    /// Held for its lock.
    _file: OwnedFd,
    temporaries: AtomicU64,
}

/// A file on its way into the area. It is removed if it does not get there.
#[derive(Debug)]
pub(crate) struct Temporary {
    area: Arc<Area>,
    name: String,
    placed: bool,
}

/// Random bytes, for names that nobody else has chosen.
pub(crate) fn random() -> Result<[u8; 16], StageError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(StageError::Entropy)?;
    Ok(bytes)
}

impl Session {
    pub(crate) fn begin(area: &Arc<Area>) -> Result<Self, StageError> {
        let failed = || StageError::open("write into", area.path());
        for _ in 0..TRIES {
            let name = format!("{:032x}", u128::from_le_bytes(random()?));
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = rustix::fs::openat(area.sessions(), &*name, flags, Mode::RUSR | Mode::WUSR).map_err(failed())?;
            // Between the making and the locking somebody else may have taken the file for that of a dead session.
            let locked = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
            let linked = rustix::fs::fstat(&file).map_err(failed())?.st_nlink > 0;
            if locked && linked {
                return Ok(Self { area: Arc::clone(area), name, _file: file, temporaries: AtomicU64::new(0) });
            }
        }
        Err(failed()(Errno::AGAIN))
    }

    /// A name for a file that only we write.
    pub(crate) fn temporary(&self) -> Temporary {
        let number = self.temporaries.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}.{number}", self.name);
        Temporary { area: Arc::clone(&self.area), name, placed: false }
    }
}

impl Drop for Session {
    /// A clean end: whoever opens the area next has nothing to look after.
    fn drop(&mut self) {
        if let Err(errno) = rustix::fs::unlinkat(self.area.sessions(), &*self.name, AtFlags::empty()) {
            tracing::warn!(%errno, "the session file stays: the next to open the area will look through all of it");
        }
    }
}

impl Temporary {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has left its place among the temporaries.
    pub(crate) fn is_placed(&self) -> bool {
        self.placed
    }

    /// It has become an attachment.
    pub(crate) fn mark_placed(&mut self) {
        self.placed = true;
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.placed {
            return;
        }
        match rustix::fs::unlinkat(self.area.tmp(), &*self.name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => {
                tracing::warn!(name = self.name, %errno, "a temporary file stays until the area is opened anew");
            }
        }
    }
}

/// The sessions of those who ended without closing. Their locks are ours as long as this lives.
#[derive(Debug, Default)]
pub(crate) struct Dead {
    sessions: Vec<(String, OwnedFd)>,
}

impl Dead {
    pub(crate) fn find(area: &Area) -> Result<Self, StageError> {
        let mut sessions = Vec::new();
        for name in names(area.sessions(), area)? {
            if let Some(file) = lock_of_the_dead(area, &name)? {
                sessions.push((name, file));
            }
        }
        Ok(Self { sessions })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Forgets them, after everything of theirs is looked after.
    pub(crate) fn forget(self, area: &Area) {
        for (name, _lock) in &self.sessions {
            if let Err(errno) = rustix::fs::unlinkat(area.sessions(), &**name, AtFlags::empty()) {
                tracing::warn!(name, %errno, "the file of a dead session stays");
            }
        }
    }
}

/// Removes the temporaries of all who are no longer there; says how many.
pub(crate) fn remove_dead_temporaries(area: &Area, dead: &Dead) -> Result<u64, StageError> {
    let mut removed = 0;
    for name in names(area.tmp(), area)? {
        let session = name.split('.').next().unwrap_or(&name);
        if !dead.sessions.iter().any(|(name, _)| name == session) && is_alive(area, session)? {
            continue;
        }
        match rustix::fs::unlinkat(area.tmp(), &*name, AtFlags::empty()) {
            Ok(()) => removed += 1,
            Err(Errno::NOENT) => {}
            Err(errno) => tracing::warn!(name, %errno, "a temporary file of a dead session stays"),
        }
    }
    Ok(removed)
}

/// A session's file is there before its first temporary, and goes after its last: without one, nobody is there.
fn is_alive(area: &Area, session: &str) -> Result<bool, StageError> {
    match rustix::fs::statat(area.sessions(), session, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(errno) => Err(StageError::open("look through", area.path())(errno)),
    }
}

fn lock_of_the_dead(area: &Area, name: &str) -> Result<Option<OwnedFd>, StageError> {
    let failed = || StageError::open("look through", area.path());
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(area.sessions(), name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        opened => opened.map_err(failed())?,
    };
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => return Ok(None),
        locked => locked.map_err(failed())?,
    }
    // It may have been closed cleanly between the two calls.
    Ok((rustix::fs::fstat(&file).map_err(failed())?.st_nlink > 0).then_some(file))
}

/// The names in a directory of ours. There are as many as there are processes and stages under way.
fn names(directory: &OwnedFd, area: &Area) -> Result<Vec<String>, StageError> {
    let failed = || StageError::open("look through", area.path());
    let mut names = Vec::new();
    for entry in Dir::read_from(directory).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        let name = entry.file_name().to_string_lossy();
        if name != "." && name != ".." {
            names.push(name.into_owned());
        }
    }
    Ok(names)
}
