//! Where requests wait for the threads that carry them out, several at a time.

use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::storage::StorageError;

/// Requests that wait; beyond, the store says that it has too much to do.
const WAITING_MAX: usize = 16_384;

/// What waits, and whether more may come.
pub(super) struct Line<T> {
    waiting: Mutex<Waiting<T>>,
    called: Condvar,
}

struct Waiting<T> {
    items: Vec<T>,
    /// How many are waited for: only the last of them wakes a thread.
    wanted: usize,
    is_open: bool,
}

impl<T> fmt::Debug for Line<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("length", &self.length()).finish_non_exhaustive()
    }
}

impl<T> Line<T> {
    pub(super) fn new() -> Self {
        let waiting = Waiting { items: Vec::new(), wanted: 1, is_open: true };
        Self { waiting: Mutex::new(waiting), called: Condvar::new() }
    }

    /// Joins at the end.
    pub(super) fn join(&self, item: T) -> Result<(), StorageError> {
        let mut waiting = self.lock();
        if !waiting.is_open {
            return Err(StorageError::Unavailable { reason: "the store has been closed".to_owned() });
        }
        if waiting.items.len() >= WAITING_MAX {
            return Err(StorageError::Throttled);
        }
        waiting.items.push(item);
        let is_called = waiting.items.len() == waiting.wanted;
        drop(waiting);
        if is_called {
            self.called.notify_one();
        }
        Ok(())
    }

    /// Nobody joins any more; who has joined is still served.
    pub(super) fn close(&self) {
        self.lock().is_open = false;
        self.called.notify_all();
    }

    /// How many wait now.
    pub(super) fn length(&self) -> usize {
        self.lock().items.len()
    }

    /// The next group, of `most` at the most, as soon as anybody waits. `None` when nobody will come any more.
    pub(super) fn next_group(&self, most: usize) -> Option<Vec<T>> {
        let mut waiting = self.lock();
        waiting.wanted = 1;
        let is_lonely = |waiting: &mut Waiting<T>| waiting.items.is_empty() && waiting.is_open;
        waiting = self.called.wait_while(waiting, is_lonely).unwrap_or_else(PoisonError::into_inner);
        if waiting.items.is_empty() {
            return None;
        }
        let length = waiting.items.len();
        let rest = waiting.items.split_off(most.min(length));
        if !rest.is_empty() {
            // For the next thread, if there is one: nobody else wakes it while some are waiting already.
            self.called.notify_one();
        }
        Some(std::mem::replace(&mut waiting.items, rest))
    }

    /// Those who come in addition: once so many wait, or those who do after this time. For the only thread that serves the
    /// line.
    pub(super) fn more(&self, wanted: usize, patience: Duration) -> Vec<T> {
        let mut waiting = self.lock();
        if waiting.items.len() < wanted {
            waiting.wanted = wanted;
            let is_early = |waiting: &mut Waiting<T>| waiting.items.len() < wanted && waiting.is_open;
            let ended = self.called.wait_timeout_while(waiting, patience, is_early);
            waiting = ended.unwrap_or_else(PoisonError::into_inner).0;
        }
        let length = waiting.items.len();
        let rest = waiting.items.split_off(wanted.min(length));
        std::mem::replace(&mut waiting.items, rest)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn who_is_alone_is_served_at_once() {
        let line = Line::new();
        line.join(1).unwrap();
        assert_eq!(line.next_group(10), Some(vec![1]));
        assert_eq!(line.length(), 0);
    }

    #[test]
    fn those_who_are_wanted_are_waited_for() {
        let line = Line::new();
        let more = thread::scope(|scope| {
            let more = scope.spawn(|| line.more(2, LONG));
            scope.spawn(|| (2..4).for_each(|item| line.join(item).unwrap()));
            more.join().unwrap()
        });
        assert_eq!(more, vec![2, 3]);
    }

    #[test]
    fn those_who_do_not_come_are_not_waited_for_long() {
        let line = Line::new();
        line.join(1).unwrap();
        assert_eq!(line.more(100, Duration::from_millis(1)), vec![1]);
        assert_eq!(line.more(1, Duration::ZERO), Vec::<i32>::new());
    }

    #[test]
    fn a_group_has_an_end_and_the_rest_waits_in_order() {
        let line = Line::new();
        (0..7).for_each(|item| line.join(item).unwrap());
        assert_eq!(line.next_group(3), Some(vec![0, 1, 2]));
        assert_eq!(line.more(2, LONG), vec![3, 4]);
        assert_eq!(line.next_group(3), Some(vec![5, 6]));
    }

    #[test]
    fn a_closed_line_serves_who_has_joined() {
        let line = Line::new();
        line.join(1).unwrap();
        line.close();
        assert!(matches!(line.join(2), Err(StorageError::Unavailable { .. })));
        assert_eq!(line.more(9, LONG), vec![1]);
        assert_eq!(line.next_group(10), None);
    }

    #[test]
    fn a_line_has_an_end() {
        let line = Line::new();
        (0..WAITING_MAX).for_each(|item| line.join(item).unwrap());
        assert!(matches!(line.join(0), Err(StorageError::Throttled)));
    }
}
