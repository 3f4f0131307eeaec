//! Lost replies: what was done must not be taken for undone, nor the other way round.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bygone_core::ManualClock;
use bygone_lease::storage::{Careful, Expected, Fault, Faulty, Memory, Patience, Request, Storage, StorageError};
use bygone_lease::{Acquire, Error, LeaseStore, Options, SeededChance};
use bytes::Bytes;

use super::shelf::ask;

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at("2026-11-18T12:10:00Z".parse().unwrap()))
}

/// A store whose first writes go like this; everything else goes well.
fn failing(memory: &Arc<Memory>, faults: &'static [Fault]) -> Faulty<Arc<Memory>> {
    let next = AtomicU32::new(0);
    let script = move |request: Request<'_>| match request {
        Request::Put(_) | Request::Delete(_) => {
            let at = usize::try_from(next.fetch_add(1, Ordering::Relaxed)).unwrap();
            faults.get(at).copied().unwrap_or_default()
        }
        Request::Get(_) | Request::List(_) => Fault::None,
    };
    Faulty::new(Arc::clone(memory), clock(), script)
}

fn careful(memory: &Arc<Memory>, faults: &'static [Fault]) -> Careful<Faulty<Arc<Memory>>> {
    Careful::new(failing(memory, faults), clock(), Arc::new(SeededChance::new(1)), Patience::default())
}

fn body(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

#[tokio::test]
async fn a_write_whose_reply_was_lost_is_found_to_be_our_own() {
    let memory = Arc::new(Memory::new());
    let store = careful(&memory, &[Fault::LostReply, Fault::LostReply, Fault::Throttled]);
    let version = store.put("k", body("attempt 1"), Expected::Absent).await.unwrap();
    assert_eq!(memory.get("k").await.unwrap().unwrap().version, version);
    let version = store.put("k", body("attempt 2"), Expected::Version(&version)).await.unwrap();
    assert_eq!(memory.get("k").await.unwrap().unwrap().version, version);
}

#[tokio::test]
async fn a_request_that_was_lost_is_sent_again() {
    let memory = Arc::new(Memory::new());
    let store = careful(&memory, &[Fault::LostRequest, Fault::Throttled, Fault::LostRequest]);
    store.put("k", body("attempt"), Expected::Absent).await.unwrap();
    assert_eq!(memory.get("k").await.unwrap().unwrap().body, body("attempt"));
}

#[tokio::test]
async fn a_race_that_was_surely_lost_is_a_conflict_with_what_is_there() {
    let memory = Arc::new(Memory::new());
    memory.put("k", body("theirs"), Expected::Absent).await.unwrap();
    let store = careful(&memory, &[Fault::Throttled]);
    let refused = store.put("k", body("ours"), Expected::Absent).await.unwrap_err();
    let StorageError::Conflict { current: Some(current) } = refused else { panic!("{refused:?}") };
    assert_eq!(current.body, body("theirs"));
}

#[tokio::test]
async fn somebody_elses_value_after_a_lost_reply_is_an_unknown_outcome() {
    let memory = Arc::new(Memory::new());
    memory.put("k", body("theirs"), Expected::Absent).await.unwrap();
    let store = careful(&memory, &[Fault::LostRequest]);
    let refused = store.put("k", body("ours"), Expected::Absent).await.unwrap_err();
    assert!(matches!(refused, StorageError::Unknown { .. }), "{refused:?}");
}

#[tokio::test]
async fn patience_ends_with_the_truth() {
    let memory = Arc::new(Memory::new());
    let store = careful(&memory, &[Fault::Throttled; 100]);
    let refused = store.put("k", body("x"), Expected::Absent).await.unwrap_err();
    assert!(matches!(refused, StorageError::Throttled), "nothing was written: {refused:?}");
    let store = careful(&memory, &[Fault::LostRequest; 100]);
    let refused = store.put("k", body("x"), Expected::Absent).await.unwrap_err();
    assert!(matches!(refused, StorageError::Unknown { .. }), "{refused:?}");
}

#[tokio::test]
async fn a_delete_whose_reply_was_lost_is_done() {
    let memory = Arc::new(Memory::new());
    let version = memory.put("k", body("x"), Expected::Absent).await.unwrap();
    careful(&memory, &[Fault::LostReply]).delete("k", &version).await.unwrap();
    let refused = careful(&memory, &[]).delete("k", &version).await.unwrap_err();
    assert!(matches!(refused, StorageError::Conflict { .. }), "somebody else did it: {refused:?}");
}

/// Found by the simulation: a worker was told that a message was gone, and somebody else was working on it.
#[tokio::test]
async fn a_delete_of_what_somebody_changed_meanwhile_is_not_done() {
    let memory = Arc::new(Memory::new());
    let ours = memory.put("k", body("ours"), Expected::Absent).await.unwrap();
    memory.put("k", body("theirs"), Expected::Version(&ours)).await.unwrap();
    let refused = careful(&memory, &[Fault::LostRequest]).delete("k", &ours).await.unwrap_err();
    let StorageError::Conflict { current: Some(current) } = refused else { panic!("{refused:?}") };
    assert_eq!((current.body, memory.get("k").await.unwrap().unwrap().body), (body("theirs"), body("theirs")));
}

/// Every write of an acquire loses its reply, once each: the lease is ours all the same, and is the one in the store.
#[tokio::test]
async fn a_lease_whose_reply_was_lost_is_ours() {
    let memory = Arc::new(Memory::new());
    let faults = &[Fault::LostReply; 4];
    let chance = Arc::new(SeededChance::new(1));
    let store = LeaseStore::open_by(failing(&memory, faults), Options::default(), clock(), chance).await.unwrap();
    let lease = store.acquire(&ask("k", "a")).await.unwrap();
    store.keepalive(&lease, None).await.unwrap();
}

/// Defect 18 of the original: nobody knows whether the lease was granted; asked again, the same one is found.
#[tokio::test]
async fn defect_18_an_unknown_acquire_is_settled_by_asking_again() {
    let memory = Arc::new(Memory::new());
    let clock = clock();
    let script = |request: Request<'_>| match request {
        Request::Put("jobs/meta/k") => Fault::LostReply,
        // The way back is gone as well, so that nobody can look.
        Request::Get("jobs/meta/k") => Fault::LostRequest,
        _ => Fault::None,
    };
    let cut_off = Faulty::new(Arc::clone(&memory), Arc::clone(&clock) as _, script);
    let chance = Arc::new(SeededChance::new(1));
    let cut_off = LeaseStore::open_by(cut_off, Options::default(), Arc::clone(&clock) as _, chance).await.unwrap();
    let request =
        Acquire { request: Some("r1".into()), ttl: Some(std::time::Duration::from_secs(600)), ..ask("k", "a") };
    let refused = cut_off.acquire(&request).await.unwrap_err();
    assert!(matches!(refused, Error::OutcomeUnknown { .. }), "{refused}");
    let chance = Arc::new(SeededChance::new(2));
    let store = LeaseStore::open_by(Arc::clone(&memory), Options::default(), clock, chance).await.unwrap();
    let lease = store.acquire(&request).await.unwrap();
    store.keepalive(&lease, None).await.unwrap();
}
