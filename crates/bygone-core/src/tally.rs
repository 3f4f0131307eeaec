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

#[cfg(test)]
mod tests {
    use super::*;

    /// A tally in which every count is another one.
    fn of_all_kinds() -> Tally {
        Tally {
            examined: 2 + 3 + 5 + 7 + 11 + 13,
            removed: 2,
            cleared: 3,
            kept_back: KeptBack { referenced: 5, locked: 7, unreadable: 11, conflict: 13 },
            children: BTreeMap::from([("tokens".to_owned(), 17)]),
            bytes: Some(19),
        }
    }

    #[test]
    fn tallies_are_added_count_by_count() {
        let mut sum = of_all_kinds();
        sum.add(&of_all_kinds());
        let twice = Tally {
            examined: 82,
            removed: 4,
            cleared: 6,
            kept_back: KeptBack { referenced: 10, locked: 14, unreadable: 22, conflict: 26 },
            children: BTreeMap::from([("tokens".to_owned(), 34)]),
            bytes: Some(38),
        };
        assert_eq!(sum, twice);
        let mut unknown = Tally::default();
        unknown.add(&Tally::default());
        assert_eq!(unknown.bytes, None, "what nobody knows is not zero");
        unknown.add(&of_all_kinds());
        assert_eq!(unknown, of_all_kinds());
    }

    #[test]
    fn what_was_examined_is_all_that_became_of_it() {
        let tally = of_all_kinds();
        assert_eq!((tally.done(), tally.kept_back.total()), (5, 36));
        assert!(tally.adds_up() && Tally::default().adds_up() && Tally::removed(7).adds_up());
        assert_eq!((Tally::removed(7).examined, Tally::removed(7).removed), (7, 7));
        for examined in [tally.examined - 1, tally.examined + 1] {
            assert!(!Tally { examined, ..tally.clone() }.adds_up());
        }
    }
}
