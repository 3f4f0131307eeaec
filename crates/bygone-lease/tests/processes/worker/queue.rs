//! Letters: some are worked on, some are given back, and some can only fail.

use std::time::Duration;

use bygone_lease::{Acked, Delivery, Enqueue, Nack, Wait};

use super::{Hand, complain, hear};
use crate::letters::{ATTEMPTS_MAX, is_poison};
use crate::orders::{Said, queue, say};

impl Hand {
    pub(super) async fn letters(&mut self) {
        if self.one_in(2) {
            self.send().await;
        }
        let (limit, wait) = (1 + self.below(3), Wait::For(Duration::from_millis(20)));
        let (store, name) = (&self.worker.store, &self.worker.orders.name);
        let taken = store.dequeue(&queue(), name, None, usize::try_from(limit).unwrap(), wait).await;
        for delivery in hear("dequeue", taken).unwrap_or_default() {
            self.read(delivery).await;
        }
    }

    async fn send(&mut self) {
        let kind = if self.one_in(8) { "poison" } else { "letter" };
        let letter = format!("{kind}-{}", self.new_name());
        let attempts_max = is_poison(&letter).then_some(ATTEMPTS_MAX);
        let message = Enqueue { payload: letter.clone().into_bytes(), attempts_max, ..Enqueue::default() };
        if hear("enqueue", self.worker.store.enqueue(&queue(), &message).await).is_some() {
            say(&Said::Sent { letter });
        }
    }

    async fn read(&self, mut delivery: Delivery) {
        let store = &self.worker.store;
        let letter = String::from_utf8(delivery.payload.clone()).unwrap();
        say(&Said::Got { letter: letter.clone(), attempts: delivery.attempts });
        // Somebody may have been at it before, and come back: he is to find it in work, not done.
        self.pause(if delivery.attempts > 1 { 400 } else { 20 }).await;
        if self.one_in(4) {
            let Some(extended) = hear("extend", store.extend(&delivery, None).await) else { return };
            delivery = extended;
        }
        if is_poison(&letter) || self.one_in(6) {
            let why = if is_poison(&letter) { Nack::Failure } else { Nack::Defer };
            let delay = Duration::from_millis(self.below(50));
            hear("nack", store.nack(&delivery, why, delay).await);
            return;
        }
        say(&Said::Acking { letter: letter.clone() });
        match store.ack(&delivery).await {
            Ok(acked) => say(&Said::Acked { letter, now: acked == Acked::Now }),
            Err(error) if error.code() == "outcome_unknown" => complain("ack", &error),
            Err(error) => {
                complain("ack", &error);
                say(&Said::NotAcked { letter });
            }
        }
    }
}
