//! The walk through a tree: depth first, one open directory and one buffer of names a level.
//!
//! It only lists. Names are handed out in batches, with the directory that they stand in, so that several hands can look
//! at them and remove them; a directory comes back as finished when everybody is done with it. What a page could not take
//! any more is given back, and comes first in the next one.

use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::fs::FileType;
use rustix::io::Errno;

use super::directory::{Directory, Place};
use super::facts::Facts;
use super::judge::{Judge, Reach};
use super::listing::{Lister, Names};
use super::root::Root;

/// The most levels below the root: each holds a handle, and processes have a limited number of them.
pub(crate) const DEPTH_MAX: u32 = 256;
/// What the walk comes upon.
#[derive(Debug)]
pub(crate) enum Step {
    /// Names that are, or were when listed, no directories.
    Names(Batch),
    /// A directory that is past its time and in which nothing stays, as far as anybody saw.
    Finished(Directory),
    /// A directory that is not entered.
    Barred(Barred),
}

/// Some names of a directory.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) directory: Arc<Directory>,
    pub(crate) names: Arc<Names>,
    pub(crate) next: usize,
    pub(crate) end: usize,
}

/// A directory that is not entered.
#[derive(Debug)]
pub(crate) struct Barred {
    pub(crate) why: Bar,
    pub(crate) path: Vec<u8>,
}

/// Why a directory is not entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bar {
    /// Another file system, or another mount of the same.
    Mount,
    /// Deeper than handles reach.
    Deep,
    /// It cannot be opened or read.
    Closed(Errno),
    /// Somebody has locked it.
    Locked,
}

/// What a walk is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Counting: no lock is so much as tried.
    Look,
    /// Removing: what others have locked is not entered.
    Sweep,
}

/// What a walk needs to know; it changes between walks only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guide<'a> {
    pub(crate) root: &'a Root,
    pub(crate) judge: &'a Judge,
    pub(crate) reach: &'a Reach,
}

#[derive(Debug)]
struct Level {
    directory: Arc<Directory>,
    names: Arc<Names>,
    next: usize,
}

/// A walk on its way.
#[derive(Debug)]
pub(crate) struct Walk {
    purpose: Purpose,
    levels: Vec<Level>,
    /// Given back, and directories that were finished: what comes before the walk goes on.
    waiting: Vec<Step>,
    lister: Lister,
    path: Vec<u8>,
    entered: u64,
}

impl Walk {
    pub(crate) fn begin(guide: Guide<'_>, purpose: Purpose) -> Self {
        let mut walk = Self {
            purpose,
            levels: Vec::new(),
            waiting: Vec::new(),
            lister: Lister::new(),
            path: Vec::new(),
            entered: 0,
        };
        match guide.root.directory(guide.judge.age) {
            Ok(root) if walk.is_locked(&root) => walk.bar(Bar::Locked, &[]),
            Ok(root) => walk.enter(root),
            // The root is gone, and all that was in it.
            Err(Errno::NOENT) => {}
            Err(error) => walk.bar(Bar::Closed(error), &[]),
        }
        walk
    }

    /// Whether nothing is left, once everybody has let go of what they were handed.
    pub(crate) fn is_done(&self) -> bool {
        self.levels.is_empty() && self.waiting.is_empty()
    }

    /// Directories that were entered, without the root.
    pub(crate) fn entered(&self) -> u64 {
        self.entered
    }

    /// The next step, with at most so many names; `None` when there is nothing to hand out now.
    pub(crate) fn next(&mut self, guide: Guide<'_>, names_max: usize) -> Option<Step> {
        loop {
            match self.waiting.pop() {
                Some(Step::Names(batch)) => return Some(self.split(batch, names_max)),
                Some(step) => return Some(step),
                None => {}
            }
            let level = self.levels.last_mut()?;
            if level.next == level.names.len() {
                self.list_on();
                continue;
            }
            let at = level.next;
            if level.names.kind(at) == FileType::Directory {
                level.next += 1;
                let (directory, names) = (Arc::clone(&level.directory), Arc::clone(&level.names));
                self.descend(guide, &directory, &names, at);
                self.release(directory);
                continue;
            }
            let most = level.names.len().min(at.saturating_add(names_max));
            let end = (at..most).find(|&at| level.names.kind(at) == FileType::Directory).unwrap_or(most);
            level.next = end;
            let (directory, names) = (Arc::clone(&level.directory), Arc::clone(&level.names));
            return Some(Step::Names(Batch { directory, names, next: at, end }));
        }
    }

    /// Takes back what was handed out and not done.
    pub(crate) fn give_back(&mut self, step: Step) {
        self.waiting.push(step);
    }

    /// Lets go of a directory. The last to do so finishes it: it waits to be removed, or else its parent must stay too.
    pub(crate) fn release(&mut self, directory: Arc<Directory>) {
        let mut released = Some(directory);
        while let Some(directory) = released.take().and_then(Arc::into_inner) {
            if directory.place().is_some() && directory.may_go() {
                self.waiting.push(Step::Finished(directory));
                return;
            }
            released = directory.into_place().map(|Place { parent, .. }| {
                parent.mark_stays();
                parent
            });
        }
    }

    fn split(&mut self, batch: Batch, names_max: usize) -> Step {
        let end = batch.end.min(batch.next.saturating_add(names_max));
        if end < batch.end {
            let (directory, names) = (Arc::clone(&batch.directory), Arc::clone(&batch.names));
            self.waiting.push(Step::Names(Batch { directory, names, next: end, end: batch.end }));
        }
        Step::Names(Batch { end, ..batch })
    }

    /// Reads more names of the deepest directory, or leaves it at its end.
    fn list_on(&mut self) {
        let Some(level) = self.levels.last_mut() else { return };
        match self.lister.next(level.directory.as_fd()) {
            Ok(names) if names.len() > 0 => {
                (level.names, level.next) = (Arc::new(names), 0);
                return;
            }
            // Removed while it was read: it is gone with all that was in it.
            Ok(_) | Err(Errno::NOENT) => {}
            Err(error) => {
                level.directory.mark_stays();
                let path = level.directory.path().to_vec();
                self.bar(Bar::Closed(error), &path);
            }
        }
        if let Some(level) = self.levels.pop() {
            self.release(level.directory);
        }
    }

    fn descend(&mut self, guide: Guide<'_>, parent: &Arc<Directory>, names: &Names, at: usize) {
        let name = names.name(at);
        if guide.judge.closes(parent, name, &mut self.path) {
            return parent.mark_stays();
        }
        let mut path = Vec::new();
        parent.path_of(name, &mut path);
        if parent.depth() >= DEPTH_MAX {
            parent.mark_stays();
            return self.bar(Bar::Deep, &path);
        }
        let handle = match guide.root.opener().open(parent, name) {
            Ok(handle) => handle,
            Err(Errno::NOENT) => return,
            // By now it is a file or a link, which is not what was listed: the next sweep looks at it.
            Err(Errno::NOTDIR | Errno::LOOP) => return parent.mark_stays(),
            Err(error) => {
                parent.mark_stays();
                return self.bar(if error == Errno::XDEV { Bar::Mount } else { Bar::Closed(error) }, &path);
            }
        };
        let facts = match Facts::of_directory(&handle, guide.judge.age) {
            Ok(facts) => facts,
            Err(error) => {
                parent.mark_stays();
                return self.bar(Bar::Closed(error), &path);
            }
        };
        if !guide.root.is_on_same_mount(&facts) {
            parent.mark_stays();
            return self.bar(Bar::Mount, &path);
        }
        // Where the file system itself puts what it found after a crash.
        if guide.root.facts().is_mount_root() && path == b"lost+found" && facts.owner() == 0 {
            return parent.mark_stays();
        }
        let due = guide.judge.empty_dirs
            && guide.judge.covers(parent, name, &mut self.path)
            && facts.stamp().is_some_and(|stamp| guide.reach.takes_directory(stamp));
        let directory = Directory::below(parent, name, handle, &facts);
        if self.is_locked(&directory) {
            parent.mark_stays();
            return self.bar(Bar::Locked, &path);
        }
        self.entered += 1;
        self.enter(if due { directory.due() } else { directory });
    }

    fn is_locked(&self, directory: &Directory) -> bool {
        self.purpose == Purpose::Sweep && directory.is_locked()
    }

    fn enter(&mut self, directory: Directory) {
        self.levels.push(Level { directory: Arc::new(directory), names: Arc::default(), next: 0 });
    }

    fn bar(&mut self, why: Bar, path: &[u8]) {
        self.waiting.push(Step::Barred(Barred { why, path: path.to_vec() }));
    }
}
