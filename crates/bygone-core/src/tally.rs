//! Counts: what was examined, removed and kept back, and why.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Items that are bygone, or might be, and were left where they are; by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptBack {
    /// Something that lives points at them.
    pub referenced: u64,
    /// Somebody else held them.
    pub locked: u64,
    /// Their deadline is absent or cannot be read.
    pub unreadable: u64,
    /// The source refused to let go of them.
    pub conflict: u64,
}

impl KeptBack {
    /// All reasons together.
    pub fn total(&self) -> u64 {
        self.referenced + self.locked + self.unreadable + self.conflict
    }
}

/// What pages did. `examined = removed + cleared + kept_back`, always.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Items looked at because the policy covers them.
    pub examined: u64,
    /// Items gone.
    pub removed: u64,
    /// Items emptied of what the policy names, but not gone.
    pub cleared: u64,
    /// Items left, by reason.
    pub kept_back: KeptBack,
    /// Items removed along with theirs, by table.
    pub children: BTreeMap<String, u64>,
    /// Bytes freed, where the source knows.
    pub bytes: Option<u64>,
}

impl Tally {
    /// A page that removed everything it examined.
    pub fn removed(items: u64) -> Self {
        Self { examined: items, removed: items, ..Self::default() }
    }

    /// Items that are no longer what they were.
    pub fn done(&self) -> u64 {
        self.removed + self.cleared
    }

    /// Adds another tally to this one.
    pub fn add(&mut self, other: &Self) {
        self.examined += other.examined;
        self.removed += other.removed;
        self.cleared += other.cleared;
        self.kept_back.referenced += other.kept_back.referenced;
        self.kept_back.locked += other.kept_back.locked;
        self.kept_back.unreadable += other.kept_back.unreadable;
        self.kept_back.conflict += other.kept_back.conflict;
        for (table, count) in &other.children {
            *self.children.entry(table.clone()).or_default() += count;
        }
        if let Some(bytes) = other.bytes {
            *self.bytes.get_or_insert(0) += bytes;
        }
    }

    /// Whether the counts add up.
    pub fn adds_up(&self) -> bool {
        self.examined == self.removed + self.cleared + self.kept_back.total()
    }
}
