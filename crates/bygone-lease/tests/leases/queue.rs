//! Queues: at least once, to one worker at a time, and never lost.

use std::sync::Arc;
use std::time::Duration;

use bygone_lease::storage::{Counting, Disk, Fault, Faulty, Memory, Request, Requests, Storage};
use bygone_lease::{
    Acked, Acquire, Delivery, Enqueue, Error, IfVersion, LeaseStore, Nack, Options, Queue, QueueName, QueueStats,
    SeededChance, Swept, TxnId, Wait,
};
use futures_util::FutureExt;

use super::mortal::Mortal;
use super::shelf::{Shelf, ask, key, namespace};

const TTL: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_millis(1);

fn queue() -> Queue {
    Queue { namespace: namespace(), name: QueueName::new("mail").unwrap() }
}

fn saying(text: &str) -> Enqueue {
    Enqueue { payload: text.as_bytes().to_vec(), ..Enqueue::default() }
}

async fn take(store: &LeaseStore, limit: usize) -> Vec<Delivery> {
    store.dequeue(&queue(), "worker", None, limit, Wait::None).await.unwrap()
}

async fn take_one(store: &LeaseStore) -> Option<Delivery> {
    take(store, 1).await.pop()
}

fn texts(deliveries: &[Delivery]) -> Vec<&str> {
    deliveries.iter().map(|delivery| std::str::from_utf8(&delivery.payload).unwrap()).collect()
}

#[tokio::test]
async fn messages_are_delivered_oldest_first_to_one_worker_each() {
    let shelf = Shelf::new().await;
    for text in ["one", "two", "three"] {
        shelf.store.enqueue(&queue(), &saying(text)).await.unwrap();
        shelf.pass(TICK);
    }
    let first = take(&shelf.store, 2).await;
    assert_eq!(texts(&first), ["one", "two"]);
    assert_eq!(texts(&take(&shelf.another_process().await, 5).await), ["three"]);
    assert_eq!(take(&shelf.store, 5).await, []);
    assert_eq!(shelf.store.ack(&first[0]).await.unwrap(), Acked::Now);
    assert_eq!(shelf.store.ack(&first[0]).await.unwrap(), Acked::Already);
    let stats = shelf.store.queue_stats(&queue()).await.unwrap();
    assert_eq!(stats, QueueStats { messages: 2, delayed: 0, dead: 0 });
}

#[tokio::test]
async fn a_message_whose_worker_died_comes_again_and_the_dead_cannot_acknowledge() {
    let shelf = Shelf::new().await;
    shelf.store.enqueue(&queue(), &saying("one")).await.unwrap();
    let first = take_one(&shelf.store).await.unwrap();
    shelf.pass(TTL);
    assert_eq!(take_one(&shelf.store).await, None, "what ends now has not ended");
    shelf.pass(TICK);
    let second = take_one(&shelf.store).await.unwrap();
    assert_eq!((second.id, second.attempts), (first.id, 2));
    assert!(second.fencing_token > first.fencing_token);
    assert_eq!(shelf.store.ack(&first).await.unwrap_err().code(), "fencing_mismatch");
    assert_eq!(shelf.store.nack(&first, Nack::Failure, TTL).await.unwrap_err().code(), "fencing_mismatch");
    assert_eq!(shelf.store.ack(&second).await.unwrap(), Acked::Now);
}

#[tokio::test]
async fn a_lease_on_a_message_can_be_extended_until_it_is_over() {
    let shelf = Shelf::new().await;
    shelf.store.enqueue(&queue(), &saying("one")).await.unwrap();
    let mut delivery = take_one(&shelf.store).await.unwrap();
    for _ in 0..3 {
        shelf.pass(Duration::from_secs(20));
        delivery = shelf.store.extend(&delivery, None).await.unwrap();
        assert_eq!(take_one(&shelf.store).await, None);
    }
    shelf.pass(TTL + TICK);
    assert_eq!(shelf.store.extend(&delivery, None).await.unwrap_err().code(), "lease_expired");
    assert_eq!(shelf.store.ack(&delivery).await.unwrap_err().code(), "lease_expired");
    take_one(&shelf.store).await.unwrap();
}

#[tokio::test]
async fn a_message_given_back_waits_and_counts_as_it_was_told() {
    let shelf = Shelf::new().await;
    shelf.store.enqueue(&queue(), &saying("one")).await.unwrap();
    let delivery = take_one(&shelf.store).await.unwrap();
    shelf.store.nack(&delivery, Nack::Defer, Duration::from_secs(10)).await.unwrap();
    assert_eq!(take_one(&shelf.store).await, None);
    shelf.pass(Duration::from_secs(10));
    let delivery = take_one(&shelf.store).await.unwrap();
    assert_eq!(delivery.attempts, 1, "that time did not count");
    shelf.store.nack(&delivery, Nack::Failure, Duration::ZERO).await.unwrap();
    assert_eq!(take_one(&shelf.store).await.unwrap().attempts, 2);
}

#[tokio::test]
async fn a_delayed_message_comes_in_its_time_and_holds_nobody_up() {
    let shelf = Shelf::new().await;
    shelf.store.enqueue(&queue(), &Enqueue { delay: Duration::from_secs(60), ..saying("later") }).await.unwrap();
    shelf.store.enqueue(&queue(), &saying("now")).await.unwrap();
    assert_eq!(shelf.store.queue_stats(&queue()).await.unwrap(), QueueStats { messages: 2, delayed: 1, dead: 0 });
    assert_eq!(texts(&take(&shelf.store, 5).await), ["now"]);
    shelf.pass(Duration::from_millis(59_999));
    assert_eq!(
        texts(&take(&shelf.another_process().await, 5).await),
        ["now"],
        "its worker died; the other has not come"
    );
    shelf.pass(TICK);
    assert_eq!(texts(&take(&shelf.store, 5).await), ["later"]);
}

#[tokio::test]
async fn a_message_that_fails_too_often_is_put_aside_whole() {
    let shelf = Shelf::new().await;
    let attributes = [("kind".to_owned(), "bill".to_owned())].into();
    let message = Enqueue { attempts_max: Some(2), attributes, ..saying("poison") };
    let id = shelf.store.enqueue(&queue(), &message).await.unwrap();
    for attempts in 1..=2 {
        let delivery = take_one(&shelf.store).await.unwrap();
        assert_eq!((delivery.attempts, delivery.attributes["kind"].as_str()), (attempts, "bill"));
        shelf.store.nack(&delivery, Nack::Failure, Duration::ZERO).await.unwrap();
    }
    assert_eq!(take_one(&shelf.store).await, None);
    assert_eq!(shelf.store.queue_stats(&queue()).await.unwrap(), QueueStats { messages: 0, delayed: 0, dead: 1 });
    assert_eq!(shelf.store.dead_letters(&queue(), 10).await.unwrap(), [id]);
    let letters = shelf.storage.list("jobs/q/mail/dlq/", None, 10).await.unwrap();
    let letter = shelf.storage.get(&letters.keys[0].key).await.unwrap().unwrap();
    let letter: serde_json::Value = serde_json::from_slice(&letter.body).unwrap();
    assert_eq!((&letter["payload"]["text"], &letter["attempts"]), (&"poison".into(), &2.into()));
}

#[tokio::test]
async fn enqueue_dequeue_and_ack_cost_four_requests_beside_the_listing() {
    let shelf = Shelf::new().await;
    let before = shelf.storage.requests();
    shelf.store.enqueue(&queue(), &saying("one")).await.unwrap();
    let delivery = take_one(&shelf.store).await.unwrap();
    shelf.store.ack(&delivery).await.unwrap();
    let cost = shelf.storage.requests().since(before);
    assert_eq!(cost, Requests { gets: 1, puts: 2, deletes: 1, lists: 1 });
}

/// Messages that others work on are looked at once, and not by every worker who comes for more.
#[tokio::test]
async fn messages_in_other_hands_cost_no_second_look() {
    let shelf = Shelf::new().await;
    for _ in 0..20 {
        shelf.store.enqueue(&queue(), &saying("x")).await.unwrap();
    }
    assert_eq!(take(&shelf.another_process().await, 20).await.len(), 20);
    take(&shelf.store, 1).await;
    let before = shelf.storage.requests();
    take(&shelf.store, 1).await;
    assert_eq!(shelf.storage.requests().since(before), Requests { lists: 1, ..Requests::default() });
}

#[tokio::test(start_paused = true)]
async fn a_worker_who_waits_is_woken_by_a_message() {
    let store = LeaseStore::open(Memory::new(), Options::default()).await.unwrap();
    let worker = {
        let store = store.clone();
        tokio::spawn(async move { store.dequeue(&queue(), "worker", None, 1, Wait::Forever).await.unwrap() })
    };
    tokio::task::yield_now().await;
    store.enqueue(&queue(), &saying("one")).await.unwrap();
    assert_eq!(texts(&worker.await.unwrap()), ["one"]);
    let none = store.dequeue(&queue(), "worker", None, 1, Wait::For(Duration::from_millis(50))).await.unwrap();
    assert_eq!(none, []);
}

/// Many workers of several processes: every message is worked on, and acknowledged once.
#[tokio::test(flavor = "multi_thread")]
async fn of_many_workers_each_message_is_acknowledged_by_one() {
    let storage = Arc::new(Counting::new(Memory::new()));
    let mut stores = Vec::new();
    for seed in 0..3 {
        let (clock, chance) = (Arc::new(bygone_core::SystemClock::new()), Arc::new(SeededChance::new(seed)));
        stores.push(LeaseStore::open_by(Arc::clone(&storage), Options::default(), clock, chance).await.unwrap());
    }
    for number in 0..300 {
        stores[number % 3].enqueue(&queue(), &saying(&number.to_string())).await.unwrap();
    }
    let workers: Vec<_> = (0..9)
        .map(|number| {
            let store = stores[number % 3].clone();
            tokio::spawn(async move {
                let mut done = Vec::new();
                loop {
                    let deliveries = take(&store, 7).await;
                    if deliveries.is_empty() {
                        return done;
                    }
                    for delivery in deliveries {
                        assert_eq!(store.ack(&delivery).await.unwrap(), Acked::Now);
                        done.push(String::from_utf8(delivery.payload).unwrap());
                    }
                }
            })
        })
        .collect();
    let mut done = Vec::new();
    for worker in workers {
        done.extend(worker.await.unwrap());
    }
    done.sort();
    let mut expected: Vec<_> = (0..300).map(|number| number.to_string()).collect();
    expected.sort();
    assert_eq!(done, expected);
    assert_eq!(stores[0].queue_stats(&queue()).await.unwrap(), QueueStats::default());
}

async fn sweep(shelf: &Shelf) {
    shelf.sweep(Swept::Leases).await;
}

async fn queued(shelf: &Shelf) -> usize {
    shelf.keys("jobs/q/mail/msg/").await.len()
}

#[tokio::test]
async fn a_message_past_its_time_is_delivered_to_nobody_and_goes() {
    let shelf = Shelf::new().await;
    let short = Enqueue { ttl: Some(TTL), ..saying("short") };
    shelf.store.enqueue(&queue(), &short).await.unwrap();
    shelf.store.enqueue(&queue(), &saying("for ever")).await.unwrap();
    shelf.pass(TTL);
    let delivered = take(&shelf.store, 5).await;
    assert_eq!(texts(&delivered), ["short", "for ever"], "what ends now has not ended");
    for delivery in &delivered {
        shelf.store.nack(delivery, Nack::Defer, Duration::ZERO).await.unwrap();
    }
    shelf.pass(TICK);
    assert_eq!(texts(&take(&shelf.another_process().await, 5).await), ["for ever"]);
    assert_eq!(queued(&shelf).await, 1, "whoever met it has removed it");
}

#[tokio::test]
async fn messages_past_their_time_are_swept_and_others_stay() {
    let shelf = Shelf::new().await;
    for (text, ttl) in [("over", 30), ("held", 30), ("now", 60), ("later", 600)] {
        let message = Enqueue { ttl: Some(Duration::from_secs(ttl)), ..saying(text) };
        shelf.store.enqueue(&queue(), &message).await.unwrap();
        shelf.pass(TICK);
    }
    shelf.store.enqueue(&queue(), &saying("for ever")).await.unwrap();
    let held = take(&shelf.store, 2).await.pop().unwrap();
    let held = shelf.store.extend(&held, Some(Duration::from_secs(600))).await.unwrap();
    shelf.pass(Duration::from_millis(59_998));
    sweep(&shelf).await;
    // Of the two in hand one was given up, and one is still being worked on.
    assert_eq!(queued(&shelf).await, 4);
    assert_eq!(shelf.store.ack(&held).await.unwrap(), Acked::Now);
    assert_eq!(texts(&take(&shelf.store, 5).await), ["now", "later", "for ever"]);
    shelf.sweep_for_days().await;
    assert_eq!(texts(&take(&shelf.store, 5).await), ["for ever"]);
    assert_eq!((queued(&shelf).await, shelf.keys("jobs/.lease-index/20").await.len()), (1, 0));
}

#[tokio::test]
async fn dead_letters_stay_for_their_keep_and_then_go() {
    let keep = Duration::from_secs(48 * 3600);
    let shelf = Shelf::with(Options { dead_letter_keep: keep, ..Options::default() }).await;
    shelf.store.enqueue(&queue(), &Enqueue { attempts_max: Some(1), ..saying("bad") }).await.unwrap();
    let first = take_one(&shelf.store).await.unwrap();
    shelf.store.nack(&first, Nack::Failure, Duration::ZERO).await.unwrap();
    assert_eq!(take_one(&shelf.store).await, None);
    assert_eq!(shelf.store.dead_letters(&queue(), 5).await.unwrap(), [first.id]);
    shelf.pass(keep);
    sweep(&shelf).await;
    assert_eq!(shelf.store.dead_letters(&queue(), 5).await.unwrap(), [first.id], "what ends now has not ended");
    shelf.pass(TICK);
    sweep(&shelf).await;
    assert_eq!(shelf.store.dead_letters(&queue(), 5).await.unwrap().len(), 0);
    shelf.sweep_for_days().await;
    assert_eq!(shelf.keys("jobs/.lease-index/20").await, [""; 0]);
}

/// Somebody dies right before he puts a message aside, and it is put aside when his errand for it has come.
#[tokio::test]
async fn a_dead_letter_stays_for_its_keep_whoever_died_before_it_was_one() {
    let keep = Duration::from_secs(48 * 3600);
    let options = Options { dead_letter_keep: keep, ..Options::default() };
    let shelf = Shelf::with(options.clone()).await;
    shelf.store.enqueue(&queue(), &Enqueue { attempts_max: Some(1), ..saying("bad") }).await.unwrap();
    let first = take_one(&shelf.store).await.unwrap();
    shelf.store.nack(&first, Nack::Failure, Duration::ZERO).await.unwrap();
    let dies = |request: Request<'_>| matches!(request, Request::Put(path) if path.contains("/dlq/"));
    let mortal = Mortal::new(Arc::clone(&shelf.storage), dies);
    let chance = Arc::new(SeededChance::new(3));
    let mortal = LeaseStore::open_by(mortal, options, shelf.clock.clone(), chance).await.unwrap();
    assert!(take_one(&mortal).now_or_never().is_none(), "it has died");
    shelf.pass(keep + TICK);
    assert_eq!(take_one(&shelf.store).await, None);
    sweep(&shelf).await;
    assert_eq!(shelf.store.dead_letters(&queue(), 5).await.unwrap(), [first.id], "it was put aside just now");
    shelf.pass(keep + TICK);
    sweep(&shelf).await;
    assert_eq!(shelf.store.dead_letters(&queue(), 5).await.unwrap().len(), 0);
}

async fn enqueue_in(store: &LeaseStore, txn: TxnId, text: &str) {
    store.enqueue(&queue(), &Enqueue { txn: Some(txn), ..saying(text) }).await.unwrap();
}

#[tokio::test]
async fn a_message_of_a_transaction_is_there_once_that_is_committed() {
    let shelf = Shelf::new().await;
    let txn = shelf.store.begin(None).unwrap();
    let request = Acquire { txn: Some(txn), ..ask("order", "a") };
    shelf.store.stage(&request, b"paid", IfVersion::Any).await.unwrap();
    enqueue_in(&shelf.store, txn, "send it").await;
    let other = shelf.another_process().await;
    assert_eq!((take_one(&shelf.store).await, take_one(&other).await), (None, None));
    shelf.store.commit(txn).await.unwrap();
    let delivery = take_one(&other).await.unwrap();
    assert_eq!(delivery.payload, b"send it");
    assert_eq!(shelf.store.get(&namespace(), &key("order")).await.unwrap().unwrap().state, "paid");
    assert_eq!(other.ack(&delivery).await.unwrap(), Acked::Now);
    shelf.sweep_for_days().await;
    assert_eq!((queued(&shelf).await, shelf.keys("jobs/.lease-index/20").await.len()), (0, 0));
}

#[tokio::test]
async fn a_message_of_a_transaction_that_is_undone_is_for_nobody() {
    let shelf = Shelf::new().await;
    let undone = shelf.store.begin(None).unwrap();
    enqueue_in(&shelf.store, undone, "undone").await;
    shelf.store.rollback(undone).await.unwrap();
    assert_eq!((take_one(&shelf.store).await, queued(&shelf).await), (None, 0));
    let forgotten = shelf.store.begin(Some(TTL)).unwrap();
    enqueue_in(&shelf.store, forgotten, "forgotten").await;
    shelf.pass(TTL + Duration::from_secs(3));
    assert_eq!((take_one(&shelf.another_process().await).await, queued(&shelf).await), (None, 0));
    let late = shelf.store.commit(forgotten).await;
    assert!(matches!(late, Err(Error::TxnConflict { .. })), "{late:?}");
    assert_eq!(take_one(&shelf.store).await, None);
}

/// Whatever write a process dies before, messages and state come together or not at all.
#[tokio::test]
async fn whoever_dies_in_a_transaction_with_messages_tears_nothing() {
    for writes in 0.. {
        let shelf = Shelf::new().await;
        let is_done = shelf
            .dies_before_write(writes, Options::default(), |store| async move {
                let txn = store.begin(None).unwrap();
                let request = Acquire { txn: Some(txn), ..ask("order", "a") };
                store.stage(&request, b"paid", IfVersion::Any).await.unwrap();
                enqueue_in(&store, txn, "one").await;
                store.enqueue(&queue(), &Enqueue { txn: Some(txn), ttl: Some(TTL), ..saying("short") }).await.unwrap();
                store.commit(txn).await.unwrap();
            })
            .await;
        let is_paid = shelf.store.get(&namespace(), &key("order")).await.unwrap().is_some();
        let delivered = take(&shelf.store, 5).await;
        assert_eq!(texts(&delivered), if is_paid { vec!["one", "short"] } else { vec![] }, "{writes}");
        shelf.sweep_for_days().await;
        let is_still_paid = shelf.store.get(&namespace(), &key("order")).await.unwrap().is_some();
        assert_eq!(is_still_paid, is_paid, "{writes}");
        assert_eq!(texts(&take(&shelf.store, 5).await), if is_paid { vec!["one"] } else { vec![] }, "{writes}");
        let left = [shelf.keys("jobs/.lease-index/20").await, shelf.keys(".txn").await].concat();
        let left = left.into_iter().filter(|key| key != ".txn-decisions/buckets.json").collect::<Vec<_>>();
        assert_eq!(left, [""; 0], "{writes}");
        if is_done {
            assert!(writes > 10 && is_paid, "{writes}");
            return;
        }
    }
}

#[tokio::test]
async fn a_message_that_is_too_large_is_refused() {
    let shelf = Shelf::with(Options { message_bytes_max: 3, ..Options::default() }).await;
    shelf.store.enqueue(&queue(), &saying("one")).await.unwrap();
    let refused = shelf.store.enqueue(&queue(), &saying("four")).await;
    assert!(matches!(refused, Err(Error::TooLarge { bytes: 4, most: 3 })), "{refused:?}");
    assert_eq!(queued(&shelf).await, 1);
}

/// The request that removes the message is lost, and before it is sent again another worker has the message: the first is
/// told so, and not that it is gone.
#[tokio::test]
async fn a_message_that_another_has_by_now_is_not_acknowledged_after_a_lost_request() {
    let shelf = Shelf::new().await;
    let other = shelf.another_process().await;
    let taken = Arc::new(std::sync::OnceLock::new());
    let script = {
        let (other, taken, clock) = (other.clone(), Arc::clone(&taken), Arc::clone(&shelf.clock));
        move |request: Request<'_>| match request {
            Request::Delete(key) if key.starts_with("jobs/q/") && taken.get().is_none() => {
                clock.advance(TTL * 2);
                taken.set(take_one(&other).now_or_never().unwrap().unwrap()).unwrap();
                Fault::LostRequest
            }
            _ => Fault::None,
        }
    };
    let faulty = Faulty::new(Arc::clone(&shelf.storage), Arc::clone(&shelf.clock) as _, script);
    let (clock, chance) = (Arc::clone(&shelf.clock), Arc::new(SeededChance::new(3)));
    let store = LeaseStore::open_by(faulty, Options::default(), clock, chance).await.unwrap();
    store.enqueue(&queue(), &saying("one")).await.unwrap();
    let first = take_one(&store).await.unwrap();
    assert_eq!(store.ack(&first).await.unwrap_err().code(), "fencing_mismatch");
    assert_eq!(other.queue_stats(&queue()).await.unwrap().messages, 1);
    assert_eq!(other.ack(taken.get().unwrap()).await.unwrap(), Acked::Now);
}

/// All see the same message first. Whoever finds another one at it goes on to the next, and nobody loses a race.
#[tokio::test(flavor = "multi_thread")]
async fn workers_of_one_process_do_not_race_for_a_message() {
    let directory = tempfile::tempdir().unwrap();
    let storage = Arc::new(Counting::new(Disk::open(directory.path()).unwrap()));
    let store = LeaseStore::open(Arc::clone(&storage), Options::default()).await.unwrap();
    for at in 0..80 {
        store.enqueue(&queue(), &saying(&format!("{at}"))).await.unwrap();
    }
    let before = storage.requests();
    let workers: Vec<_> = (0..8)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut done = Vec::new();
                while let Some(delivery) = take_one(&store).await {
                    assert_eq!(store.ack(&delivery).await.unwrap(), Acked::Now);
                    done.extend(texts(&[delivery]).iter().map(|text| text.parse::<u32>().unwrap()));
                }
                done
            })
        })
        .collect();
    let mut done = Vec::new();
    for worker in workers {
        done.extend(worker.await.unwrap());
    }
    done.sort_unstable();
    assert_eq!(done, (0..80).collect::<Vec<_>>());
    let requests = storage.requests().since(before);
    assert_eq!((requests.puts, requests.deletes), (80, 80), "each is taken by one swap");
}
