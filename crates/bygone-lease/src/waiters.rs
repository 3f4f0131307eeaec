//! Those who wait for a lease in this process: first come, first served, and woken when it is given back.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

type Queues = HashMap<String, VecDeque<Arc<Notify>>>;

#[derive(Clone, Debug, Default)]
pub(crate) struct Waiters {
    queues: Arc<Mutex<Queues>>,
}

/// A place in the queue of a key, until it is dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    queues: Arc<Mutex<Queues>>,
    path: String,
    turn: Arc<Notify>,
}

impl Waiters {
    /// Takes the last place in a queue.
    pub(crate) fn queue_up(&self, path: &str) -> Ticket {
        let turn = Arc::new(Notify::new());
        lock(&self.queues).entry(path.to_owned()).or_default().push_back(Arc::clone(&turn));
        Ticket { queues: Arc::clone(&self.queues), path: path.to_owned(), turn }
    }

    /// Tells the first in the queue to look.
    pub(crate) fn wake(&self, path: &str) {
        if let Some(first) = lock(&self.queues).get(path).and_then(VecDeque::front) {
            first.notify_one();
        }
    }
}

impl Ticket {
    pub(crate) fn is_first(&self) -> bool {
        let queues = lock(&self.queues);
        queues.get(&self.path).and_then(VecDeque::front).is_some_and(|first| Arc::ptr_eq(first, &self.turn))
    }

    /// Waits until somebody says that it is worth a look.
    pub(crate) async fn called(&self) {
        self.turn.notified().await;
    }
}

impl Drop for Ticket {
    /// Whoever leaves, served or not, leaves his place to the next, who should look.
    fn drop(&mut self) {
        let mut queues = lock(&self.queues);
        let Some(queue) = queues.get_mut(&self.path) else { return };
        let was_first = queue.front().is_some_and(|first| Arc::ptr_eq(first, &self.turn));
        queue.retain(|turn| !Arc::ptr_eq(turn, &self.turn));
        match queue.front() {
            Some(next) if was_first => next.notify_one(),
            Some(_) => {}
            None => {
                queues.remove(&self.path);
            }
        }
    }
}

fn lock(queues: &Mutex<Queues>) -> MutexGuard<'_, Queues> {
    queues.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_is_woken_and_leaves_his_place_to_the_next() {
        let waiters = Waiters::default();
        let (first, second) = (waiters.queue_up("k"), waiters.queue_up("k"));
        let other = waiters.queue_up("other");
        assert!(first.is_first() && !second.is_first() && other.is_first());
        waiters.wake("k");
        first.called().await;
        drop(first);
        assert!(second.is_first());
        second.called().await;
        drop(second);
        assert_eq!(lock(&waiters.queues).len(), 1);
    }

    #[tokio::test]
    async fn whoever_gives_up_in_the_middle_wakes_nobody() {
        let waiters = Waiters::default();
        let (first, second, third) = (waiters.queue_up("k"), waiters.queue_up("k"), waiters.queue_up("k"));
        drop(second);
        drop(first);
        assert!(third.is_first());
        third.called().await;
    }
}
