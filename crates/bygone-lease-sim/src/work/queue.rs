//! Queues.

use std::time::Duration;

use bygone_lease::{Delivery, Enqueue, Error, Nack, Queue, TxnId, Wait};
use uuid::Uuid;

use crate::names::{self, NOTES, QUEUES};
use crate::process::{Life, TTL};
use crate::witness::Fate;

/// As long as there are more messages than this, nobody adds to them.
const MESSAGES_MAX: usize = 200;
/// The longest that a message is of use, in milliseconds: it may outlast a night.
const LONG_TTL: u64 = 2 * 3_600_000;

impl Life {
    pub(super) async fn post(&self) {
        if self.is_enough() {
            return self.deliver().await;
        }
        let queue = names::queue(self.below(NOTES));
        if let Some(id) = self.enqueue(&queue, None, self.ttl()).await {
            self.world.ledger().accepted.insert(id);
        }
    }

    /// A message for a short time: whoever comes at the very end of that may still have it, and nobody later.
    pub(super) async fn post_note(&self) {
        let (queue, ttl) = (names::queue(NOTES), Duration::from_millis(1 + self.below(200)));
        let Some(id) = self.enqueue(&queue, None, Some(ttl)).await else { return };
        self.world.ledger().accepted.insert(id);
        let expires_at = self.world.witness().expires_at(id);
        let left = expires_at.and_then(|at| u64::try_from(at - self.clock.millis()).ok()).unwrap_or(0);
        self.world.sleep_millis(left.saturating_sub(self.below(10))).await;
        self.deliver_from(&queue).await;
    }

    /// Messages to several queues, or to none.
    pub(super) async fn post_together(&self) {
        if self.is_enough() {
            return self.deliver().await;
        }
        let Ok(txn) = self.store.begin(Some(TTL)) else { return };
        let mut letters = Vec::new();
        for number in 0..=self.below(NOTES) {
            match self.enqueue(&names::queue(number), Some(txn), self.ttl()).await {
                Some(id) => letters.push(id),
                None if self.one_in(4) => return,
                None => return self.undo(txn).await,
            }
        }
        self.dawdle().await;
        self.end_transfer(txn, &[], &letters).await;
    }

    /// Puts a message into a queue, within a transaction or for everybody.
    pub(super) async fn enqueue(&self, queue: &Queue, txn: Option<TxnId>, ttl: Option<Duration>) -> Option<Uuid> {
        let message = Enqueue {
            payload: self.bits().to_be_bytes().to_vec(),
            delay: Duration::from_millis(if self.one_in(4) && ttl.is_none() { self.below(3_000) } else { 0 }),
            attempts_max: (!self.one_in(2)).then_some(1 + u32::try_from(self.below(3)).unwrap_or(0)),
            ttl,
            txn,
            ..Enqueue::default()
        };
        let answer = self.store.enqueue(queue, &message).await;
        let what = match (txn, ttl) {
            (Some(_), _) => "enqueue staged",
            (None, Some(_)) => "enqueue with ttl",
            (None, None) => "enqueue",
        };
        self.note(what, queue.name.as_str(), &answer);
        let id = answer.ok()?;
        if !self.world.witness().knows(id) {
            self.world.broken(format!("the message {id} was accepted, and never stored"));
        }
        Some(id)
    }

    /// How long a message is of use: for a moment, for longer than anybody is up, or for ever.
    pub(super) fn ttl(&self) -> Option<Duration> {
        match self.below(8) {
            0 => Some(Duration::from_millis(1 + self.below(3_000))),
            1 => Some(Duration::from_millis(1 + self.below(LONG_TTL))),
            _ => None,
        }
    }

    fn is_enough(&self) -> bool {
        self.world.witness().messages.len() > MESSAGES_MAX
    }

    pub(super) async fn deliver(&self) {
        let number = if self.one_in(16) { NOTES } else { self.below(NOTES) };
        self.deliver_from(&names::queue(number)).await;
    }

    async fn deliver_from(&self, queue: &Queue) {
        let limit = 1 + usize::try_from(self.below(3)).unwrap_or(0);
        let wait = if self.one_in(4) { Wait::For(Duration::from_millis(self.below(500))) } else { Wait::None };
        let answer = self.store.dequeue(queue, "worker", Some(TTL), limit, wait).await;
        self.note("dequeue", queue.name.as_str(), &answer);
        for delivery in answer.unwrap_or_default() {
            self.handle(delivery).await;
        }
        if self.one_in(64) {
            let answer = self.store.queue_stats(queue).await;
            self.note("queue stats", queue.name.as_str(), &answer);
            let answer = self.store.dead_letters(queue, 10).await;
            self.note("dead letters", queue.name.as_str(), &answer);
        }
    }

    async fn handle(&self, mut delivery: Delivery) {
        self.dawdle().await;
        if self.one_in(4) {
            let answer = self.store.extend(&delivery, Some(TTL)).await;
            self.note("extend", &delivery.name, &answer);
            delivery = answer.unwrap_or(delivery);
        }
        match self.below(16) {
            // The worker forgets it.
            0 => {}
            1..=3 => {
                let why = if self.one_in(2) { Nack::Failure } else { Nack::Defer };
                self.world.witness().gives_up(delivery.lease);
                let delay = Duration::from_millis(self.below(2_000));
                let answer = self.store.nack(&delivery, why, delay).await;
                self.note("nack", &delivery.name, &answer);
            }
            _ => self.acknowledge(&delivery).await,
        }
    }

    /// What was acknowledged is gone, and was this worker's to acknowledge.
    pub(crate) async fn acknowledge(&self, delivery: &Delivery) {
        self.world.witness().acknowledges(delivery.lease);
        let answer = self.store.ack(delivery).await;
        self.note("ack", &delivery.name, &answer);
        if let Ok(acked) = answer {
            let (fate, is_dead) = self.world.witness().fate_of(delivery.id);
            if matches!(fate, Fate::Queued | Fate::Undone) && !is_dead {
                self.world.broken(format!("{} was acknowledged ({acked:?}), and is not gone", delivery.name));
            }
        }
    }

    /// Takes and acknowledges whatever is left.
    pub(crate) async fn drain(&self) -> Result<(), Error> {
        for number in 0..QUEUES {
            let queue = names::queue(number);
            loop {
                let taken = self.store.dequeue(&queue, "worker", Some(TTL), 100, Wait::None).await?;
                if taken.is_empty() {
                    break;
                }
                for delivery in taken {
                    self.acknowledge(&delivery).await;
                }
            }
        }
        Ok(())
    }
}
