//! A plan is a promise: what a survey counts is what a sweep by the same boundary does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bygone_core::{Boundary, Budget, Clock, Job, Survey, Sweep, Target};
use bygone_lease::storage::Request;
use bygone_lease::{
    Acquire, Enqueue, IfVersion, Lease, LeaseStore, LeaseTarget, Nack, Options, Queue, QueueName, Replay, SeededChance,
    Swept, TxnId, Wait,
};
use futures_util::FutureExt;
use proptest::prelude::*;

use super::mortal::{Mortal, Undeleting};
use super::shelf::{Shelf, ask, key, namespace};

const PARTS: [Swept; 3] = [Swept::Transactions, Swept::Leases, Swept::Decisions];
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const LARGE: &[u8] = b"a state that has no room in a record";

/// Blobs come early, dead letters go early, and what others left is left to the sweep.
fn options() -> Options {
    let replay = Replay { run_time: Duration::ZERO, ..Replay::default() };
    Options {
        inline_bytes_max: 16,
        chunk_bytes: 10,
        dead_letter_keep: Duration::from_secs(6 * 3600),
        replay,
        ..Options::default()
    }
}

/// Every part is surveyed before the first one is swept, as a policy over a store does it.
async fn plan_and_sweep(shelf: &Shelf, store: &LeaseStore) -> (Vec<u64>, Vec<u64>) {
    let boundary = Boundary::at(shelf.clock.now());
    let mut targets = PARTS.map(|swept| LeaseTarget::new(swept, "leases", "store", store));
    let before = shelf.storage.requests();
    let mut planned = Vec::new();
    for target in &mut targets {
        let Survey { bygone, unreadable, .. } = target.survey(boundary).await.unwrap();
        assert_eq!(unreadable, 0);
        planned.push(bygone.unwrap());
    }
    let asked = shelf.storage.requests().since(before);
    assert_eq!((asked.puts, asked.deletes), (0, 0), "a survey writes nothing");
    let jobs = targets.map(|target| Job::new(Box::new(target), Budget::default())).into();
    let report = Sweep::new(shelf.clock.clone(), boundary).run(jobs).await;
    let swept = report.policies.iter().map(|policy| {
        assert_eq!((&policy.error, policy.tally.kept_back.total()), (&None, 0));
        policy.tally.removed
    });
    (planned, swept.collect())
}

fn mail() -> Queue {
    Queue { namespace: namespace(), name: QueueName::new("mail").unwrap() }
}

async fn take(store: &LeaseStore, name: &str) -> Lease {
    store.acquire(&ask(name, "a")).await.unwrap()
}

async fn stage(store: &LeaseStore, txn: TxnId, name: &str, state: &[u8]) {
    store.stage(&Acquire { txn: Some(txn), ..ask(name, "a") }, state, IfVersion::Any).await.unwrap();
}

async fn send(store: &LeaseStore, txn: Option<TxnId>, ttl: Option<Duration>) {
    store.enqueue(&mail(), &Enqueue { txn, ttl, attempts_max: Some(1), ..Enqueue::default() }).await.unwrap();
}

/// One of everything that can be due, hours ago.
async fn leave_everything(shelf: &Shelf) {
    let store = &shelf.store;
    // A key that is gone, a decision that is to be forgotten, and a dead letter past its keep.
    store.release(&take(store, "removed").await).await.unwrap();
    let old = store.begin(None).unwrap();
    stage(store, old, "committed", b"1").await;
    store.commit(old).await.unwrap();
    send(store, None, None).await;
    let failed = store.dequeue(&mail(), "a", None, 1, Wait::None).await.unwrap();
    store.nack(&failed[0], Nack::Failure, Duration::ZERO).await.unwrap();
    assert!(store.dequeue(&mail(), "a", None, 1, Wait::None).await.unwrap().is_empty());
    assert_eq!(store.dead_letters(&mail(), 5).await.unwrap().len(), 1);
    shelf.pass(25 * HOUR);
    // Leases that nobody gave back, with state and without.
    take(store, "empty").await;
    store.update(&take(store, "stateful").await, b"state", IfVersion::Any).await.unwrap();
    store.update_and_release(&take(store, "published").await, LARGE, IfVersion::Any).await.unwrap();
    // Messages past their time, and one that has none.
    send(store, None, Some(MINUTE)).await;
    send(store, None, None).await;
    // Transactions that nobody ended: with a new key, with one that has state, with blobs and with messages.
    let abandoned = store.begin(None).unwrap();
    stage(store, abandoned, "new", b"1").await;
    stage(store, abandoned, "published", LARGE).await;
    send(store, Some(abandoned), None).await;
    send(store, Some(abandoned), Some(MINUTE)).await;
    // Uploads that were broken off: under a lease, and in a transaction.
    let upload = |store: LeaseStore| async move {
        store.update(&take(&store, "-upload").await, LARGE, IfVersion::Any).await.unwrap();
    };
    assert!(!shelf.dies_before_write(4, options(), upload).await);
    let upload = |store: LeaseStore| async move {
        let txn = store.begin(None).unwrap();
        let lease = store.acquire(&Acquire { txn: Some(txn), ..ask("upload", "a") }).await.unwrap();
        store.update(&lease, LARGE, IfVersion::Any).await.unwrap();
    };
    assert!(!shelf.dies_before_write(6, options(), upload).await);
    // Commits that died right behind their decision.
    let commit = |store: LeaseStore| async move {
        let txn = store.begin(None).unwrap();
        stage(&store, txn, "half", b"done").await;
        send(&store, Some(txn), None).await;
        store.commit(txn).await.unwrap();
    };
    assert!(!shelf.dies_before_write(8, options(), commit).await);
}

#[tokio::test]
async fn a_plan_counts_what_a_sweep_does_of_every_kind() {
    for hours in [0, 1, 2, 3, 25, 50] {
        let shelf = Shelf::with(options()).await;
        leave_everything(&shelf).await;
        // What lives, is held or is pending is none of it.
        shelf.pass(hours * HOUR);
        take(&shelf.store, "living").await;
        let pending = shelf.store.begin(None).unwrap();
        stage(&shelf.store, pending, "pending", b"1").await;
        send(&shelf.store, Some(pending), None).await;
        shelf.pass(Duration::from_secs(10));
        let sweeper = shelf.over(options()).await;
        let (planned, swept) = plan_and_sweep(&shelf, &sweeper).await;
        assert_eq!(planned, swept, "{hours} hours later");
        if hours == 3 {
            assert_eq!(swept, [3, 16, 1], "everything that was left");
        }
        let (planned, swept) = plan_and_sweep(&shelf, &sweeper).await;
        assert_eq!(planned, swept, "{hours} hours later, again");
    }
}

/// What somebody does, or dies over.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Hold,
    Release,
    Update(bool),
    Remove,
    Attach,
    KeepAlive,
    Abandon(bool),
    Commit(bool),
    Send { ttl: bool, staged: bool },
    Receive { ack: bool },
    Pass(u64),
    Sweep,
}

/// Long enough to meet each of these things, short enough that much of it is of the same hour.
fn history() -> impl Strategy<Value = Vec<(Deed, &'static str, Option<u32>)>> {
    let deed = prop_oneof![
        2 => Just(Deed::Hold),
        1 => Just(Deed::Release),
        2 => any::<bool>().prop_map(Deed::Update),
        1 => Just(Deed::Remove),
        1 => Just(Deed::Attach),
        1 => Just(Deed::KeepAlive),
        3 => any::<bool>().prop_map(Deed::Abandon),
        2 => any::<bool>().prop_map(Deed::Commit),
        2 => any::<(bool, bool)>().prop_map(|(ttl, staged)| Deed::Send { ttl, staged }),
        1 => any::<bool>().prop_map(|ack| Deed::Receive { ack }),
        3 => prop_oneof![1u64..10, 10u64..200, Just(25 * 60)].prop_map(Deed::Pass),
        1 => Just(Deed::Sweep),
    ];
    let name = prop_oneof![Just("a"), Just("b"), Just("-c")];
    // Most live on.
    let dies = proptest::option::weighted(0.3, 0u32..12);
    proptest::collection::vec((deed, name, dies), 1..30)
}

/// Does it as far as it is possible: a key may be held, or a lease over.
async fn act(store: LeaseStore, deed: Deed, name: &'static str) {
    let state = |large: bool| if large { LARGE } else { b"small" };
    let txn = store.begin(None).unwrap();
    let within = Acquire { txn: Some(txn), ..ask(name, "a") };
    match deed {
        Deed::Abandon(large) => drop(store.stage(&within, state(large), IfVersion::Any).await),
        Deed::Commit(large) => {
            if store.stage(&within, state(large), IfVersion::Any).await.is_ok() {
                send(&store, Some(txn), Some(MINUTE).filter(|_| large)).await;
                let _ = store.commit(txn).await;
            }
        }
        Deed::Send { ttl, staged } => {
            send(&store, Some(txn).filter(|_| staged), Some(MINUTE).filter(|_| ttl)).await;
        }
        Deed::Receive { ack } => {
            for delivery in store.dequeue(&mail(), "a", None, 2, Wait::None).await.unwrap() {
                if ack {
                    let _ = store.ack(&delivery).await;
                }
            }
        }
        Deed::Pass(_) | Deed::Sweep => {}
        held => {
            let Ok(lease) = store.acquire(&ask(name, "a")).await else { return };
            let _ = match held {
                Deed::Release => store.release(&lease).await.map(drop),
                Deed::Update(large) => store.update(&lease, state(large), IfVersion::Any).await.map(drop),
                Deed::Remove => store.remove(&lease, IfVersion::Any).await.map(drop),
                Deed::Attach => store.put_attachment(&lease, "more", None, LARGE).await.map(drop),
                Deed::KeepAlive => store.keepalive(&lease, Some(30 * MINUTE)).await.map(drop),
                _ => Ok(()),
            };
        }
    }
}

/// A process that no other is like, which dies before its write of that number, if it does.
async fn live_for(shelf: &Shelf, process: u64, writes: Option<u32>) -> LeaseStore {
    let left = AtomicU32::new(writes.unwrap_or(u32::MAX));
    let dies = move |request: Request<'_>| {
        let is_write = matches!(request, Request::Put(_) | Request::Delete(_));
        is_write && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
    };
    let storage = Mortal::new(Arc::clone(&shelf.storage), dies);
    let chance = Arc::new(SeededChance::new(process));
    LeaseStore::open_by(storage, options(), shelf.clock.clone(), chance).await.unwrap()
}

proptest! {
    #[test]
    fn whatever_was_left_a_plan_counts_what_a_sweep_does(history in history()) {
        let work = async {
            let shelf = Shelf::with(options()).await;
            let history = history.into_iter().chain([(Deed::Pass(90), "", None), (Deed::Sweep, "", None)]);
            for ((deed, name, dies), process) in history.zip(100..) {
                match deed {
                    Deed::Pass(minutes) => shelf.pass(Duration::from_secs(60 * minutes)),
                    Deed::Sweep => {
                        let (planned, swept) = plan_and_sweep(&shelf, &live_for(&shelf, process, None).await).await;
                        prop_assert_eq!(planned, swept);
                    }
                    deed => {
                        // Whoever is dead never ends.
                        let _ = act(live_for(&shelf, process, dies).await, deed, name).now_or_never();
                    }
                }
            }
            Ok(())
        };
        work.now_or_never().unwrap()?;
    }
}

/// What is staged stays where its transaction is not over, and is not counted.
#[tokio::test]
async fn what_is_pending_is_counted_by_no_part() {
    let shelf = Shelf::with(options()).await;
    let txn = shelf.store.begin(Some(30 * MINUTE)).unwrap();
    stage(&shelf.store, txn, "k", b"1").await;
    send(&shelf.store, Some(txn), None).await;
    // The lease of the key is over; its transaction is not.
    shelf.pass(20 * MINUTE);
    assert_eq!(plan_and_sweep(&shelf, &shelf.store).await, (vec![0, 0, 0], vec![0, 0, 0]));
    shelf.store.commit(txn).await.unwrap();
    assert!(shelf.store.get(&namespace(), &key("k")).await.unwrap().is_some());
}

/// Found by the test of histories: what was left of the upload took the lease away, and the key's own entry counted again.
#[tokio::test]
async fn an_upload_that_was_just_broken_off_is_counted_with_its_lease_alone() {
    let shelf = Shelf::with(options()).await;
    let upload = |store: LeaseStore| async move {
        store.update(&take(&store, "upload").await, LARGE, IfVersion::Any).await.unwrap();
    };
    assert!(!shelf.dies_before_write(6, options(), upload).await);
    assert_eq!(shelf.keys("jobs/state/").await.len(), 1, "a part of it came");
    shelf.pass(MINUTE);
    assert_eq!(plan_and_sweep(&shelf, &shelf.store).await, (vec![0, 1, 0], vec![0, 1, 0]), "the lease");
    assert_eq!(shelf.keys("jobs/state/").await.len(), 1, "more of it may be on its way");
    shelf.pass(2 * HOUR);
    assert_eq!(
        plan_and_sweep(&shelf, &shelf.store).await,
        (vec![0, 1, 0], vec![0, 1, 0]),
        "what was left of the upload"
    );
    assert!(shelf.keys("jobs/state/").await.is_empty());
}

/// Found by the test of histories: of two entries the first took the decision away, and the second waited for another.
#[tokio::test]
async fn a_decision_that_two_entries_lead_to_goes_with_both() {
    let shelf = Shelf::with(options()).await;
    let txn = shelf.store.begin(None).unwrap();
    stage(&shelf.store, txn, "k", b"1").await;
    shelf.pass(MINUTE);
    // Whoever wanted to decide it first died between the entry and the decision.
    let dies = |request: Request<'_>| matches!(request, Request::Put(key) if key.starts_with(".txn-decisions/m/"));
    let (storage, chance) = (Mortal::new(Arc::clone(&shelf.storage), dies), Arc::new(SeededChance::new(8)));
    let other = LeaseStore::open_by(storage, options(), shelf.clock.clone(), chance).await.unwrap();
    assert!(take(&other, "k").now_or_never().is_none());
    assert_eq!((shelf.keys(".txn-decisions/e/").await.len(), shelf.keys(".txn-decisions/m/").await.len()), (1, 0));
    shelf.pass(HOUR);
    take(&shelf.store, "k").await;
    assert_eq!((shelf.keys(".txn-decisions/e/").await.len(), shelf.keys(".txn-decisions/m/").await.len()), (2, 1));
    shelf.pass(24 * HOUR + MINUTE);
    let (planned, swept) = plan_and_sweep(&shelf, &shelf.store).await;
    assert_eq!((planned[2], swept[2]), (2, 2));
    assert_eq!(shelf.keys(".txn-decisions/").await, [".txn-decisions/buckets.json"]);
}

/// Where entries stay, only what is done to what they lead to counts.
#[tokio::test]
async fn where_nothing_can_be_deleted_entries_are_not_counted() {
    let shelf = Shelf::with(options()).await;
    let storage = Undeleting(Arc::clone(&shelf.storage));
    let chance = Arc::new(SeededChance::new(7));
    let store = LeaseStore::open_by(storage, options(), shelf.clock.clone(), chance).await.unwrap();
    store.release(&take(&store, "released").await).await.unwrap();
    take(&store, "held").await;
    send(&store, None, Some(MINUTE)).await;
    let txn = store.begin(None).unwrap();
    stage(&store, txn, "staged", b"1").await;
    shelf.pass(2 * HOUR);
    assert_eq!(plan_and_sweep(&shelf, &store).await, (vec![1, 2, 0], vec![1, 2, 0]), "a lease and a message");
    shelf.pass(50 * HOUR);
    assert_eq!(plan_and_sweep(&shelf, &store).await, (vec![1, 0, 0], vec![1, 0, 0]), "the transaction cannot go");
}
