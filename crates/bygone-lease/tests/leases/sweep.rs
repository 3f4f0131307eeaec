//! The sweeper: it takes away what nobody comes back for, and nothing else, for little.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bygone_core::{Boundary, Budget, Care, Clock, Job, ManualClock, PageRequest, PolicyReport, Sweep, Target};
use bygone_lease::storage::{Expected, Fault, Faulty, Request, Requests, Storage};
use bygone_lease::{Acquire, IfVersion, Key, LeaseStore, LeaseTarget, Namespace, Options, SeededChance, Swept};
use bytes::Bytes;
use futures_util::FutureExt;

use super::mortal::Mortal;
use super::shelf::{Shelf, ask, key, namespace};

const HOUR: Duration = Duration::from_secs(3600);

async fn sweep(shelf: &Shelf) -> PolicyReport {
    shelf.sweep(Swept::Leases).await
}

async fn keys(shelf: &Shelf, prefix: &str) -> Vec<String> {
    shelf.keys(prefix).await
}

async fn owner(shelf: &Shelf, name: &str) -> Option<String> {
    let record = shelf.storage.get(&format!("jobs/meta/{name}")).await.unwrap()?;
    let record: serde_json::Value = serde_json::from_slice(&record.body).unwrap();
    Some(record["lease"]["owner"].as_str().unwrap_or("nobody").to_owned())
}

/// Takes a lease and writes state, so that the record stays when the lease is gone.
async fn hold_with_state(shelf: &Shelf, name: &str, ttl: Duration) {
    let lease = shelf.store.acquire(&Acquire { ttl: Some(ttl), ..ask(name, "a") }).await.unwrap();
    shelf.store.update(&lease, b"state", IfVersion::Any).await.unwrap();
}

#[tokio::test]
async fn what_is_over_is_cleared_and_what_is_not_stays() {
    let shelf = Shelf::new().await;
    hold_with_state(&shelf, "over", Duration::from_secs(30)).await;
    hold_with_state(&shelf, "on-the-boundary", Duration::from_secs(60)).await;
    hold_with_state(&shelf, "live", Duration::from_secs(600)).await;
    shelf.pass(Duration::from_secs(60));
    let report = sweep(&shelf).await;
    assert_eq!((report.tally.examined, report.tally.removed), (1, 1));
    assert_eq!(owner(&shelf, "over").await.as_deref(), Some("nobody"));
    assert_eq!(owner(&shelf, "on-the-boundary").await.as_deref(), Some("a"));
    assert_eq!(owner(&shelf, "live").await.as_deref(), Some("a"));
    assert_eq!(
        keys(&shelf, "jobs/.lease-index/20").await,
        ["jobs/.lease-index/2026111812/live", "jobs/.lease-index/2026111812/on-the-boundary"]
    );
    let state = shelf.store.get(&namespace(), &key("over")).await.unwrap().unwrap();
    assert_eq!(&state.state[..], b"state");
    assert_eq!(sweep(&shelf).await.tally.removed, 0, "sweeping twice is harmless");
}

#[tokio::test]
async fn with_nothing_due_it_reads_a_list_a_namespace_and_lists_nothing() {
    let shelf = Shelf::new().await;
    for name in ["a", "b", "c"] {
        let request = Acquire::new(Namespace::new(name).unwrap(), key("k"), "x");
        let ttl = Some(Duration::from_secs(30 * 60));
        shelf.store.acquire(&Acquire { ttl, ..request }).await.unwrap();
    }
    // Nothing has come whose hour could be due.
    shelf.clock.advance(Duration::from_secs(25 * 60));
    for name in ["a", "b", "c"] {
        let lease = Acquire::new(Namespace::new(name).unwrap(), key("late"), "x");
        shelf.store.acquire(&Acquire { ttl: Some(Duration::from_secs(30 * 60)), ..lease }).await.unwrap();
    }
    let earlier = Boundary::at("2026-11-18T11:59:59Z".parse().unwrap());
    let before = shelf.storage.requests();
    let target = LeaseTarget::new(Swept::Leases, "expired-leases", "store", &shelf.store);
    let report =
        Sweep::new(shelf.clock.clone(), earlier).run(vec![Job::new(Box::new(target), Budget::default())]).await;
    assert_eq!(report.policies[0].tally.examined, 0);
    assert_eq!(shelf.storage.requests().since(before), Requests { gets: 1 + 3, ..Requests::default() });
}

/// The cost follows what is due, whatever else is stored.
#[tokio::test]
async fn due_entries_cost_the_same_among_few_keys_and_among_many() {
    let mut costs = Vec::new();
    for stored in [1_000, 100_000] {
        let shelf = Shelf::new().await;
        let mut lease = shelf.take("k").await;
        for number in 0..stored {
            let name = Key::new(format!("at-rest-{number}")).unwrap();
            let request = Acquire { key: name, ..ask("k", "a") };
            lease = shelf.store.acquire(&request).await.unwrap();
            shelf.store.update_and_release(&lease, b"state", IfVersion::Any).await.unwrap();
        }
        drop(lease);
        shelf.pass(3 * HOUR);
        sweep(&shelf).await;
        assert_eq!(keys(&shelf, "jobs/.lease-index/20").await.len(), 1, "the tombstone of k");
        for number in 0..50 {
            hold_with_state(&shelf, &format!("due-{number}"), Duration::from_secs(30)).await;
        }
        shelf.pass(3 * HOUR);
        let before = shelf.storage.requests();
        assert_eq!(sweep(&shelf).await.tally.removed, 50);
        costs.push(shelf.storage.requests().since(before));
    }
    assert_eq!(costs[0], costs[1]);
}

/// Defect 15 of the original: records of keys that nobody uses stayed for ever. And 14: their tokens began anew.
#[tokio::test]
async fn defect_15_an_empty_record_goes_after_its_time_and_its_tokens_go_on() {
    let shelf = Shelf::new().await;
    let lease = shelf.take("k").await;
    shelf.store.release(&lease).await.unwrap();
    shelf.pass(HOUR);
    sweep(&shelf).await;
    assert_eq!(keys(&shelf, "jobs/meta/").await, ["jobs/meta/k"]);
    assert_eq!(keys(&shelf, "jobs/.lease-index/20").await, ["jobs/.lease-index/2026111912/k"], "a day after its use");
    shelf.pass(23 * HOUR);
    sweep(&shelf).await;
    assert_eq!(keys(&shelf, "jobs/meta/").await, ["jobs/meta/k"], "it ends now, and so it has not ended");
    shelf.pass(Duration::from_millis(1));
    assert_eq!(sweep(&shelf).await.tally.removed, 1);
    assert_eq!(keys(&shelf, "jobs/meta/").await, [""; 0]);
    assert_eq!(keys(&shelf, "jobs/.lease-index/20").await, [""; 0]);
    assert!(shelf.take("k").await.fencing_token > lease.fencing_token);
}

/// Defect 4 of the original: the entry of a live lease was dropped.
#[tokio::test]
async fn defect_4_a_lease_that_was_extended_is_found_in_its_new_hour() {
    let shelf = Shelf::new().await;
    let ttl = Some(Duration::from_secs(30 * 60));
    let lease = shelf.store.acquire(&Acquire { ttl, ..ask("k", "a") }).await.unwrap();
    shelf.pass(Duration::from_secs(25 * 60));
    shelf.store.keepalive(&lease, ttl).await.unwrap();
    shelf.pass(Duration::from_secs(26 * 60));
    sweep(&shelf).await;
    assert_eq!(keys(&shelf, "jobs/.lease-index/20").await, ["jobs/.lease-index/2026111813/k"]);
    assert_eq!(owner(&shelf, "k").await.as_deref(), Some("a"));
    shelf.pass(HOUR);
    sweep(&shelf).await;
    assert_eq!(owner(&shelf, "k").await.as_deref(), Some("nobody"));
}

/// Defect 5 of the original: an hour was dropped although something was left in it.
#[tokio::test]
async fn defect_5_an_hour_goes_only_when_it_is_long_over_and_empty() {
    let shelf = Shelf::new().await;
    hold_with_state(&shelf, "k", Duration::from_secs(30)).await;
    let hours = async || {
        String::from_utf8(shelf.storage.get("jobs/.lease-index/buckets.json").await.unwrap().unwrap().body.to_vec())
            .unwrap()
    };
    shelf.pass(HOUR);
    sweep(&shelf).await;
    assert_eq!(keys(&shelf, "jobs/.lease-index/20").await, [""; 0]);
    assert!(hours().await.contains("2026111812"), "a writer whose clock is behind may still come");
    // Somebody does, and it cannot even be read.
    let odd = "jobs/.lease-index/2026111812/~zz";
    let version = shelf.storage.put(odd, Bytes::from_static(b"{}"), Expected::Absent).await.unwrap();
    shelf.pass(HOUR);
    assert_eq!(sweep(&shelf).await.tally.kept_back.unreadable, 1);
    assert!(hours().await.contains("2026111812"));
    shelf.storage.delete(odd, &version).await.unwrap();
    sweep(&shelf).await;
    sweep(&shelf).await;
    assert!(hours().await.contains("2026111812"), "a listing may be behind");
    shelf.pass(Duration::from_secs(61));
    sweep(&shelf).await;
    assert!(!hours().await.contains("2026111812"));
}

/// Somebody was paused for hours after he had seen the hour on its list. He enters into it, and looks at the list again, right
/// before a sweeper writes the list that he had read when nothing was in the hour; or one whose listing is behind.
#[tokio::test]
async fn an_hour_into_which_somebody_enters_hours_late_stays_on_its_list() {
    const HOURS: &str = "jobs/.lease-index/buckets.json";
    const ENTRIES: &str = "jobs/.lease-index/2026111812/";
    for (before, is_marked) in [
        (Request::Put(HOURS), false),
        (Request::Put(HOURS), true),
        (Request::Get(HOURS), true),
        (Request::List(ENTRIES), true),
    ] {
        let shelf = Shelf::new().await;
        let moment = shelf.clock.now();
        hold_with_state(&shelf, "k", Duration::from_secs(30)).await;
        shelf.pass(3 * HOUR);
        if is_marked {
            sweep(&shelf).await;
            shelf.pass(Duration::from_secs(61));
        }
        let clock = Arc::new(ManualClock::at(moment));
        let (waking, latecomer) = (Arc::clone(&clock), shelf.storage.clone());
        let script = move |request: Request<'_>| {
            if request == Request::Put("jobs/.lease-index/2026111812/late") {
                waking.advance(3 * HOUR);
            }
            Fault::None
        };
        let latecomer = Faulty::new(latecomer, clock.clone(), script);
        let chance = Arc::new(SeededChance::new(6));
        let store = LeaseStore::open_by(latecomer, Options::default(), clock, chance).await.unwrap();
        let come = move || now(store.acquire(&ask("late", "b"))).map(drop).unwrap();
        sweep_beside(&shelf, move |request| request == before, come).await;
        sweep(&shelf).await;
        let left = keys(&shelf, "jobs/.lease-index/20").await;
        assert_eq!(
            left,
            ["jobs/.lease-index/2026111915/late"],
            "{before:?}, {is_marked}: nobody comes for it any more"
        );
    }
}

/// Defect 6 of the original: whoever had much to do kept the others waiting. Defect 7: namespaces were known from memory.
#[tokio::test]
async fn defect_7_namespaces_take_turns_and_are_found_after_a_restart() {
    let shelf = Shelf::new().await;
    for number in 0..30 {
        hold_with_state(&shelf, &format!("k{number:02}"), Duration::from_secs(30)).await;
    }
    let other = Namespace::new("other").unwrap();
    let lease = shelf.store.acquire(&Acquire::new(other.clone(), key("k"), "a")).await.unwrap();
    shelf.store.update(&lease, b"state", IfVersion::Any).await.unwrap();
    shelf.pass(HOUR);
    let restarted =
        Shelf { storage: shelf.storage.clone(), clock: shelf.clock.clone(), store: shelf.another_process().await };
    // Two pages of ten: the second one is the other namespace's, although the first has more to do.
    let mut target = LeaseTarget::new(Swept::Leases, "expired-leases", "store", &restarted.store);
    let boundary = Boundary::at(shelf.clock.now());
    target.survey(boundary).await.unwrap();
    for _ in 0..2 {
        target.page(PageRequest { boundary, cursor: None, limit: 10, care: Care::Swift }).await.unwrap();
    }
    assert_eq!(keys(&shelf, "other/.lease-index/20").await, [""; 0]);
    assert_eq!(keys(&shelf, "jobs/.lease-index/20").await.len(), 20);
    sweep(&restarted).await;
    assert_eq!(keys(&shelf, "jobs/.lease-index/20").await, [""; 0]);
}

#[tokio::test]
async fn an_entry_that_leads_nowhere_goes() {
    let shelf = Shelf::new().await;
    hold_with_state(&shelf, "k", Duration::from_secs(30)).await;
    let stale = "jobs/.lease-index/2026111812/never";
    shelf.storage.put(stale, Bytes::from_static(b"{}"), Expected::Absent).await.unwrap();
    assert_eq!(sweep(&shelf).await.tally.removed, 1);
    // Whoever was about to write its record finds one, with nothing in it; a day later that is gone too.
    assert_eq!(
        keys(&shelf, "jobs/.lease-index/20").await,
        ["jobs/.lease-index/2026111812/k", "jobs/.lease-index/2026111912/never"]
    );
    shelf.pass(25 * HOUR);
    sweep(&shelf).await;
    assert_eq!(keys(&shelf, "jobs/.lease-index/20").await, [""; 0]);
    assert_eq!(keys(&shelf, "jobs/meta/").await, ["jobs/meta/k"]);
}

/// Found by the simulation: a sweeper took the entry away between its writing and that of the record that needed it.
#[tokio::test]
async fn an_entry_whose_record_is_being_written_is_not_lost() {
    for is_known in [false, true] {
        let shelf = Shelf::new().await;
        // Where the record is known it has its entry in another hour.
        if is_known {
            hold_with_state(&shelf, "k", Duration::from_secs(1)).await;
            shelf.pass(HOUR);
        }
        let storage = Arc::clone(&shelf.storage);
        let (store, clock) = (shelf.store.clone(), shelf.clock.clone());
        let acted = AtomicBool::new(false);
        let script = move |request: Request<'_>| {
            if request == Request::Put("jobs/meta/k") && !acted.swap(true, Ordering::Relaxed) {
                let boundary = Boundary::at(clock.now());
                let mut sweeper = LeaseTarget::new(Swept::Leases, "p", "s", &store);
                now(sweeper.survey(boundary)).unwrap();
                while now(sweeper.page(PageRequest { boundary, cursor: None, limit: 10, care: Care::Swift }))
                    .unwrap()
                    .next
                    .is_some()
                {}
            }
            Fault::None
        };
        let writer = Faulty::new(storage, shelf.clock.clone(), script);
        let chance = Arc::new(SeededChance::new(6));
        let writer = LeaseStore::open_by(writer, Options::default(), shelf.clock.clone(), chance).await.unwrap();
        writer.acquire(&ask("k", "b")).await.unwrap();
        assert_eq!(owner(&shelf, "k").await.as_deref(), Some("b"));
        shelf.pass(HOUR);
        sweep(&shelf).await;
        assert_eq!(owner(&shelf, "k").await.as_deref(), Some("nobody"), "known: {is_known}");
    }
}

/// A sweeper with somebody beside it, who acts right before its first request of this kind.
async fn sweep_beside(
    shelf: &Shelf,
    before: impl Fn(Request<'_>) -> bool + Send + Sync + 'static,
    act: impl Fn() + Send + Sync + 'static,
) {
    let done = AtomicBool::new(false);
    let script = move |request: Request<'_>| {
        if before(request) && !done.swap(true, Ordering::Relaxed) {
            act();
        }
        Fault::None
    };
    let storage = Faulty::new(Arc::clone(&shelf.storage), shelf.clock.clone(), script);
    let chance = Arc::new(SeededChance::new(5));
    let store = LeaseStore::open_by(storage, Options::default(), shelf.clock.clone(), chance).await.unwrap();
    let sweeper = Shelf { storage: Arc::clone(&shelf.storage), clock: Arc::clone(&shelf.clock), store };
    sweep(&sweeper).await;
}

/// Nothing in memory ever waits.
fn now<T>(work: impl Future<Output = T>) -> T {
    work.now_or_never().unwrap()
}

/// Whoever needs an entry that a sweeper is about to take away has written it anew, and so it stays.
#[tokio::test]
async fn an_entry_that_is_needed_again_while_it_is_taken_away_stays() {
    let shelf = Shelf::new().await;
    hold_with_state(&shelf, "k", Duration::from_secs(30)).await;
    shelf.pass(Duration::from_secs(60));
    let store = shelf.store.clone();
    let is_delete = |request: Request<'_>| request == Request::Delete("jobs/.lease-index/2026111812/k");
    sweep_beside(&shelf, is_delete, move || {
        now(store.acquire(&ask("k", "b"))).unwrap();
    })
    .await;
    assert_eq!(owner(&shelf, "k").await.as_deref(), Some("b"));
    assert_eq!(keys(&shelf, "jobs/.lease-index/20").await, ["jobs/.lease-index/2026111812/k"]);
    shelf.pass(HOUR);
    sweep(&shelf).await;
    assert_eq!(owner(&shelf, "k").await.as_deref(), Some("nobody"));
}

/// Defect 5 of the original again: somebody enters into the hour behind the sweeper's back.
#[tokio::test]
async fn defect_5_an_hour_into_which_somebody_enters_while_it_is_dropped_stays() {
    let shelf = Shelf::new().await;
    hold_with_state(&shelf, "k", Duration::from_secs(30)).await;
    shelf.pass(3 * HOUR);
    let storage = Arc::clone(&shelf.storage);
    let is_delete = |request: Request<'_>| request == Request::Delete("jobs/.lease-index/2026111812/k");
    sweep_beside(&shelf, is_delete, move || {
        now(storage.put("jobs/.lease-index/2026111812/late", Bytes::from_static(b"{}"), Expected::Absent)).unwrap();
    })
    .await;
    assert_eq!(keys(&shelf, "jobs/.lease-index/20").await, ["jobs/.lease-index/2026111812/late"]);
    let hours = shelf.storage.get("jobs/.lease-index/buckets.json").await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&hours.body).contains("2026111812"));
}

/// Defect 8 of the original: of two who make a list at once, the second adds to what the first wrote.
#[tokio::test]
async fn defect_8_lists_that_two_make_at_once_have_what_both_entered() {
    for list in [".bygone/store.json", "jobs/.lease-index/buckets.json", ".txn-decisions/buckets.json"] {
        let shelf = Shelf::new().await;
        shelf.pass(Duration::from_secs(50 * 60 - 10));
        let (other, done) = (shelf.another_process().await, AtomicBool::new(false));
        let clock = Arc::clone(&shelf.clock);
        let beside = move |request: Request<'_>| {
            if request == Request::Put(list) && !done.swap(true, Ordering::Relaxed) {
                // In another namespace, and in another hour.
                clock.advance(Duration::from_secs(15));
                let elsewhere = Acquire::new(Namespace::new("mail").unwrap(), key("k"), "b");
                now(other.acquire(&elsewhere)).unwrap();
                now(other.acquire(&ask("other", "b"))).unwrap();
                let txn = other.begin(None).unwrap();
                now(other.stage(&Acquire { txn: Some(txn), ..ask("staged", "b") }, b"x", IfVersion::Any)).unwrap();
            }
            false
        };
        let storage = Mortal::new(Arc::clone(&shelf.storage), beside);
        let chance = Arc::new(SeededChance::new(4));
        let store = LeaseStore::open_by(storage, Options::default(), shelf.clock.clone(), chance).await.unwrap();
        let txn = store.begin(None).unwrap();
        store.stage(&Acquire { txn: Some(txn), ..ask("k", "a") }, b"x", IfVersion::Any).await.unwrap();
        let read = |key: &'static str| {
            let stored = now(shelf.storage.get(key)).unwrap().unwrap();
            serde_json::from_slice::<serde_json::Value>(&stored.body).unwrap()
        };
        assert_eq!(read(".bygone/store.json")["namespaces"], serde_json::json!(["jobs", "mail"]), "{list}");
        let hours = read("jobs/.lease-index/buckets.json")["buckets"].clone();
        let pending = read(".txn-decisions/buckets.json")["pending"].clone();
        assert!(hours.as_array().unwrap().contains(&"2026111813".into()), "{list}: {hours}");
        assert_eq!(pending, serde_json::json!(["2026111812", "2026111813"]), "{list}");
    }
}
