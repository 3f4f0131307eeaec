//! One page: some names looked at, what is past its time removed, the rest of the walk left for the next.
//!
//! Names that stay cost a look but are no items of the page, so a page ends by looks as well as by items: otherwise a tree
//! in which little is due would be one endless page.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bygone_core::{Care, Tally};
use rustix::io::Errno;

use super::census::is_item;
use super::directory::{Directory, Work};
use super::facts::Facts;
use super::hands::{hands, with_hands};
use super::held::Held;
use super::removal::{Fate, Found, Remover};
use super::stamp::{Age, Stamp};
use super::swaps::Swaps;
use super::walk::{Bar, Barred, Batch, Guide, Step, Walk};

/// A page looks at this many names at least: a budget of one item must not cost a page per name.
const LOOKS_MIN: u64 = 1_024;
/// Fewer items than this are not worth a second thread.
const ITEMS_SHARED: u64 = 128;
/// Names are handed out so that each pair of hands comes for more at least this often: they end together.
const BATCHES_EACH: usize = 4;
/// Fewer names than this are not worth the handing out.
const BATCH_NAMES_MIN: usize = 64;

/// What a page did.
#[derive(Debug, Default)]
pub(crate) struct Swept {
    pub(crate) tally: Tally,
    /// A directory from which something was removed, the last one known.
    pub(crate) touched: Option<Arc<OwnedFd>>,
    pub(crate) swaps: Swaps,
}

/// Sweeps a page of at most `limit` items.
pub(crate) fn sweep(guide: Guide<'_>, walk: &mut Walk, held: &Held, limit: u64, care: Care) -> Swept {
    let looks = limit.max(LOOKS_MIN);
    let allowance = AtomicU64::new(limit);
    let linked = Mutex::new(());
    let hands = if limit < ITEMS_SHARED { 1 } else { hands() };
    let looks = usize::try_from(looks).unwrap_or(usize::MAX);
    // Large batches: two hands in one directory wait for each other, since the system changes one only for one at a time.
    let batch = (looks / (hands * BATCHES_EACH)).max(BATCH_NAMES_MIN);
    let handout = Mutex::new(Handout { walk, looks, batch });
    let remover =
        Remover { age: guide.judge.age, dated: guide.judge.is_dated(), reach: guide.reach, held, linked: &linked };
    let parts = with_hands(hands, || {
        let mut page = PageHand {
            guide,
            handout: &handout,
            allowance: &allowance,
            remover,
            care,
            path: Vec::new(),
            swept: Swept::default(),
        };
        page.sweep();
        page.swept
    });
    let mut swept = Swept { tally: Tally { bytes: Some(0), ..Tally::default() }, ..Swept::default() };
    for part in parts {
        swept.tally.add(&part.tally);
        swept.swaps.add(part.swaps);
        swept.touched = part.touched.or(swept.touched);
    }
    swept
}

/// The walk, how many names of it the page may still look at, and how many of them at once.
struct Handout<'a> {
    walk: &'a mut Walk,
    looks: usize,
    batch: usize,
}

/// One pair of hands at a page.
struct PageHand<'a> {
    guide: Guide<'a>,
    handout: &'a Mutex<Handout<'a>>,
    allowance: &'a AtomicU64,
    remover: Remover<'a>,
    care: Care,
    path: Vec<u8>,
    swept: Swept,
}

impl PageHand<'_> {
    fn sweep(&mut self) {
        while let Some(step) = self.next() {
            match step {
                Step::Barred(barred) => self.note(barred),
                Step::Finished(directory) => self.finish(directory),
                Step::Names(batch) => self.sweep_names(batch),
            }
        }
    }

    fn next(&self) -> Option<Step> {
        if self.allowance.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut handout = self.handout.lock().unwrap_or_else(PoisonError::into_inner);
        if handout.looks == 0 {
            return None;
        }
        let most = handout.looks.min(handout.batch);
        let step = handout.walk.next(self.guide, most)?;
        handout.looks -= if let Step::Names(batch) = &step { batch.end - batch.next } else { 1 };
        Some(step)
    }

    fn with_walk(&self, act: impl FnOnce(&mut Walk)) {
        act(self.handout.lock().unwrap_or_else(PoisonError::into_inner).walk);
    }

    /// Takes one item out of what the page may examine.
    fn may_examine(&self) -> bool {
        self.allowance.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1)).is_ok()
    }

    /// Counts what became of an item that was taken out. True when its name is gone.
    fn count(&mut self, fate: Fate) -> bool {
        let tally = &mut self.swept.tally;
        match fate {
            Fate::Removed(bytes) => {
                tally.removed += 1;
                *tally.bytes.get_or_insert(0) += bytes;
            }
            Fate::Swapped => tally.removed += 1,
            Fate::Locked => tally.kept_back.locked += 1,
            Fate::Conflict => tally.kept_back.conflict += 1,
            Fate::Gone | Fate::Stays => {
                self.allowance.fetch_add(1, Ordering::AcqRel);
                return fate == Fate::Gone;
            }
        }
        tally.examined += 1;
        matches!(fate, Fate::Removed(_) | Fate::Swapped)
    }

    /// A directory that is not entered may hold what is past its time. Mount points are none of the policy's business.
    fn note(&mut self, barred: Barred) {
        let fate = match barred.why {
            Bar::Mount => return,
            Bar::Locked => Fate::Locked,
            Bar::Deep | Bar::Closed(_) => Fate::Conflict,
        };
        if self.may_examine() {
            tracing::debug!(directory = %shown(&barred.path), why = ?barred.why, "a directory is not entered");
            self.count(fate);
        } else {
            self.with_walk(|walk| walk.give_back(Step::Barred(barred)));
        }
    }

    fn finish(&mut self, directory: Directory) {
        if !self.may_examine() {
            return self.with_walk(|walk| walk.give_back(Step::Finished(directory)));
        }
        let fate = match self.care {
            Care::KeepBack => Fate::Conflict,
            _ => self.remover.remove_directory(&directory),
        };
        let gone = self.count(fate);
        let Some(place) = directory.into_place() else { return };
        if gone {
            place.parent.mark_emptied();
            self.swept.touched = Some(Arc::clone(place.parent.handle()));
        } else {
            place.parent.mark_stays();
        }
        self.with_walk(|walk| walk.release(place.parent));
    }

    fn sweep_names(&mut self, batch: Batch) {
        let directory = Arc::clone(&batch.directory);
        let rest = self.sweep_batch(batch);
        self.with_walk(|walk| {
            if let Some(rest) = rest {
                walk.give_back(Step::Names(rest));
            }
            walk.release(directory);
        });
    }

    /// Goes through a batch; gives back what the page may not examine any more.
    fn sweep_batch(&mut self, mut batch: Batch) -> Option<Batch> {
        let (directory, names) = (Arc::clone(&batch.directory), Arc::clone(&batch.names));
        // Taken when the first item is due: most batches of a tree at rest have none.
        let mut ground: Option<Ground<'_>> = None;
        for at in batch.next..batch.end {
            let Some((facts, stamp)) = self.look(&batch, at) else { continue };
            if !self.may_examine() {
                batch.next = at;
                return Some(batch);
            }
            let found = Found { directory: &directory, name: names.name(at), facts: &facts, stamp };
            let fate = match ground.get_or_insert_with(|| Ground::of(&directory, self.remover.age)) {
                _ if !self.guide.reach.takes(stamp, &facts) => Fate::Stays,
                _ if self.care == Care::KeepBack => Fate::Conflict,
                Ground::Ours(_) => self.remover.remove(found),
                Ground::Locked => Fate::Locked,
                Ground::Moved => Fate::Stays,
            };
            if fate == Fate::Swapped {
                directory.path_of(found.name, &mut self.path);
                self.swept.swaps.note(shown(&self.path).to_string());
            }
            if self.count(fate) {
                directory.mark_emptied();
                self.swept.touched = Some(Arc::clone(directory.handle()));
            } else {
                directory.mark_stays();
            }
        }
        None
    }

    /// Looks at a name; `None` when it surely stays, or is gone.
    fn look(&mut self, batch: &Batch, at: usize) -> Option<(Facts, Stamp)> {
        let Guide { root, judge, reach } = self.guide;
        let (directory, name) = (&batch.directory, batch.names.name(at));
        let looked = if judge.covers(directory, name, &mut self.path) {
            match Facts::of_name(directory, name, judge.age) {
                Err(Errno::NOENT) => return None,
                looked => looked.ok(),
            }
        } else {
            None
        };
        let here = |facts: &Facts| facts.identity().device == root.facts().identity().device;
        let found = looked
            .filter(|facts| is_item(facts.kind()) && here(facts))
            .and_then(|facts| judge.stamp(directory, name, &facts, &mut self.path).map(|stamp| (facts, stamp)))
            .filter(|(_, stamp)| reach.may_take(*stamp));
        if found.is_none() {
            directory.mark_stays();
        }
        found
    }
}

/// Whether a directory may be worked in.
enum Ground<'a> {
    /// It is where it was found, and locked for us while this lives.
    Ours(#[expect(dead_code, reason = "held for its end")] Work<'a>),
    /// Somebody else has locked it.
    Locked,
    /// It hangs elsewhere by now.
    Moved,
}

impl<'a> Ground<'a> {
    fn of(directory: &'a Directory, age: Age) -> Self {
        match directory.begin_work() {
            None => Self::Locked,
            Some(_) if !directory.is_in_place(age) => Self::Moved,
            Some(work) => Self::Ours(work),
        }
    }
}

fn shown(path: &[u8]) -> std::path::Display<'_> {
    Path::new(OsStr::from_bytes(path)).display()
}
