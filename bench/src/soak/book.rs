//! What writers know of what they wrote: until when each item must be there, and from when on it is due.
//!
//! Nobody but the writers decides what is early. A book is held against what is really there, read by means that share no
//! code with bygone. Where a writer was not answered, the book claims less: not that the item is there, but that it goes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;

use super::chance::Chance;
use super::part::Part;

/// What holds for an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Promise {
    /// It is there at least as long.
    pub(super) until: Timestamp,
    /// It is past its time from then on.
    pub(super) due: Timestamp,
}

impl Promise {
    /// It is there up to this moment, and due right after.
    pub(super) fn until(due: Timestamp) -> Self {
        Self { until: due, due }
    }

    /// It stays for ever.
    pub(super) fn for_ever() -> Self {
        Self::until(Timestamp::MAX)
    }

    /// Perhaps it was never written; if it was, it is due at this moment.
    pub(super) fn doubtful(due: Timestamp) -> Self {
        Self { until: Timestamp::MIN, due }
    }
}

/// Something that was gone although its time had not come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Early {
    pub(super) part: Part,
    pub(super) id: String,
    pub(super) until: Timestamp,
    pub(super) missed: Timestamp,
}

/// What a look at what is there found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) early: Vec<Early>,
    /// Items that are past their time and there.
    pub(super) overdue: u64,
    /// How long the oldest of them has been past its time.
    pub(super) lag: Duration,
    /// Items that are there, and of which the book knows that they were gone.
    pub(super) strangers: u64,
}

/// The book of a part.
#[derive(Debug)]
pub(super) struct Book {
    part: Part,
    pages: Mutex<Pages>,
}

#[derive(Debug, Default)]
struct Pages {
    promises: BTreeMap<String, Promise>,
    written: u64,
    gone: u64,
}

/// What was in the book before a look.
#[derive(Debug)]
pub(super) struct Before {
    promises: BTreeMap<String, Promise>,
    from: Timestamp,
}

impl Book {
    pub(super) fn new(part: Part) -> Self {
        Self { part, pages: Mutex::default() }
    }

    pub(super) fn part(&self) -> Part {
        self.part
    }

    /// Enters an item, or something new about it.
    pub(super) fn enter(&self, id: impl Into<String>, promise: Promise) {
        let mut pages = self.pages();
        if pages.promises.insert(id.into(), promise).is_none() {
            pages.written += 1;
        }
    }

    /// Enters an item that was not there when it was written: if the book has it, it had gone between two looks.
    pub(super) fn enter_anew(&self, id: impl Into<String>, promise: Promise) {
        let mut pages = self.pages();
        pages.written += 1;
        if pages.promises.insert(id.into(), promise).is_some() {
            pages.gone += 1;
        }
    }

    /// The deadline was moved; `is_sure` if that was answered.
    pub(super) fn move_to(&self, id: &str, due: Timestamp, is_sure: bool) {
        if let Some(promise) = self.pages().promises.get_mut(id) {
            *promise = if is_sure {
                Promise::until(due)
            } else {
                Promise { until: promise.until.min(due), due: promise.due.max(due) }
            };
        }
    }

    /// The writer takes it away himself. Called before he does.
    pub(super) fn strike(&self, id: &str) -> bool {
        self.pages().promises.remove(id).is_some()
    }

    /// Some items whose time comes within this, or has just come, by chance.
    pub(super) fn some(&self, chance: &mut Chance, count: usize, from: Timestamp, to: Timestamp) -> Vec<String> {
        let pages = self.pages();
        let near: Vec<&String> = pages
            .promises
            .iter()
            .filter(|(_, promise)| (from..=to).contains(&promise.due) && promise.until > Timestamp::MIN)
            .map(|(id, _)| id)
            .collect();
        let picked: BTreeSet<&String> = (0..count).filter_map(|_| chance.pick(&near)).collect();
        picked.into_iter().cloned().collect()
    }

    /// To be called before a look.
    pub(super) fn before(&self, now: Timestamp) -> Before {
        Before { promises: self.pages().promises.clone(), from: now }
    }

    /// Holds what is there against the book, and forgets what has gone in time. `now` is when the look was over.
    pub(super) fn compare(&self, before: &Before, there: &BTreeSet<String>, now: Timestamp) -> Finding {
        let mut pages = self.pages();
        let mut finding = Finding::default();
        for (id, was) in &before.promises {
            // Whoever struck it out has taken it away himself.
            let Some(is) = pages.promises.get(id).copied() else { continue };
            if there.contains(id) {
                // Moved meanwhile: it was not due.
                let due = is.due.max(was.due);
                if due < before.from {
                    finding.overdue += 1;
                    let lag = Duration::try_from(before.from.duration_since(due)).unwrap_or_default();
                    finding.lag = finding.lag.max(lag);
                }
                continue;
            }
            if was.until > now {
                finding.early.push(Early { part: self.part, id: id.clone(), until: was.until, missed: now });
            }
            if is == *was {
                pages.promises.remove(id);
                pages.gone += 1;
            }
        }
        let strangers = there.iter().filter(|id| !pages.promises.contains_key(*id)).count();
        finding.strangers = u64::try_from(strangers).unwrap_or(u64::MAX);
        finding
    }

    /// How many items were entered, and how many of them have gone.
    pub(super) fn written_and_gone(&self) -> (u64, u64) {
        let pages = self.pages();
        (pages.written, pages.gone)
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn there(ids: &[&str]) -> BTreeSet<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    fn book(items: &[(&str, i64)]) -> Book {
        let book = Book::new(Part::Tokens);
        for (id, due) in items {
            book.enter(*id, Promise::until(at(*due)));
        }
        book
    }

    #[test]
    fn what_is_gone_before_its_time_is_early_and_what_is_gone_after_is_not() {
        let book = book(&[("a", 10), ("b", 11), ("c", 12)]);
        let finding = book.compare(&book.before(at(11)), &there(&["c"]), at(11));
        assert_eq!(finding, Finding::default());
        let finding = book.compare(&book.before(at(11)), &there(&[]), at(11));
        let early = Early { part: Part::Tokens, id: "c".into(), until: at(12), missed: at(11) };
        assert_eq!(finding.early, [early]);
        assert_eq!(book.written_and_gone(), (3, 3), "it is told once");
    }

    #[test]
    fn what_was_written_or_taken_away_during_a_look_proves_nothing() {
        let book = book(&[("a", 100)]);
        let before = book.before(at(1));
        book.enter("b", Promise::until(at(100)));
        assert!(book.strike("a"));
        assert_eq!(book.compare(&before, &there(&[]), at(2)), Finding::default());
        assert_eq!(book.compare(&book.before(at(2)), &there(&["b"]), at(3)), Finding::default());
    }

    #[test]
    fn an_item_that_was_moved_must_be_there_until_its_new_time() {
        let book = book(&[("a", 10)]);
        book.move_to("a", at(20), true);
        assert_eq!(book.compare(&book.before(at(15)), &there(&[]), at(15)).early.len(), 1);
    }

    #[test]
    fn an_unanswered_move_may_have_happened_or_not() {
        let book = book(&[("a", 10)]);
        book.move_to("a", at(20), false);
        assert_eq!(book.compare(&book.before(at(15)), &there(&["a"]), at(15)), Finding::default());
        assert_eq!(book.compare(&book.before(at(15)), &there(&[]), at(15)), Finding::default());
    }

    #[test]
    fn what_is_past_its_time_and_there_is_overdue_for_as_long() {
        let book = book(&[("a", 10), ("b", 12), ("c", 99)]);
        let finding = book.compare(&book.before(at(15)), &there(&["a", "b", "c"]), at(16));
        assert_eq!((finding.overdue, finding.lag), (2, Duration::from_secs(5)));
        assert!(finding.early.is_empty());
    }

    #[test]
    fn what_comes_back_is_a_stranger() {
        let book = book(&[("a", 10)]);
        assert_eq!(book.compare(&book.before(at(11)), &there(&[]), at(11)).strangers, 0);
        assert_eq!(book.compare(&book.before(at(12)), &there(&["a"]), at(12)).strangers, 1);
    }

    #[test]
    fn what_went_and_came_again_between_two_looks_has_gone_once() {
        let book = book(&[("a", 10)]);
        book.enter_anew("a", Promise::until(at(30)));
        assert_eq!(book.written_and_gone(), (2, 1));
        book.enter("a", Promise::until(at(40)));
        assert_eq!(book.written_and_gone(), (2, 1), "it was there");
    }

    #[test]
    fn what_was_perhaps_never_written_need_not_be_there() {
        let book = Book::new(Part::Codes);
        book.enter("a", Promise::doubtful(at(50)));
        assert_eq!(book.compare(&book.before(at(1)), &there(&[]), at(2)), Finding::default());
    }
}
