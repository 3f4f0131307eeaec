//! Records that were seen last, so that the next step on a key needs no read.
//!
//! Nothing is concluded from them: a swap proves what they say, and whatever cannot be proven by a swap is read anew.

use std::num::NonZero;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use crate::record::Record;
use crate::storage::Version;

/// A record as it was read or written.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) record: Record,
    pub(crate) version: Version,
}

#[derive(Debug)]
pub(crate) struct Cache {
    seen: Mutex<LruCache<String, Seen>>,
}

impl Cache {
    pub(crate) fn new(records_max: usize) -> Self {
        let size = NonZero::new(records_max).unwrap_or(NonZero::<usize>::MIN);
        Self { seen: Mutex::new(LruCache::new(size)) }
    }

    pub(crate) fn get(&self, path: &str) -> Option<Seen> {
        self.seen().get(path).cloned()
    }

    pub(crate) fn keep(&self, path: &str, seen: Seen) {
        self.seen().put(path.to_owned(), seen);
    }

    pub(crate) fn forget(&self, path: &str) {
        self.seen().pop(path);
    }

    fn seen(&self) -> MutexGuard<'_, LruCache<String, Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
