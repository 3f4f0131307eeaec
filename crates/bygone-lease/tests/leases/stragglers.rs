//! What comes later than it should, or twice, or is shown too late: nothing that a record names is removed for it, and
//! nothing that no record names is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::ClockReading;
use bygone_lease::storage::{
    Capabilities, Counting, Expected, Fault, Faulty, Listing, Memory, Request, Storage, StorageError, Stored, Version,
};
use bygone_lease::{Enqueue, Error, IfVersion, LeaseStore, Options, Queue, QueueName, SeededChance, Swept};
use bytes::Bytes;
use futures_util::FutureExt;

use super::mortal::Mortal;
use super::shelf::{Shelf, ask, key, namespace};

const OLD: &[u8] = b"an old state that has no room in a record";
const NEW: &[u8] = b"a new state, which has no room there either";
const MINUTE: Duration = Duration::from_secs(60);

fn tight() -> Options {
    Options { inline_bytes_max: 16, chunk_bytes: 10, ..Options::default() }
}

async fn state(store: &LeaseStore) -> Option<Bytes> {
    store.get(&namespace(), &key("k")).await.unwrap().map(|found| found.state)
}

/// Another view of the same store.
fn beside(shelf: &Shelf) -> Shelf {
    Shelf { storage: Arc::clone(&shelf.storage), clock: Arc::clone(&shelf.clock), store: shelf.store.clone() }
}

async fn over(shelf: &Shelf, storage: impl Storage + 'static) -> LeaseStore {
    let chance = Arc::new(SeededChance::new(3));
    LeaseStore::open_by(storage, tight(), shelf.clock.clone(), chance).await.unwrap()
}

/// A way to a store on which something happens once.
#[derive(Debug)]
struct Odd {
    inner: Arc<Counting<Memory>>,
    /// The record of the key is sent twice, and this happens in between.
    twice: Option<Between>,
    /// A listing of blobs shows nothing yet.
    is_behind: AtomicBool,
}

struct Between {
    shelf: Shelf,
    is_done: AtomicBool,
}

impl std::fmt::Debug for Between {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Between").finish_non_exhaustive()
    }
}

#[async_trait]
impl Storage for Odd {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, key: &str) -> Result<Option<Stored>, StorageError> {
        self.inner.get(key).await
    }

    async fn put(&self, key: &str, body: Bytes, expected: Expected<'_>) -> Result<Version, StorageError> {
        if let Some(Between { shelf, is_done }) = &self.twice
            && key == "jobs/meta/k"
            && !is_done.swap(true, Ordering::Relaxed)
        {
            self.inner.put(key, body.clone(), expected).await.unwrap();
            shelf.pass(MINUTE);
            shelf.take("k").await;
        }
        self.inner.put(key, body, expected).await
    }

    async fn delete(&self, key: &str, version: &Version) -> Result<(), StorageError> {
        self.inner.delete(key, version).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Listing, StorageError> {
        if prefix.starts_with("jobs/state/") && self.is_behind.swap(false, Ordering::Relaxed) {
            return Ok(Listing { keys: vec![], more: false });
        }
        self.inner.list(prefix, after, limit).await
    }

    async fn read_clock(&self) -> Result<Option<ClockReading>, StorageError> {
        self.inner.read_clock().await
    }
}

/// Something on the way sends a record twice: the first is carried out, the second refused, and somebody else has the key by
/// then. Its writer is told that he has lost it; but what he wrote is there, and with it what stands beside it.
#[tokio::test]
async fn what_a_record_names_stays_though_its_writer_was_refused() {
    let shelf = Shelf::with(tight()).await;
    let lease = shelf.take("k").await;
    let between = Between { shelf: beside(&shelf), is_done: AtomicBool::new(false) };
    let (inner, is_behind) = (Arc::clone(&shelf.storage), AtomicBool::new(false));
    let writer = over(&shelf, Odd { inner, twice: Some(between), is_behind }).await;
    let refused = writer.update(&lease, NEW, IfVersion::Any).await;
    assert!(matches!(refused, Err(Error::FencingMismatch { .. })), "{refused:?}");
    assert_eq!(state(&shelf.store).await.as_deref(), Some(NEW));
    shelf.sweep_for_days().await;
    assert_eq!(state(&shelf.store).await.as_deref(), Some(NEW));
    assert_eq!(shelf.keys("jobs/.lease-index/20").await, [""; 0]);
}

#[tokio::test]
async fn what_a_listing_did_not_show_yet_is_removed_later() {
    let shelf = Shelf::with(tight()).await;
    let (inner, is_behind) = (Arc::clone(&shelf.storage), AtomicBool::new(true));
    let writer = over(&shelf, Odd { inner, twice: None, is_behind }).await;
    let lease = writer.acquire(&ask("k", "a")).await.unwrap();
    for text in [OLD, b"small"] {
        writer.update(&lease, text, IfVersion::Any).await.unwrap();
    }
    assert_eq!(shelf.keys("jobs/state/").await.len(), OLD.len().div_ceil(10), "none of it was shown");
    shelf.sweep_for_days().await;
    assert_eq!(shelf.keys("jobs/state/").await, [""; 0]);
    assert_eq!(shelf.keys("jobs/.lease-index/20").await, [""; 0]);
}

/// Whoever is stalled in the middle of an upload for longer than his lease lasts goes on with it, and may die then.
#[tokio::test]
async fn what_is_written_after_the_lease_is_over_is_found() {
    let shelf = Shelf::with(tight()).await;
    let lease = shelf.take("k").await;
    let (sweeper, is_swept) = (beside(&shelf), AtomicBool::new(false));
    let dies = move |request: Request<'_>| match request {
        Request::Put(path) if path.starts_with("jobs/state/") && !is_swept.swap(true, Ordering::Relaxed) => {
            sweeper.pass(MINUTE);
            sweeper.sweep(Swept::Leases).now_or_never().unwrap();
            false
        }
        Request::Put(path) => path.ends_with("000003"),
        _ => false,
    };
    let writer = over(&shelf, Mortal::new(Arc::clone(&shelf.storage), dies)).await;
    assert!(writer.update(&lease, NEW, IfVersion::Any).now_or_never().is_none(), "it has died");
    assert_eq!(shelf.keys("jobs/state/").await.len(), 3);
    shelf.sweep_for_days().await;
    assert_eq!(shelf.keys("jobs/state/").await, [""; 0]);
    assert_eq!(shelf.keys("jobs/.lease-index/20").await, [""; 0]);
}

/// Whoever is paused for hours between the list and the entry finds that the hour is on no list any more: what he writes
/// then must be found all the same.
#[tokio::test]
async fn an_entry_into_an_hour_that_was_taken_off_its_list_is_found() {
    let shelf = Shelf::with(tight()).await;
    let (sweeper, is_paused) = (beside(&shelf), AtomicBool::new(false));
    let pauses = move |request: Request<'_>| {
        let is_entry = matches!(request, Request::Put(path) if path.starts_with("jobs/.lease-index/20"));
        if is_entry && !is_paused.swap(true, Ordering::Relaxed) {
            sweeper.pass(180 * MINUTE);
            for _ in 0..2 {
                sweeper.sweep(Swept::Leases).now_or_never().unwrap();
                sweeper.pass(2 * MINUTE);
            }
        }
        false
    };
    let holder = over(&shelf, Mortal::new(Arc::clone(&shelf.storage), pauses)).await;
    holder.acquire(&ask("k", "a")).await.unwrap();
    assert_eq!(shelf.keys("jobs/meta/").await.len(), 1);
    shelf.sweep_for_days().await;
    assert_eq!(shelf.keys("jobs/meta/").await, [""; 0], "nobody asks for it again, and it goes");
    assert_eq!(shelf.keys("jobs/.lease-index/20").await, [""; 0]);
}

/// The reply to a message is lost, and the message is past its time and swept before it is sent again.
#[tokio::test]
async fn a_message_that_is_sent_again_after_its_time_is_found() {
    let shelf = Shelf::new().await;
    let (sweeper, sent) = (beside(&shelf), AtomicU32::new(0));
    let queue = Queue { namespace: namespace(), name: QueueName::new("mail").unwrap() };
    let script = move |request: Request<'_>| match request {
        Request::Put(path) if path.starts_with("jobs/q/mail/msg/") => {
            if sent.fetch_add(1, Ordering::Relaxed) == 0 {
                return Fault::LostReply;
            }
            sweeper.pass(MINUTE);
            assert_eq!(sweeper.sweep(Swept::Leases).now_or_never().unwrap().tally.removed, 1);
            assert_eq!(sweeper.keys("jobs/q/").now_or_never().unwrap(), [""; 0]);
            Fault::None
        }
        _ => Fault::None,
    };
    let faulty = Faulty::new(Arc::clone(&shelf.storage), shelf.clock.clone(), script);
    let sender = over(&shelf, faulty).await;
    let message = Enqueue { ttl: Some(MINUTE / 2), payload: b"short".to_vec(), ..Enqueue::default() };
    sender.enqueue(&queue, &message).await.unwrap();
    assert_eq!(shelf.keys("jobs/q/").await.len(), 1);
    shelf.sweep_for_days().await;
    assert_eq!(shelf.keys("jobs/q/").await, [""; 0], "nobody asks the queue, and it goes");
    assert_eq!(shelf.keys("jobs/.lease-index/20").await, [""; 0]);
}
