//! The reference target: a shelf of items in memory.
//!
//! It is the smallest thing that keeps the whole contract, and so the measure of the conformance suite. It can
//! also misbehave on purpose: items may be locked, or refuse to go, so that the loop can be tested without a
//! server.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::{Boundary, Care, Cursor, ErrorKind, KeptBack, Page, PageRequest, Survey, Tally, Target, TargetError};

/// Something with a deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its name on the shelf.
    pub key: String,
    /// Its deadline; `None` stands for one that is absent or unreadable.
    pub deadline: Option<Timestamp>,
    /// Somebody else holds it.
    pub locked: bool,
    /// It cannot be removed.
    pub stuck: bool,
}

impl Item {
    /// An item with a deadline.
    pub fn due(key: impl Into<String>, deadline: Timestamp) -> Self {
        Self { key: key.into(), deadline: Some(deadline), locked: false, stuck: false }
    }
}

/// A shared shelf; clones see the same items.
#[derive(Clone, Debug, Default)]
pub struct Shelf {
    items: Arc<Mutex<BTreeMap<String, Item>>>,
}

impl Shelf {
    /// A shelf with these items.
    pub fn new(items: impl IntoIterator<Item = Item>) -> Self {
        let items = items.into_iter().map(|item| (item.key.clone(), item)).collect();
        Self { items: Arc::new(Mutex::new(items)) }
    }

    /// Puts an item there, or changes the one of that key.
    pub fn put(&self, item: Item) {
        self.lock().insert(item.key.clone(), item);
    }

    /// Every key on the shelf, in order.
    pub fn keys(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    /// Every item on the shelf, in the order of keys.
    pub fn items(&self) -> Vec<Item> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Item>> {
        self.items.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Sweeps a [`Shelf`] in (deadline, key) order.
#[derive(Debug)]
pub struct MemoryTarget {
    policy: String,
    shelf: Shelf,
    keep: SignedDuration,
    /// The places that it keeps to: behind the first, up to the second.
    part: (Option<String>, Option<String>),
}

impl MemoryTarget {
    /// A policy that removes from the shelf what is past its deadline.
    pub fn new(policy: impl Into<String>, shelf: Shelf) -> Self {
        Self { policy: policy.into(), shelf, keep: SignedDuration::ZERO, part: (None, None) }
    }

    /// The same, with a time to keep items after their deadline.
    #[must_use]
    pub fn keeping(mut self, keep: SignedDuration) -> Self {
        self.keep = keep;
        self
    }

    /// The bygone items behind the cursor, in order.
    fn due(&self, items: &BTreeMap<String, Item>, boundary: Boundary, cursor: Option<&Cursor>) -> Vec<(String, Item)> {
        let (begin, end) = &self.part;
        let mut due: Vec<_> = items
            .values()
            .filter_map(|item| item.deadline.map(|deadline| (position(deadline, &item.key), deadline, item)))
            .filter(|(place, deadline, _)| {
                boundary.passed(*deadline, self.keep)
                    && cursor.is_none_or(|c| place.as_str() > c.as_str())
                    && begin.as_ref().is_none_or(|begin| place > begin)
                    && end.as_ref().is_none_or(|end| place <= end)
            })
            .map(|(place, _, item)| (place, item.clone()))
            .collect();
        due.sort_by(|a, b| a.0.cmp(&b.0));
        due
    }
}

/// A text that sorts as (deadline, key) does.
fn position(deadline: Timestamp, key: &str) -> String {
    let since_min = deadline.as_nanosecond() - Timestamp::MIN.as_nanosecond();
    format!("{since_min:032} {key}")
}

#[async_trait]
impl Target for MemoryTarget {
    fn policy(&self) -> &str {
        &self.policy
    }

    fn source(&self) -> &'static str {
        "memory"
    }

    async fn survey(&mut self, boundary: Boundary) -> Result<Survey, TargetError> {
        let items = self.shelf.lock();
        let due = self.due(&items, boundary, None);
        let unreadable = items.values().filter(|item| item.deadline.is_none()).count();
        Ok(Survey {
            bygone: Some(due.len() as u64),
            unreadable: unreadable as u64,
            oldest: due.first().and_then(|(_, item)| item.deadline),
            bytes: None,
            warnings: Vec::new(),
            requests: 1,
        })
    }

    async fn holds_at_least(&mut self, items: u64) -> Result<bool, TargetError> {
        Ok(self.shelf.lock().len() as u64 >= items)
    }

    async fn parts(&mut self, boundary: Boundary, workers: usize) -> Result<Vec<Box<dyn Target>>, TargetError> {
        let places: Vec<String> =
            self.due(&self.shelf.lock(), boundary, None).into_iter().map(|(place, _)| place).collect();
        if places.len() < 2 || workers < 2 {
            return Ok(Vec::new());
        }
        let mut parts: Vec<Box<dyn Target>> = Vec::new();
        let mut begin = None;
        let chunks: Vec<_> = places.chunks(places.len().div_ceil(workers)).collect();
        for (at, chunk) in chunks.iter().enumerate() {
            // What comes later belongs to the last.
            let end = chunk.last().cloned().filter(|_| at + 1 < chunks.len());
            let part = (std::mem::replace(&mut begin, end.clone()), end);
            let whole = Self::new(self.policy.clone(), self.shelf.clone()).keeping(self.keep);
            parts.push(Box::new(Self { part, ..whole }));
        }
        Ok(parts)
    }

    async fn page(&mut self, request: PageRequest<'_>) -> Result<Page, TargetError> {
        let mut items = self.shelf.lock();
        let due = self.due(&items, request.boundary, request.cursor);
        let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
        let page = &due[..limit.min(due.len())];
        if request.care == Care::Swift && page.iter().any(|(_, item)| item.locked) {
            return Err(TargetError::new(ErrorKind::Contended, "an item is locked"));
        }
        let removable = |item: &Item| !item.locked && request.care != Care::KeepBack;
        if let Some((_, item)) = page.iter().find(|(_, item)| item.stuck && removable(item)) {
            return Err(TargetError::new(ErrorKind::Item, format!("{} cannot be removed", item.key)));
        }
        let mut tally = Tally { examined: page.len() as u64, ..Tally::default() };
        for (_, item) in page {
            match request.care {
                Care::KeepBack => tally.kept_back.conflict += 1,
                _ if item.locked => tally.kept_back.locked += 1,
                _ => {
                    items.remove(&item.key);
                    tally.removed += 1;
                }
            }
        }
        debug_assert_eq!(tally.examined, tally.removed + KeptBack::total(&tally.kept_back));
        let more = page.len() < due.len();
        let next = page.last().filter(|_| more).map(|(place, _)| Cursor::new(place.clone()));
        Ok(Page { tally, requests: 1, next })
    }

    async fn settle(&mut self) -> Result<(), TargetError> {
        Ok(())
    }

    async fn lag(&mut self, boundary: Boundary) -> Result<Option<SignedDuration>, TargetError> {
        let items = self.shelf.lock();
        let oldest = self.due(&items, boundary, None).into_iter().next().and_then(|(_, item)| item.deadline);
        Ok(oldest.and_then(|deadline| boundary.cutoff(self.keep).map(|cutoff| cutoff.duration_since(deadline))))
    }
}
