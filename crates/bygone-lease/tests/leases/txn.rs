//! Transactions: all of it or nothing, whoever dies when.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bygone_core::PolicyReport;
use bygone_lease::storage::{Expected, Fault, Faulty, Patience, Request, Storage};
use bygone_lease::{Acquire, IfVersion, Lease, LeaseStore, Options, RolledBack, SeededChance, Swept, TxnId};
use bytes::Bytes;

use super::shelf::{Shelf, ask, key, namespace};

const HOUR: Duration = Duration::from_secs(3600);
/// Longer than a lease, a transaction and what clocks may be apart.
const LONG: Duration = Duration::from_secs(60);

fn within(txn: TxnId, name: &str) -> Acquire {
    Acquire { txn: Some(txn), ..ask(name, "a") }
}

async fn stage(store: &LeaseStore, txn: TxnId, name: &str, state: &str) -> Lease {
    store.stage(&within(txn, name), state.as_bytes(), IfVersion::Any).await.unwrap()
}

async fn publish(shelf: &Shelf, name: &str, state: &str) {
    let lease = shelf.take(name).await;
    shelf.store.update_and_release(&lease, state.as_bytes(), IfVersion::Any).await.unwrap();
}

async fn published(store: &LeaseStore, name: &str) -> Option<String> {
    let found = store.get(&namespace(), &key(name)).await.unwrap();
    found.map(|found| String::from_utf8(found.state.to_vec()).unwrap())
}

async fn both(store: &LeaseStore) -> (Option<String>, Option<String>) {
    (published(store, "x").await, published(store, "y").await)
}

fn some(x: &str, y: &str) -> (Option<String>, Option<String>) {
    (Some(x.to_owned()), Some(y.to_owned()))
}

/// Each command of a shell is a process of its own.
#[tokio::test]
async fn a_shared_transaction_is_known_to_other_processes() {
    let shelf = Shelf::new().await;
    let txn = shelf.store.begin_shared(Some(LONG)).await.unwrap();
    let (one, other) = (shelf.another_process().await, shelf.another_process().await);
    assert_eq!(other.txn_expires_at(txn).await.unwrap(), Some(shelf.now().plus(LONG)), "as long as was asked for");
    stage(&one, txn, "x", "1").await;
    stage(&other, txn, "y", "2").await;
    assert_eq!(both(&shelf.another_process().await).await, (None, None));
    shelf.another_process().await.commit(txn).await.unwrap();
    assert_eq!(both(&shelf.another_process().await).await, some("1", "2"));

    let unknown = shelf.store.begin(None).unwrap();
    assert_eq!(one.txn_expires_at(unknown).await.unwrap(), None, "one that is not shared is not known");
    let abandoned = shelf.store.begin_shared(Some(LONG)).await.unwrap();
    stage(&one, abandoned, "x", "9").await;
    shelf.pass(LONG * 2);
    one.commit(abandoned).await.unwrap_err();
    assert_eq!(both(&shelf.another_process().await).await, some("1", "2"));
}

async fn keys(shelf: &Shelf, prefix: &str) -> Vec<String> {
    shelf.keys(prefix).await
}

async fn sweep(shelf: &Shelf, swept: Swept) -> PolicyReport {
    shelf.sweep(swept).await
}

/// A process whose writes to this key, once it is cut off, never arrive.
async fn cut_off(shelf: &Shelf, name: &'static str) -> (LeaseStore, Arc<AtomicBool>) {
    let cut = Arc::new(AtomicBool::new(false));
    let is_cut = Arc::clone(&cut);
    let script = move |request: Request<'_>| match request {
        Request::Put(path) if is_cut.load(Ordering::Relaxed) && path == format!("jobs/meta/{name}") => {
            Fault::LostRequest
        }
        _ => Fault::None,
    };
    let storage = Faulty::new(Arc::clone(&shelf.storage), shelf.clock.clone(), script);
    let patience = Patience { attempts: 1, ..Patience::default() };
    let options = Options { patience, ..Options::default() };
    let chance = Arc::new(SeededChance::new(9));
    (LeaseStore::open_by(storage, options, shelf.clock.clone(), chance).await.unwrap(), cut)
}

#[tokio::test]
async fn what_is_staged_comes_true_at_once_and_not_before() {
    let shelf = Shelf::new().await;
    publish(&shelf, "x", "100").await;
    publish(&shelf, "y", "0").await;
    let txn = shelf.store.begin(None).unwrap();
    let x = stage(&shelf.store, txn, "x", "60").await;
    stage(&shelf.store, txn, "y", "40").await;
    assert_eq!(both(&shelf.store).await, some("100", "0"));
    assert_eq!(&shelf.store.get_held(&x).await.unwrap().unwrap().state[..], b"60", "the holder sees what it staged");
    shelf.store.commit(txn).await.unwrap();
    assert_eq!(both(&shelf.store).await, some("60", "40"));
    shelf.store.commit(txn).await.unwrap();
    assert_eq!(shelf.store.rollback(txn).await.unwrap_err().code(), "txn_conflict");
    // The leases went with it, and the record; the decision is remembered.
    shelf.take("x").await;
    assert_eq!(keys(&shelf, ".txns/").await, [""; 0]);
    assert_eq!(keys(&shelf, ".txn-decisions/m/").await, [format!(".txn-decisions/m/{}", txn.0)]);
    assert_eq!(keys(&shelf, ".txn-decisions/e/").await, [format!(".txn-decisions/e/2026111912/{}", txn.0)]);
}

#[tokio::test]
async fn what_is_rolled_back_never_was() {
    let shelf = Shelf::new().await;
    publish(&shelf, "x", "100").await;
    let txn = shelf.store.begin(None).unwrap();
    stage(&shelf.store, txn, "x", "60").await;
    let y = shelf.store.acquire(&within(txn, "y")).await.unwrap();
    shelf.store.update(&y, b"40", IfVersion::Any).await.unwrap();
    assert_eq!(shelf.store.rollback(txn).await.unwrap(), RolledBack::Now);
    assert_eq!(both(&shelf.store).await, (Some("100".into()), None));
    assert_eq!(shelf.store.rollback(txn).await.unwrap(), RolledBack::Now);
    assert_eq!(shelf.store.commit(txn).await.unwrap_err().code(), "txn_conflict");
    shelf.take("x").await;
    let never = shelf.another_process().await.begin(None).unwrap();
    assert_eq!(shelf.store.rollback(never).await.unwrap(), RolledBack::Unknown);
    assert_eq!(shelf.store.commit(never).await.unwrap_err().code(), "txn_unknown");
}

#[tokio::test]
async fn a_removal_is_staged_too_and_conditions_are_tested_when_staged() {
    let shelf = Shelf::new().await;
    publish(&shelf, "x", "1").await;
    let txn = shelf.store.begin(None).unwrap();
    let refused = shelf.store.stage(&within(txn, "x"), b"2", IfVersion::Is(7)).await.unwrap_err();
    assert_eq!(refused.code(), "version_conflict");
    let x = shelf.store.acquire(&within(txn, "x")).await.unwrap();
    shelf.store.remove(&x, IfVersion::Is(1)).await.unwrap();
    assert_eq!(published(&shelf.store, "x").await.as_deref(), Some("1"));
    shelf.store.commit(txn).await.unwrap();
    assert_eq!(published(&shelf.store, "x").await, None);
}

#[tokio::test]
async fn a_transaction_over_n_keys_costs_three_requests_a_key_and_three() {
    for n in [1, 2, 5, 20] {
        let shelf = Shelf::new().await;
        // Known keys in a known hour, as in a store that is in use.
        for number in 0..n {
            publish(&shelf, &format!("k{number}"), "0").await;
        }
        let warm = shelf.store.begin(None).unwrap();
        stage(&shelf.store, warm, "k0", "0").await;
        shelf.store.commit(warm).await.unwrap();
        let before = shelf.storage.requests();
        let txn = shelf.store.begin(None).unwrap();
        for number in 0..n {
            stage(&shelf.store, txn, &format!("k{number}"), "1").await;
        }
        shelf.store.commit(txn).await.unwrap();
        assert_eq!(shelf.storage.requests().since(before).total(), 3 * n + 3, "{n} keys");
    }
}

/// Defect 1 of the original, the worst: clearing an expired lease discarded what was committed and not yet applied.
#[tokio::test]
async fn defect_1_what_was_committed_and_not_applied_outlives_the_lease() {
    for meet in 0..3 {
        let shelf = Shelf::new().await;
        publish(&shelf, "x", "100").await;
        publish(&shelf, "y", "0").await;
        let (store, cut) = cut_off(&shelf, "y").await;
        let txn = store.begin(None).unwrap();
        stage(&store, txn, "x", "60").await;
        stage(&store, txn, "y", "40").await;
        cut.store(true, Ordering::Relaxed);
        store.commit(txn).await.unwrap();
        drop(store);
        shelf.pass(LONG);
        match meet {
            0 => drop(shelf.store.acquire(&ask("y", "b")).await.unwrap()),
            1 => drop(sweep(&shelf, Swept::Leases).await),
            _ => drop(sweep(&shelf, Swept::Transactions).await),
        }
        assert_eq!(both(&shelf.store).await, some("60", "40"), "met by {meet}");
    }
}

/// Found by the simulation: a key that had been read in its new version was described in the old one.
#[tokio::test]
async fn what_was_committed_and_not_applied_is_described_as_it_is_read() {
    let shelf = Shelf::new().await;
    publish(&shelf, "x", "1").await;
    let (store, cut) = cut_off(&shelf, "x").await;
    let txn = store.begin(None).unwrap();
    stage(&store, txn, "x", "2").await;
    cut.store(true, Ordering::Relaxed);
    store.commit(txn).await.unwrap();
    let described = shelf.store.describe(&namespace(), &key("x")).await.unwrap().unwrap();
    assert_eq!((described.exists, described.version, described.owner), (true, 2, None));
    let found = shelf.store.get(&namespace(), &key("x")).await.unwrap().unwrap();
    assert_eq!((found.version, &*found.state), (2, &b"2"[..]));
}

/// Defect 2 of the original: a commit did not look whether everybody was still there.
#[tokio::test]
async fn defect_2_a_commit_without_one_of_its_participants_undoes_the_others() {
    let shelf = Shelf::new().await;
    publish(&shelf, "x", "100").await;
    publish(&shelf, "y", "0").await;
    let (store, cut) = cut_off(&shelf, "y").await;
    let txn = store.begin(None).unwrap();
    stage(&store, txn, "x", "60").await;
    cut.store(true, Ordering::Relaxed);
    // Named, but never staged.
    assert_eq!(store.stage(&within(txn, "y"), b"40", IfVersion::Any).await.unwrap_err().code(), "outcome_unknown");
    assert_eq!(store.commit(txn).await.unwrap_err().code(), "txn_conflict");
    assert_eq!(both(&shelf.store).await, some("100", "0"));
    shelf.take("x").await;
}

/// Defect 3 of the original: a transaction that lived was rolled back.
#[tokio::test]
async fn defect_3_keeping_a_lease_alive_keeps_its_transaction_alive() {
    let shelf = Shelf::new().await;
    let other = shelf.another_process().await;
    let txn = shelf.store.begin(None).unwrap();
    let mut lease = stage(&shelf.store, txn, "x", "1").await;
    for _ in 0..5 {
        shelf.pass(Duration::from_secs(25));
        lease = shelf.store.keepalive(&lease, None).await.unwrap();
        assert_eq!(other.acquire(&ask("x", "b")).await.unwrap_err().code(), "waiting");
        sweep(&shelf, Swept::Transactions).await;
    }
    shelf.store.commit(txn).await.unwrap();
    assert_eq!(published(&shelf.store, "x").await.as_deref(), Some("1"));
}

/// A lease lasts as long as it was given for, not as long as leases last by default; and so does its transaction.
#[tokio::test]
async fn keeping_a_long_lease_alive_keeps_its_transaction_alive_for_as_long() {
    let shelf = Shelf::new().await;
    let txn = shelf.store.begin(None).unwrap();
    let request = Acquire { ttl: Some(Duration::from_secs(600)), ..within(txn, "x") };
    let lease = shelf.store.stage(&request, b"1", IfVersion::Any).await.unwrap();
    shelf.pass(Duration::from_secs(500));
    shelf.store.keepalive(&lease, None).await.unwrap();
    shelf.pass(Duration::from_secs(300));
    sweep(&shelf, Swept::Transactions).await;
    shelf.store.commit(txn).await.unwrap();
    assert_eq!(published(&shelf.store, "x").await.as_deref(), Some("1"));
}

#[tokio::test]
async fn whoever_meets_one_that_is_past_its_time_rolls_it_back_everywhere() {
    let shelf = Shelf::new().await;
    let other = shelf.another_process().await;
    publish(&shelf, "x", "100").await;
    let txn = shelf.store.begin(None).unwrap();
    stage(&shelf.store, txn, "x", "60").await;
    stage(&shelf.store, txn, "y", "40").await;
    shelf.pass(Duration::from_secs(31));
    assert_eq!(other.acquire(&ask("x", "b")).await.unwrap_err().code(), "waiting", "clocks may be apart");
    shelf.pass(Duration::from_secs(2));
    let lease = other.acquire(&ask("x", "b")).await.unwrap();
    assert_eq!(shelf.store.commit(txn).await.unwrap_err().code(), "txn_conflict");
    assert_eq!(both(&other).await, (Some("100".into()), None));
    other.keepalive(&lease, None).await.unwrap();
}

#[tokio::test]
async fn a_commit_that_comes_too_late_is_none() {
    let shelf = Shelf::new().await;
    let txn = shelf.store.begin(None).unwrap();
    stage(&shelf.store, txn, "x", "1").await;
    shelf.pass(Duration::from_millis(30_001));
    assert_eq!(shelf.store.commit(txn).await.unwrap_err().code(), "txn_conflict");
    assert_eq!(published(&shelf.store, "x").await, None);
}

#[tokio::test]
async fn a_lease_in_a_transaction_ends_with_it_alone() {
    let shelf = Shelf::new().await;
    let txn = shelf.store.begin(Some(Duration::from_secs(600))).unwrap();
    let lease = stage(&shelf.store, txn, "x", "1").await;
    assert_eq!(shelf.store.release(&lease).await.unwrap_err().code(), "txn_pending");
    let refused = shelf.store.update_and_release(&lease, b"2", IfVersion::Any).await.unwrap_err();
    assert_eq!(refused.code(), "txn_pending");
    // Its own time has passed; its transaction's has not.
    shelf.pass(LONG);
    assert_eq!(shelf.store.acquire(&ask("x", "b")).await.unwrap_err().code(), "waiting");
    sweep(&shelf, Swept::Leases).await;
    shelf.store.commit(txn).await.unwrap();
    assert_eq!(published(&shelf.store, "x").await.as_deref(), Some("1"));
}

/// Defect 11 of the original: idle stores never finished their transactions.
#[tokio::test]
async fn defect_11_the_sweeper_ends_what_nobody_comes_back_for() {
    let shelf = Shelf::new().await;
    publish(&shelf, "x", "100").await;
    let over = shelf.store.begin(None).unwrap();
    stage(&shelf.store, over, "x", "60").await;
    stage(&shelf.store, over, "y", "40").await;
    let live = shelf.store.begin(Some(Duration::from_secs(600))).unwrap();
    stage(&shelf.store, live, "z", "1").await;
    shelf.pass(LONG);
    let report = sweep(&shelf, Swept::Transactions).await;
    assert_eq!((report.tally.examined, report.tally.removed), (1, 1));
    assert_eq!(keys(&shelf, ".txns/").await, [format!(".txns/{}", live.0)]);
    assert_eq!(both(&shelf.store).await, (Some("100".into()), None));
    shelf.take("y").await;
    shelf.store.commit(live).await.unwrap();
    assert_eq!(published(&shelf.store, "z").await.as_deref(), Some("1"));
}

#[tokio::test]
async fn decisions_are_forgotten_after_their_time_and_those_without_an_entry_stay() {
    let shelf = Shelf::new().await;
    let txn = shelf.store.begin(None).unwrap();
    stage(&shelf.store, txn, "x", "1").await;
    shelf.store.commit(txn).await.unwrap();
    let old = ".txn-decisions/m/019a0000-0000-7000-8000-000000000000";
    shelf.storage.put(old, Bytes::from_static(b"{\"from\": \"before\"}"), Expected::Absent).await.unwrap();
    shelf.pass(24 * HOUR);
    assert_eq!(sweep(&shelf, Swept::Decisions).await.tally.removed, 0, "it ends now, and so it has not ended");
    shelf.pass(Duration::from_millis(1));
    assert_eq!(sweep(&shelf, Swept::Decisions).await.tally.removed, 1);
    assert_eq!(keys(&shelf, ".txn-decisions/m/").await, [old]);
    assert_eq!(keys(&shelf, ".txn-decisions/e/").await, [""; 0]);
    shelf.pass(3 * HOUR);
    sweep(&shelf, Swept::Decisions).await;
    sweep(&shelf, Swept::Transactions).await;
    let hours = shelf.storage.get(".txn-decisions/buckets.json").await.unwrap().unwrap();
    let hours: serde_json::Value = serde_json::from_slice(&hours.body).unwrap();
    assert_eq!((&hours["pending"], &hours["buckets"]), (&serde_json::json!([]), &serde_json::json!([])));
    let before = shelf.storage.requests();
    sweep(&shelf, Swept::Transactions).await;
    sweep(&shelf, Swept::Decisions).await;
    assert_eq!(shelf.storage.requests().since(before).total(), 2, "one read each, and no list");
}

/// One process decides for the keys that it knows of, while another enlists a further one: that one is not part of it.
/// Found by the simulation: a sweep between the two writes of a decision took its entry away, and nobody ever forgot it.
#[tokio::test]
async fn an_entry_waits_for_the_decision_that_it_was_written_for() {
    let shelf = Shelf::new().await;
    let is_cut = |request: Request<'_>| match request {
        Request::Put(path) if path.starts_with(".txn-decisions/m/") => Fault::LostRequest,
        _ => Fault::None,
    };
    let storage = Faulty::new(Arc::clone(&shelf.storage), shelf.clock.clone(), is_cut);
    let patience = Patience { attempts: 1, ..Patience::default() };
    let (max_ttl, decision_keep) = (Duration::from_secs(30), Duration::from_secs(60));
    let options = Options { patience, max_ttl, decision_keep, ..Options::default() };
    let chance = Arc::new(SeededChance::new(9));
    let store = LeaseStore::open_by(storage, options, shelf.clock.clone(), chance).await.unwrap();
    let txn = store.begin(None).unwrap();
    stage(&store, txn, "x", "1").await;
    assert!(store.commit(txn).await.is_err());
    assert_eq!(keys(&shelf, ".txn-decisions/e/").await, [format!(".txn-decisions/e/2026111812/{}", txn.0)]);
    for (time, entries) in [(LONG, 1), (HOUR, 1), (2 * HOUR, 0)] {
        shelf.pass(time);
        let swept = sweep(&shelf, Swept::Decisions).await;
        assert_eq!(u64::try_from(entries).unwrap() + swept.tally.removed, 1);
        assert_eq!(keys(&shelf, ".txn-decisions/e/").await.len(), entries);
    }
}

#[tokio::test]
async fn whoever_is_enlisted_beside_the_decision_is_not_part_of_it() {
    let shelf = Shelf::new().await;
    let other = shelf.another_process().await;
    let txn = shelf.store.begin(None).unwrap();
    stage(&shelf.store, txn, "x", "1").await;
    stage(&other, txn, "y", "2").await;
    shelf.store.commit(txn).await.unwrap();
    assert_eq!(other.commit(txn).await.unwrap_err().code(), "txn_conflict");
    assert_eq!(both(&shelf.store).await, (Some("1".into()), None));
    shelf.take("y").await;
    assert_eq!(published(&shelf.store, "y").await, None);
    assert_eq!(keys(&shelf, ".txns/").await, [""; 0]);
}

/// The same where he comes so late that his transaction is past its time, and others were begun since.
#[tokio::test]
async fn whoever_was_enlisted_beside_the_decision_is_told_so_however_late_he_asks() {
    let shelf = Shelf::new().await;
    let other = shelf.another_process().await;
    let txn = shelf.store.begin(None).unwrap();
    stage(&shelf.store, txn, "x", "1").await;
    stage(&other, txn, "y", "2").await;
    shelf.store.commit(txn).await.unwrap();
    shelf.pass(Duration::from_secs(3600));
    other.begin(None).unwrap();
    assert_eq!(other.commit(txn).await.unwrap_err().code(), "txn_conflict");
    assert_eq!(published(&shelf.store, "y").await, None);
}
