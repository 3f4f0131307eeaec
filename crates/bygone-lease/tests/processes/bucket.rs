//! Three processes over one bucket: killed, and paused for longer than their leases last.

use std::collections::BTreeSet;
use std::time::Duration;

use bygone_lease::{Acked, Chance, LeaseStore, Nack, SeededChance, Wait};
use bygone_testkit::wait::Wait as Patience;
use bygone_testkit::{SeaweedFs, TestBucket};
use rustix::process::Signal;

use crate::books::open_books;
use crate::crew::{Crew, WORKERS};
use crate::ledger::Ledger;
use crate::letters::is_poison;
use crate::orders::{Orders, Place, Said, Task, queue};
use crate::resource::Resource;

const ROUNDS: u64 = 50;
/// Those who come too late must have been seen, and work that was done, or nothing was shown: until then it goes on.
const STALE_WRITES_MIN: u64 = 5;
const WORK_MIN: u64 = 50;
const ROUNDS_MAX: u64 = 200;
/// Rounds between two looks at the books.
const TERM_ROUNDS: u64 = 5;

const TTL: Duration = Duration::from_millis(600);
const SKEW: Duration = Duration::from_millis(100);
/// How long the last messages may take.
const DRAIN_LIMIT: Duration = Duration::from_secs(60);

struct Storm {
    crew: Crew,
    resource: Resource,
    chance: SeededChance,
    term: u64,
    kills: u64,
    pauses: u64,
}

impl Storm {
    fn below(&self, limit: u64) -> u64 {
        self.chance.bits() % limit
    }

    fn slot(&self) -> usize {
        usize::try_from(self.below(3)).unwrap()
    }

    /// Whom it hits: half of the time somebody who was at the resource last, since he likely holds a lease.
    fn victim(&self) -> usize {
        let owners = self.resource.seen().last_owners();
        let meant = (!owners.is_empty() && self.below(2) == 0)
            .then(|| &owners[usize::try_from(self.below(2)).unwrap() % owners.len()]);
        meant.and_then(|owner| self.crew.slot_of(owner)).unwrap_or_else(|| self.slot())
    }

    fn kill(&mut self, slot: usize) {
        self.crew.kill(slot);
        self.crew.start(slot);
        self.crew.set_to_work(slot, self.term);
        self.kills += 1;
    }

    /// One is killed, or paused until his leases are over; while he is paused, sometimes another is killed, or he himself.
    fn round(&mut self) {
        self.crew.listen_for(Duration::from_millis(50 + self.below(250)));
        let victim = self.victim();
        if self.below(3) == 0 {
            self.kill(victim);
            return;
        }
        self.crew.signal(victim, Signal::STOP);
        self.pauses += 1;
        let pause = TTL + SKEW + Duration::from_millis(50 + self.below(400));
        let (early, other) = (pause.mul_f64(0.2), self.slot());
        self.crew.listen_for(early);
        if self.below(4) == 0 {
            self.kill(other);
        }
        self.crew.listen_for(pause.saturating_sub(early));
        // If it was he who was killed, this goes to his successor, who does not mind.
        self.crew.signal(victim, Signal::CONT);
    }

    /// Whether writers, workers and transactions came too late, and were refused, while there was something to lose.
    fn has_shown_enough(&self) -> bool {
        let ledger = &self.crew.ledger;
        let is_late = |what| ledger.refusals(what, "lease_expired") + ledger.refusals(what, "fencing_mismatch") > 0;
        let late = self.resource.seen().stale_writes >= STALE_WRITES_MIN
            && ["ack", "nack", "extend"].into_iter().any(is_late)
            && ledger.letters.redelivered > 0
            && ledger.refusals("commit", "txn_conflict") > 0;
        let work = [ledger.moved, ledger.letters.len(), ledger.counts(), self.resource.seen().writes];
        late && work.into_iter().all(|done| done >= WORK_MIN)
    }

    /// Everybody comes to rest, and what was told is held against what is there.
    async fn look(&mut self, bucket: &TestBucket, store: &LeaseStore) {
        self.crew.quiet();
        let wrongs = self.resource.seen().wrongs.clone();
        assert!(wrongs.is_empty(), "{wrongs:#?}");
        let books = self.crew.audit(self.term);
        let ledger = &mut self.crew.ledger;
        ledger.check_books(self.term, &books);
        ledger.close_books(self.term);
        ledger.check_counters(store).await;
        ledger.letters.check(&letters(bucket, "msg").await, &letters(bucket, "dlq").await);
        self.term += 1;
        open_books(store, self.term).await;
    }
}

/// The letters in a part of the queue, by a client that knows nothing of queues.
async fn letters(bucket: &TestBucket, part: &str) -> BTreeSet<String> {
    let mut letters = BTreeSet::new();
    for key in bucket.keys().await.iter().filter(|key| key.starts_with(&format!("real/q/letters/{part}/"))) {
        let message: serde_json::Value = serde_json::from_str(&bucket.get(key).await).unwrap();
        let is_new = letters.insert(message["payload"]["text"].as_str().unwrap().to_owned());
        assert!(is_new, "{key} is there twice");
    }
    letters
}

/// Works on what is left in the queue until nothing is.
async fn drain(store: &LeaseStore, ledger: &mut Ledger) {
    let mut patience = Patience::up_to(DRAIN_LIMIT);
    while store.queue_stats(&queue()).await.unwrap().messages > 0 {
        let wait = Wait::For(TTL);
        for delivery in store.dequeue(&queue(), "last", Some(DRAIN_LIMIT), 10, wait).await.unwrap() {
            let letter = String::from_utf8(delivery.payload.clone()).unwrap();
            ledger.note(Said::Got { letter: letter.clone(), attempts: delivery.attempts });
            if is_poison(&letter) {
                store.nack(&delivery, Nack::Failure, Duration::ZERO).await.unwrap();
            } else {
                ledger.note(Said::Acking { letter: letter.clone() });
                let now = store.ack(&delivery).await.unwrap() == Acked::Now;
                ledger.note(Said::Acked { letter, now });
            }
        }
        assert!(patience.again().await, "the queue is not empty after {DRAIN_LIMIT:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_stale_token_no_lost_message_and_no_torn_transaction() {
    let seed = crate::seed();
    let bucket = SeaweedFs::shared().await.fresh_bucket().await;
    let resource = Resource::serve();
    let (place, address) = (Place::bucket(&bucket), Some(resource.address));
    let (name, task) = (String::new(), Task::Work);
    let orders = Orders { place, task, name, seed, ttl: TTL, skew: SKEW, resource: address };
    let store = orders.place.open(orders.options()).await;
    let (crew, chance) = (Crew::new(orders), SeededChance::new(seed));
    let mut gale = Storm { crew, resource, chance, term: 0, kills: 0, pauses: 0 };
    open_books(&store, gale.term).await;
    (0..WORKERS).for_each(|slot| gale.crew.start(slot));
    let mut rounds = 0;
    while rounds < ROUNDS || !gale.has_shown_enough() {
        assert!(rounds < ROUNDS_MAX, "{rounds} rounds have shown too little: {:?}", gale.crew.ledger.refused);
        (0..WORKERS).for_each(|slot| gale.crew.set_to_work(slot, gale.term));
        for _ in 0..TERM_ROUNDS {
            gale.round();
            rounds += 1;
        }
        gale.look(&bucket, &store).await;
    }
    let Storm { mut crew, resource, kills, pauses, .. } = gale;
    (0..WORKERS).for_each(|slot| crew.kill(slot));
    let ledger = &mut crew.ledger;
    drain(&store, ledger).await;
    let dead = letters(&bucket, "dlq").await;
    ledger.letters.check(&BTreeSet::new(), &dead);
    let stats = store.queue_stats(&queue()).await.unwrap();
    assert_eq!((stats.messages, usize::try_from(stats.dead).unwrap()), (0, dead.len()));
    let witness = resource.seen();
    println!(
        "{rounds} rounds, {kills} kills, {pauses} pauses; {} writes, {} stale",
        witness.writes, witness.stale_writes
    );
    let (sent, again, counts) = (ledger.letters.len(), ledger.letters.redelivered, ledger.counts());
    println!("{sent} letters, {again} again, {} dead; {counts} counts; {} transfers", dead.len(), ledger.moved);
    for ((what, code), times) in &ledger.refused {
        println!("{what}: {code} {times}");
    }
}
