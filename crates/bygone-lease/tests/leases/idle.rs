//! The idle sweeper: only while nobody uses the store, gently, and one at a time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bygone_core::{Event, Observer, Outcome};
use bygone_lease::storage::{Fault, Faulty, Request, Requests, Storage};
use bygone_lease::{
    Acquire, Ended, Idle, IdleOptions, IdleSweeper, IfVersion, Key, LeaseStore, Namespace, Options, SeededChance,
};
use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;

use super::mortal::{Mortal, Unlisting};
use super::shelf::{Shelf, ask, key, namespace};

const GRACE: Duration = Duration::from_secs(300);
const HOUR: Duration = Duration::from_secs(3600);

/// What was counted, by its name.
#[derive(Default)]
struct Counted(Mutex<BTreeMap<&'static str, u64>>);

impl Observer for Counted {
    fn on(&self, event: &Event<'_>) {
        if let Event::Counted { what, count, .. } = event {
            *self.0.lock().unwrap().entry(what).or_default() += count;
        }
    }
}

impl Counted {
    fn of(&self, what: &str) -> u64 {
        self.0.lock().unwrap().get(what).copied().unwrap_or_default()
    }
}

async fn look_by(store: &LeaseStore, options: IdleOptions) -> (Idle, Arc<Counted>) {
    let counted = Arc::new(Counted::default());
    let sweeper = IdleSweeper::new(store, options);
    let idle = sweeper.look(Arc::clone(&counted) as _, CancellationToken::new()).await.unwrap();
    (idle, counted)
}

async fn look(store: &LeaseStore) -> (Idle, Arc<Counted>) {
    look_by(store, IdleOptions::default()).await
}

/// Leases of these keys that are over, of keys with state.
async fn leave(shelf: &Shelf, namespace: &str, keys: usize) {
    let namespace = Namespace::new(namespace).unwrap();
    for number in 0..keys {
        let acquire = Acquire::new(namespace.clone(), Key::new(format!("key-{number:04}")).unwrap(), "a");
        let lease = shelf.store.acquire(&acquire).await.unwrap();
        shelf.store.update(&lease, b"state", IfVersion::Any).await.unwrap();
    }
}

async fn entries(shelf: &Shelf, namespace: &str) -> usize {
    shelf.keys(&format!("{namespace}/.lease-index/20")).await.len()
}

#[tokio::test]
async fn a_store_is_swept_only_after_nobody_used_it_for_a_while() {
    let shelf = Shelf::new().await;
    leave(&shelf, "jobs", 3).await;
    shelf.pass(Duration::from_millis(299_999));
    assert!(matches!(look(&shelf.store).await.0, Idle::Busy));
    assert_eq!(entries(&shelf, "jobs").await, 3);
    shelf.pass(Duration::from_millis(1));
    let (idle, counted) = look(&shelf.store).await;
    let Idle::Swept { report, ended } = idle else { panic!("{idle:?}") };
    assert_eq!(ended, Ended::Complete);
    assert_eq!(report.policies.iter().map(|policy| policy.outcome).collect::<Vec<_>>(), [Outcome::Complete]);
    assert_eq!((counted.of("leases_cleared"), counted.of("index_entries_deleted")), (3, 3));
    // Two rests between three entries.
    assert_eq!(counted.of("sweep_duration_ms"), 200);
    assert_eq!(entries(&shelf, "jobs").await, 0);
    let state = shelf.store.get(&namespace(), &key("key-0000")).await.unwrap();
    assert_eq!(&state.unwrap().state[..], b"state");
}

/// Defect 9 of the original: only operations on the store count, and one that lasts counts for as long as it does.
#[tokio::test]
async fn defect_9_asking_whether_it_is_idle_is_no_use_and_an_operation_under_way_is() {
    let shelf = Shelf::new().await;
    leave(&shelf, "jobs", 1).await;
    let storage = Mortal::new(Arc::clone(&shelf.storage), |request| request == Request::Get("jobs/meta/slow"));
    let store =
        LeaseStore::open_by(storage, Options::default(), shelf.clock.clone(), Arc::new(SeededChance::new(9))).await;
    let store = store.unwrap();
    shelf.pass(GRACE);
    for _ in 0..10 {
        assert_eq!(store.idle(), GRACE);
    }
    {
        let (namespace, slow) = (namespace(), key("slow"));
        let mut under_way = Box::pin(store.describe(&namespace, &slow));
        assert!(futures_util::poll!(&mut under_way).is_pending());
        shelf.pass(HOUR);
        assert_eq!(store.idle(), Duration::ZERO);
        assert!(matches!(look(&store).await.0, Idle::Busy));
    }
    assert!(matches!(look(&store).await.0, Idle::Busy), "it has only just ended");
    shelf.pass(GRACE);
    assert!(matches!(look(&store).await.0, Idle::Swept { .. }));
}

#[tokio::test]
async fn with_nothing_due_a_look_reads_one_list_a_namespace_and_two_for_all() {
    let shelf = Shelf::new().await;
    // They end in an hour that has not come.
    shelf.pass(Duration::from_secs(1800));
    for name in ["a", "b", "c"] {
        let lease = Acquire::new(Namespace::new(name).unwrap(), key("live"), "x");
        shelf.store.acquire(&Acquire { ttl: Some(Duration::from_secs(1800)), ..lease }).await.unwrap();
    }
    shelf.pass(GRACE);
    let before = shelf.storage.requests();
    let idle = look(&shelf.store).await.0;
    assert!(matches!(idle, Idle::NothingDue), "{idle:?}");
    // The catalogue, the hours of transactions, and the hours of each namespace.
    assert_eq!(shelf.storage.requests().since(before), Requests { gets: 2 + 3, ..Requests::default() });
}

/// Defect 10 of the original: one process sweeps a store at a time, and another takes over when that has died.
#[tokio::test]
async fn defect_10_one_process_sweeps_at_a_time() {
    let shelf = Shelf::new().await;
    leave(&shelf, "jobs", 2).await;
    shelf.pass(GRACE);
    let other = shelf.another_process().await;
    shelf.pass(GRACE);
    // The other one dies in its first rest: nobody hears of it again.
    let dying = Arc::new(AtomicBool::new(false));
    let sweeps_meanwhile = Arc::clone(&dying);
    let storage = Mortal::new(Arc::clone(&shelf.storage), move |request: Request<'_>| {
        let is_entry = matches!(request, Request::Delete(entry) if entry.starts_with("jobs/.lease-index/"));
        is_entry && !sweeps_meanwhile.swap(true, Ordering::Relaxed)
    });
    let chance = Arc::new(SeededChance::new(9));
    let mortal = LeaseStore::open_by(storage, Options::default(), shelf.clock.clone(), chance).await.unwrap();
    shelf.pass(GRACE);
    assert!(look(&mortal).now_or_never().is_none(), "it has died in the middle");
    assert!(dying.load(Ordering::Relaxed));
    assert!(matches!(look(&other).await.0, Idle::SweptByAnother));
    assert_eq!(entries(&shelf, "jobs").await, 2);
    shelf.pass(Duration::from_secs(30 + 60 + 2));
    assert!(matches!(look(&other).await.0, Idle::SweptByAnother), "what ends now has not ended");
    shelf.pass(Duration::from_millis(1));
    assert!(matches!(look(&other).await.0, Idle::Swept { ended: Ended::Complete, .. }));
    assert_eq!(entries(&shelf, "jobs").await, 0);
}

/// It stops within one entry when somebody uses the store.
#[tokio::test]
async fn a_sweep_stops_within_an_entry_when_somebody_comes() {
    let shelf = Shelf::new().await;
    leave(&shelf, "jobs", 10).await;
    shelf.pass(GRACE);
    // The same process: its operations are what the sweeper gives way to.
    let second = "jobs/meta/key-0001";
    let visitor: Arc<Mutex<Option<LeaseStore>>> = Arc::default();
    let (comes, seen) = (Arc::clone(&visitor), AtomicBool::new(false));
    let script = move |request: Request<'_>| {
        if request == Request::Get(second) && !seen.swap(true, Ordering::Relaxed) {
            let store = comes.lock().unwrap().clone();
            if let Some(store) = store {
                store.describe(&namespace(), &key("elsewhere")).now_or_never().unwrap().unwrap();
            }
        }
        Fault::None
    };
    let storage = Faulty::new(Arc::clone(&shelf.storage), shelf.clock.clone(), script);
    let chance = Arc::new(SeededChance::new(9));
    let store = LeaseStore::open_by(storage, Options::default(), shelf.clock.clone(), chance).await.unwrap();
    *visitor.lock().unwrap() = Some(store.clone());
    shelf.pass(GRACE);
    let (idle, counted) = look(&store).await;
    *visitor.lock().unwrap() = None;
    let Idle::Swept { report, ended } = idle else { panic!("{idle:?}") };
    assert_eq!((ended, report.policies[0].outcome), (Ended::Activity, Outcome::Cancelled));
    assert_eq!((counted.of("leases_cleared"), counted.of("sweeps_aborted_by_activity")), (2, 1));
    assert_eq!(entries(&shelf, "jobs").await, 8, "the entry in hand is finished, and no other is begun");
    shelf.pass(GRACE);
    assert!(matches!(look(&store).await.0, Idle::Swept { ended: Ended::Complete, .. }));
    assert_eq!(entries(&shelf, "jobs").await, 0);
}

/// Defect 12 of the original: entries and requests and time are all counted, and the one that ended a run is named.
#[tokio::test]
async fn defect_12_every_bound_binds_and_is_named() {
    let quick = IdleOptions { entry_pause: Duration::ZERO, ..IdleOptions::default() };
    let slow = IdleOptions { run_time: Duration::from_millis(450), ..IdleOptions::default() };
    // Clearing a lease takes a read, a swap and a delete.
    let bounds = [
        (IdleOptions { operations_max: 7, ..quick }, Ended::Requests, 3),
        (slow, Ended::RunTime, 5),
        (IdleOptions { operations_max: 1, ..quick }, Ended::Entries, 1),
    ];
    for (options, why, cleared) in bounds {
        let shelf = Shelf::new().await;
        leave(&shelf, "jobs", 10).await;
        shelf.pass(GRACE);
        let (idle, counted) = look_by(&shelf.store, options).await;
        assert!(matches!(idle, Idle::Swept { ended, .. } if ended == why), "{idle:?}");
        assert_eq!(
            (counted.of("leases_cleared"), entries(&shelf, "jobs").await),
            (cleared, 10 - usize::try_from(cleared).unwrap())
        );
        assert_eq!(counted.of("sweeps_aborted_by_activity"), 0);
    }
}

/// Defect 6 of the original: where runs are cut short, namespaces take turns from one run to the next.
#[tokio::test]
async fn defect_6_a_run_that_is_cut_short_starves_nobody() {
    let shelf = Shelf::new().await;
    for name in ["a", "b", "c"] {
        leave(&shelf, name, 3).await;
    }
    let one = IdleOptions { operations_max: 1, ..IdleOptions::default() };
    let mut left = Vec::new();
    for _ in 0..4 {
        shelf.pass(GRACE);
        // Every run by another process: it is the store that remembers.
        let store = shelf.another_process().await;
        shelf.pass(GRACE);
        look_by(&store, one).await;
        left.push([entries(&shelf, "a").await, entries(&shelf, "b").await, entries(&shelf, "c").await]);
    }
    assert_eq!(left, [[2, 3, 3], [2, 2, 3], [2, 2, 2], [1, 2, 2]]);
}

/// Defect 11 of the original: what nobody ended is ended while the store is idle, and decisions are forgotten. Defect 19:
/// every metric of the original's design is there.
#[tokio::test]
async fn defects_11_and_19_transactions_are_ended_and_everything_is_counted() {
    let shelf = Shelf::new().await;
    let txn = shelf.store.begin(None).unwrap();
    let staged = Acquire { txn: Some(txn), ..ask("k", "a") };
    shelf.store.stage(&staged, b"never", IfVersion::Any).await.unwrap();
    shelf.pass(GRACE);
    let (idle, first) = look(&shelf.store).await;
    let Idle::Swept { report, ended } = idle else { panic!("{idle:?}") };
    let order: Vec<&str> = report.policies.iter().map(|policy| policy.policy.as_str()).collect();
    assert_eq!((order, ended), (vec!["transactions", "leases"], Ended::Complete));
    assert_eq!(shelf.keys(".txns/").await, [""; 0]);
    assert_eq!(shelf.store.get(&namespace(), &key("k")).await.unwrap(), None);
    shelf.pass(30 * HOUR);
    let (_, second) = look(&shelf.store).await;
    assert_eq!(second.of("markers_deleted"), 1);
    assert_eq!(shelf.keys(".txn-decisions/m/").await, [""; 0]);
    let leases: u64 = [&first, &second].iter().map(|counted| counted.of("leases_cleared")).sum();
    let entries: u64 = [&first, &second].iter().map(|counted| counted.of("index_entries_deleted")).sum();
    assert!(leases <= 1 && entries >= 2, "{leases} {entries}");
}

#[tokio::test]
async fn a_running_sweeper_comes_by_itself_and_stops_when_told() {
    let shelf = Shelf::new().await;
    leave(&shelf, "jobs", 1).await;
    let sweeper = IdleSweeper::new(&shelf.store, IdleOptions::default());
    let stop = CancellationToken::new();
    // The clock moves as the sweeper sleeps.
    sweeper.run(Arc::new(StopsAfterSweep(stop.clone())), stop).await;
    assert_eq!(entries(&shelf, "jobs").await, 0);
}

/// Tells the sweeper to stop once it has swept.
struct StopsAfterSweep(CancellationToken);

impl Observer for StopsAfterSweep {
    fn on(&self, event: &Event<'_>) {
        if let Event::SweepEnded { .. } = event {
            self.0.cancel();
        }
    }
}

#[tokio::test]
async fn a_store_that_cannot_list_is_not_swept_and_says_so() {
    let shelf = Shelf::new().await;
    leave(&shelf, "jobs", 1).await;
    shelf.pass(GRACE);
    let storage = Unlisting(Arc::clone(&shelf.storage));
    assert!(!storage.capabilities().list);
    let chance = Arc::new(SeededChance::new(9));
    let store = LeaseStore::open_by(storage, Options::default(), shelf.clock.clone(), chance).await.unwrap();
    shelf.pass(GRACE);
    assert!(matches!(look(&store).await.0, Idle::NothingDue));
    let unlisted = Shelf { storage: Arc::clone(&shelf.storage), clock: Arc::clone(&shelf.clock), store };
    let report = unlisted.sweep(bygone_lease::Swept::Leases).await;
    assert_eq!((report.tally.removed, entries(&shelf, "jobs").await), (0, 1));
    assert!(report.warnings.iter().any(|warning| warning.contains("cannot list")), "{:?}", report.warnings);
    // What is over is cleared by whoever uses it.
    assert!(unlisted.store.acquire(&ask("key-0000", "b")).await.is_ok());
}
