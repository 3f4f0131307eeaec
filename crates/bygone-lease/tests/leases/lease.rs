//! Leases: who gets one, for how long, and with which token.

use std::sync::Arc;
use std::time::Duration;

use bygone_lease::storage::{Memory, Storage};
use bygone_lease::{Acquire, Error, LeaseStore, Options, Released, Wait};

use super::shelf::{Shelf, ask, key, namespace};

const TTL: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_millis(1);

#[tokio::test]
async fn one_holder_at_a_time_and_the_other_is_told_when_to_come_back() {
    let shelf = Shelf::new().await;
    let lease = shelf.take("k").await;
    assert_eq!(lease.expires_at, shelf.now().plus(TTL));
    let refused = shelf.store.acquire(&ask("k", "b")).await.unwrap_err();
    let Error::Held { owner, expires_at, retry_after } = refused else { panic!("{refused}") };
    assert_eq!((owner.as_str(), expires_at), ("a", lease.expires_at));
    shelf.pass(retry_after);
    let next = shelf.store.acquire(&ask("k", "b")).await.unwrap();
    assert!(next.fencing_token > lease.fencing_token);
}

#[tokio::test]
async fn a_lease_that_ends_now_has_not_ended() {
    let shelf = Shelf::new().await;
    let lease = shelf.take("k").await;
    shelf.pass(TTL);
    assert!(matches!(shelf.store.acquire(&ask("k", "b")).await, Err(Error::Held { .. })));
    shelf.store.keepalive(&lease, None).await.unwrap();
    shelf.pass(TTL + TICK);
    assert!(matches!(shelf.store.keepalive(&lease, None).await, Err(Error::LeaseExpired { .. })));
    shelf.store.acquire(&ask("k", "b")).await.unwrap();
}

#[tokio::test]
async fn another_process_waits_for_what_clocks_may_be_apart() {
    let shelf = Shelf::new().await;
    let other = shelf.another_process().await;
    let _lease = shelf.take("k").await;
    let skew = Options::default().skew;
    shelf.pass(TTL + skew);
    assert!(matches!(other.acquire(&ask("k", "b")).await, Err(Error::Held { .. })));
    shelf.pass(TICK);
    other.acquire(&ask("k", "b")).await.unwrap();
}

#[tokio::test]
async fn the_holder_of_an_ended_lease_is_told_and_it_is_cleared() {
    let shelf = Shelf::new().await;
    let lease = shelf.take("k").await;
    shelf.pass(TTL + TICK);
    let refused = shelf.store.get_held(&lease).await.unwrap_err();
    assert_eq!(refused.code(), "lease_expired");
    // Cleared, and so free for another process at once: its holder knows.
    shelf.another_process().await.acquire(&ask("k", "b")).await.unwrap();
}

#[tokio::test]
async fn the_holder_who_was_followed_is_told_by_the_token() {
    let shelf = Shelf::new().await;
    let lease = shelf.take("k").await;
    shelf.pass(TTL + TICK);
    let next = shelf.store.acquire(&ask("k", "b")).await.unwrap();
    let refused = shelf.store.keepalive(&lease, None).await.unwrap_err();
    let Error::FencingMismatch { given, found } = refused else { panic!("{refused}") };
    assert_eq!((given, found), (lease.fencing_token, next.fencing_token));
    assert_eq!(shelf.store.release(&lease).await.unwrap(), Released::Already);
    shelf.store.keepalive(&next, None).await.unwrap();
}

#[tokio::test]
async fn tokens_grow_also_when_the_clock_goes_back() {
    let shelf = Shelf::new().await;
    let mut last = 0;
    for _ in 0..5 {
        let lease = shelf.take("k").await;
        assert!(lease.fencing_token > last);
        last = lease.fencing_token;
        shelf.store.release(&lease).await.unwrap();
    }
    // A process whose clock is an hour behind.
    let clock = Arc::new(bygone_core::ManualClock::at("2026-11-18T11:10:00Z".parse().unwrap()));
    let chance = Arc::new(bygone_lease::SeededChance::new(3));
    let behind = LeaseStore::open_by(Arc::clone(&shelf.storage), Options::default(), clock, chance).await.unwrap();
    assert!(behind.acquire(&ask("k", "b")).await.unwrap().fencing_token > last);
}

#[tokio::test]
async fn release_is_idempotent() {
    let shelf = Shelf::new().await;
    let lease = shelf.take("k").await;
    assert_eq!(shelf.store.release(&lease).await.unwrap(), Released::Now);
    assert_eq!(shelf.store.release(&lease).await.unwrap(), Released::Already);
    assert_eq!(shelf.store.keepalive(&lease, None).await.unwrap_err().code(), "lease_required");
}

/// Defect 18 of the original: whoever lost the reply waited on his own lease.
#[tokio::test]
async fn defect_18_acquire_is_idempotent_by_its_request() {
    let shelf = Shelf::new().await;
    let request = Acquire { request: Some("r1".into()), ..ask("k", "a") };
    let first = shelf.store.acquire(&request).await.unwrap();
    assert_eq!(shelf.store.acquire(&request).await.unwrap(), first);
    assert_eq!(shelf.another_process().await.acquire(&request).await.unwrap(), first);
    let others = Acquire { request: Some("r2".into()), ..ask("k", "a") };
    assert!(matches!(shelf.store.acquire(&others).await, Err(Error::Held { .. })));
    let stranger = Acquire { request: Some("r1".into()), ..ask("k", "b") };
    assert!(matches!(shelf.store.acquire(&stranger).await, Err(Error::Held { .. })));
}

#[tokio::test]
async fn lifetimes_have_limits() {
    let shelf = Shelf::new().await;
    let before = shelf.storage.requests();
    for ttl in [Duration::ZERO, Duration::from_secs(30 * 60 + 1)] {
        let refused = shelf.store.acquire(&Acquire { ttl: Some(ttl), ..ask("k", "a") }).await.unwrap_err();
        assert_eq!(refused.code(), "bad_ttl");
    }
    assert_eq!(shelf.storage.requests().since(before).total(), 0);
}

#[tokio::test]
async fn options_that_would_break_promises_are_refused() {
    let second = Duration::from_secs(1);
    let good = Options::default();
    let bad = [
        (Options { skew: second, tombstone_keep: 2 * second, ..good.clone() }, "tombstone_keep"),
        (Options { decision_keep: good.max_ttl, ..good.clone() }, "decision_keep"),
        (Options { default_ttl: good.max_ttl + second, ..good.clone() }, "default_ttl"),
        (Options { default_ttl: Duration::ZERO, ..good.clone() }, "default_ttl"),
        (Options { chunk_bytes: 0, ..good.clone() }, "chunk_bytes"),
        (Options { retention: Some(Duration::ZERO), ..good.clone() }, "retention"),
    ];
    for (options, option) in bad {
        let refused = LeaseStore::open(Memory::new(), options).await.unwrap_err();
        assert_eq!(refused.code(), "bad_options");
        assert!(refused.to_string().contains(option), "{refused}");
    }
    assert!(LeaseStore::open(Memory::new(), good).await.is_ok());
}

/// Defect 17 of the original: those who waited polled, in no order.
#[tokio::test(start_paused = true)]
async fn defect_17_waiters_are_served_in_their_order_and_woken_by_a_release() {
    let store = LeaseStore::open(Memory::new(), Options::default()).await.unwrap();
    let lease = store.acquire(&ask("k", "first")).await.unwrap();
    let served = Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut waiters = Vec::new();
    for number in 0..5 {
        let (store, served) = (store.clone(), Arc::clone(&served));
        waiters.push(tokio::spawn(async move {
            let request = Acquire { wait: Wait::Forever, ..ask("k", &number.to_string()) };
            let lease = store.acquire(&request).await.unwrap();
            served.lock().unwrap().push(number);
            store.release(&lease).await.unwrap();
        }));
        tokio::task::yield_now().await;
    }
    store.release(&lease).await.unwrap();
    for waiter in waiters {
        waiter.await.unwrap();
    }
    assert_eq!(*served.lock().unwrap(), [0, 1, 2, 3, 4]);
}

#[tokio::test]
async fn waiting_ends_with_who_holds_it() {
    let store = LeaseStore::open(Memory::new(), Options::default()).await.unwrap();
    let _lease = store.acquire(&ask("k", "first")).await.unwrap();
    let request = Acquire { wait: Wait::For(Duration::from_millis(120)), ..ask("k", "b") };
    let (one, two) = tokio::join!(store.acquire(&request), store.acquire(&request));
    for refused in [one, two] {
        let Err(Error::Held { owner, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(owner, "first");
    }
}

/// Defect 4 of the original: a crash between record and index left a lease that no sweep would ever find.
#[tokio::test]
async fn defect_4_the_index_has_an_entry_before_the_record_is_there() {
    let shelf = Shelf::new().await;
    let lease = shelf.take("orders/42").await;
    let entry = "jobs/.lease-index/2026111812/orders~2F42";
    assert!(shelf.storage.get(entry).await.unwrap().is_some());
    let hours = shelf.storage.get("jobs/.lease-index/buckets.json").await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&hours.body).contains("2026111812"));
    // Into the next hour: the new entry is there beside the old one, which is harmless.
    shelf.store.keepalive(&lease, Some(Duration::from_secs(30 * 60))).await.unwrap();
    shelf.pass(Duration::from_secs(25 * 60));
    shelf.store.keepalive(&lease, Some(Duration::from_secs(30 * 60))).await.unwrap();
    assert!(shelf.storage.get("jobs/.lease-index/2026111813/orders~2F42").await.unwrap().is_some());
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_left_alone() {
    let shelf = Shelf::new().await;
    let body = bytes::Bytes::from_static(b"{\"version\": \"not a number\"}");
    shelf.storage.put("jobs/meta/k", body.clone(), bygone_lease::storage::Expected::Absent).await.unwrap();
    assert_eq!(shelf.store.acquire(&ask("k", "a")).await.unwrap_err().code(), "unreadable");
    assert_eq!(shelf.store.get(&namespace(), &key("k")).await.unwrap_err().code(), "unreadable");
    assert_eq!(shelf.storage.get("jobs/meta/k").await.unwrap().unwrap().body, body);
}
