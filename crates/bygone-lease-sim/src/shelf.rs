//! The store itself: it keeps its conditions, and makes no promise beyond what object stores make.
//!
//! Versions are checksums of what is stored, as ETags are: two equal bodies are one version. Listings may show the store as it
//! was a while ago.

use std::collections::{BTreeMap, VecDeque};

use bygone_lease::storage::{Listed, Listing, StorageError, Stored, Version};
use bytes::Bytes;

use crate::trace::Digest;

/// How far back a listing may look, in milliseconds.
pub(crate) const LAG_MAX: u64 = 30_000;

/// Everything that is stored.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    values: BTreeMap<String, Stored>,
    /// What was changed lately, and what was there before.
    changes: VecDeque<Change>,
}

#[derive(Debug)]
struct Change {
    at: u64,
    key: String,
    before: Option<Version>,
}

impl Shelf {
    pub(crate) fn get(&self, key: &str) -> Option<&Stored> {
        self.values.get(key)
    }

    /// Everything, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Stored)> {
        self.values.iter().map(|(key, stored)| (key.as_str(), stored))
    }

    /// All keys below a prefix.
    pub(crate) fn below<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        self.values
            .range(prefix.to_owned()..)
            .map(|(key, _)| key.as_str())
            .take_while(move |key| key.starts_with(prefix))
    }

    pub(crate) fn put(
        &mut self,
        at: u64,
        key: &str,
        body: Bytes,
        expected: Option<&Version>,
    ) -> Result<Version, StorageError> {
        let before = self.values.get(key).map(|stored| stored.version.clone());
        if before.as_ref() != expected {
            return Err(StorageError::conflict());
        }
        let mut digest = Digest::default();
        digest.add(&body);
        let version = Version::new(format!("{:016x}", digest.sum()));
        self.values.insert(key.to_owned(), Stored { body, version: version.clone() });
        self.note(at, key, before);
        Ok(version)
    }

    pub(crate) fn delete(&mut self, at: u64, key: &str, version: &Version) -> Result<(), StorageError> {
        let found = self.values.get(key).map(|stored| stored.version.clone());
        if found.as_ref() != Some(version) {
            return Err(StorageError::conflict());
        }
        self.values.remove(key);
        self.note(at, key, found);
        Ok(())
    }

    /// A listing of the store as it was at a time not long ago.
    pub(crate) fn list(&self, prefix: &str, after: Option<&str>, limit: usize, as_of: u64) -> Listing {
        let now = self.values.range(prefix.to_owned()..).take_while(|(key, _)| key.starts_with(prefix));
        let mut view: BTreeMap<&str, &Version> = BTreeMap::new();
        let is_stale = self.changes.back().is_some_and(|change| change.at > as_of);
        let first = after.filter(|after| *after >= prefix);
        let is_behind = |key: &str| first.is_none_or(|after| key > after);
        // Without anything to undo, no more is looked at than is asked for.
        let enough = if is_stale { usize::MAX } else { limit.saturating_add(1) };
        view.extend(now.filter(|(key, _)| is_behind(key)).take(enough).map(|(key, stored)| (&**key, &stored.version)));
        for change in self.changes.iter().rev().take_while(|change| change.at > as_of) {
            if change.key.starts_with(prefix) && is_behind(&change.key) {
                match &change.before {
                    Some(version) => view.insert(&change.key, version),
                    None => view.remove(&*change.key),
                };
            }
        }
        let more = view.len() > limit;
        let listed = |(key, version): (&str, &Version)| Listed { key: key.to_owned(), version: Some(version.clone()) };
        Listing { keys: view.into_iter().take(limit).map(listed).collect(), more }
    }

    fn note(&mut self, at: u64, key: &str, before: Option<Version>) {
        while self.changes.front().is_some_and(|change| change.at.saturating_add(LAG_MAX) < at) {
            self.changes.pop_front();
        }
        self.changes.push_back(Change { at, key: key.to_owned(), before });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(listing: &Listing) -> Vec<&str> {
        listing.keys.iter().map(|listed| listed.key.as_str()).collect()
    }

    #[test]
    fn conditions_are_kept_and_equal_bodies_are_one_version() {
        let mut shelf = Shelf::default();
        let first = shelf.put(0, "a", "1".into(), None).unwrap();
        assert!(shelf.put(0, "a", "1".into(), None).is_err());
        let second = shelf.put(0, "a", "2".into(), Some(&first)).unwrap();
        assert!(shelf.delete(0, "a", &first).is_err());
        assert_eq!(shelf.put(0, "a", "1".into(), Some(&second)).unwrap(), first);
        shelf.delete(0, "a", &first).unwrap();
        assert!(shelf.get("a").is_none());
    }

    #[test]
    fn a_stale_listing_shows_the_store_as_it_was() {
        let mut shelf = Shelf::default();
        let old = shelf.put(10, "p/a", "1".into(), None).unwrap();
        shelf.put(20, "p/b", "2".into(), None).unwrap();
        shelf.put(20, "q", "2".into(), None).unwrap();
        shelf.put(30, "p/a", "3".into(), Some(&old)).unwrap();
        let gone = shelf.get("p/b").unwrap().version.clone();
        shelf.delete(40, "p/b", &gone).unwrap();
        assert_eq!(names(&shelf.list("p/", None, 9, 40)), ["p/a"]);
        assert_eq!(names(&shelf.list("p/", None, 9, 39)), ["p/a", "p/b"]);
        let then = shelf.list("p/", None, 9, 15);
        assert_eq!((names(&then), then.keys[0].version.as_ref()), (vec!["p/a"], Some(&old)));
        let page = shelf.list("p/", None, 1, 39);
        assert!(page.more);
        assert_eq!(names(&shelf.list("p/", Some("p/a"), 1, 39)), ["p/b"]);
    }
}
