//! Files with several names: their bytes are freed when the last of these goes, so only that one counts them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::facts::Facts;

/// So many files with several names are followed at once; the bytes of others are not counted.
const FOLLOWED_MAX: usize = 65_536;

/// The names seen to go, of the files that have several.
#[derive(Debug, Default)]
pub(crate) struct Links {
    left: Mutex<HashMap<u64, u32>>,
    lost: AtomicBool,
}

impl Links {
    /// The bytes that are freed when this name goes, after all that were asked about before.
    pub(crate) fn freed(&self, facts: &Facts) -> u64 {
        if facts.links() <= 1 || self.is_last(facts) { facts.allocated() } else { 0 }
    }

    /// Whether there were too many to follow, so that the bytes are too few.
    pub(crate) fn lost_some(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    fn is_last(&self, facts: &Facts) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let full = left.len() >= FOLLOWED_MAX;
        match left.entry(facts.identity().inode) {
            Entry::Occupied(mut entry) => {
                *entry.get_mut() -= 1;
                let last = *entry.get() == 0;
                if last {
                    entry.remove();
                }
                last
            }
            Entry::Vacant(_) if full => {
                self.lost.store(true, Ordering::Relaxed);
                false
            }
            Entry::Vacant(entry) => {
                entry.insert(facts.links() - 1);
                false
            }
        }
    }
}
