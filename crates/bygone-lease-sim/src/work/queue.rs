//! Queues.

use std::time::Duration;

use bygone_lease::{Delivery, Enqueue, Error, Nack, Wait};

use crate::names::{self, QUEUES};
use crate::process::{Life, TTL};

/// As long as there are more messages than this, nobody adds to them.
const MESSAGES_MAX: usize = 200;

impl Life {
    pub(super) async fn post(&self) {
        if self.world.witness().messages.len() > MESSAGES_MAX {
            return self.deliver().await;
        }
        let queue = names::queue(self.below(QUEUES));
        let message = Enqueue {
            payload: self.bits().to_be_bytes().to_vec(),
            delay: Duration::from_millis(if self.one_in(4) { self.below(3_000) } else { 0 }),
            attempts_max: (!self.one_in(2)).then_some(1 + u32::try_from(self.below(3)).unwrap_or(0)),
            ..Enqueue::default()
        };
        let answer = self.store.enqueue(&queue, &message).await;
        self.note("enqueue", queue.name.as_str(), &answer);
        if let Ok(id) = answer {
            self.world.ledger().accepted.insert(id);
            if !self.world.witness().knows(id) {
                self.world.broken(format!("the message {id} was accepted, and never stored"));
            }
        }
    }

    pub(super) async fn deliver(&self) {
        let queue = names::queue(self.below(QUEUES));
        let limit = 1 + usize::try_from(self.below(3)).unwrap_or(0);
        let wait = if self.one_in(4) { Wait::For(Duration::from_millis(self.below(500))) } else { Wait::None };
        let answer = self.store.dequeue(&queue, "worker", Some(TTL), limit, wait).await;
        self.note("dequeue", queue.name.as_str(), &answer);
        for delivery in answer.unwrap_or_default() {
            self.handle(delivery).await;
        }
        if self.one_in(64) {
            let answer = self.store.queue_stats(&queue).await;
            self.note("queue stats", queue.name.as_str(), &answer);
            let answer = self.store.dead_letters(&queue, 10).await;
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
            let (is_acknowledged, is_dead) = self.world.witness().fate_of(delivery.id);
            if !is_acknowledged && !is_dead {
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
