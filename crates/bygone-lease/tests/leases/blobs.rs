//! What is too large for a record: it comes and goes with its key, whoever dies when.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bygone_lease::storage::{Disk, Expected, Request, Storage};
use bygone_lease::{
    Acquire, Attachment, Error, IfVersion, Lease, LeaseStore, Options, Released, SeededChance, Swept, TxnId,
};
use bygone_testkit::{Azurite, SeaweedFs};
use bytes::Bytes;
use futures_util::FutureExt;

use super::mortal::Mortal;
use super::shelf::{Shelf, ask, key, namespace};

const OLD: &[u8] = b"an old state that has no room in a record";
const NEW: &[u8] = b"a new state, which has no room there either";

/// Records hold next to nothing, and blobs are cut small.
fn tight() -> Options {
    Options { inline_bytes_max: 16, chunk_bytes: 10, attachments_max: 2, ..Options::default() }
}

async fn shelf() -> Shelf {
    Shelf::with(tight()).await
}

async fn state(store: &LeaseStore) -> Option<Bytes> {
    store.get(&namespace(), &key("k")).await.unwrap().map(|found| found.state)
}

async fn write(shelf: &Shelf, state: &[u8]) {
    let lease = shelf.take("k").await;
    shelf.store.update_and_release(&lease, state, IfVersion::Any).await.unwrap();
}

async fn attach(store: &LeaseStore, lease: &Lease, name: &str, content: &[u8]) -> Result<Attachment, Error> {
    store.put_attachment(lease, name, Some("text/plain"), content).await
}

async fn attached(store: &LeaseStore, name: &str) -> Option<Vec<u8>> {
    let mut reader = store.get_attachment(&namespace(), &key("k"), name).await.unwrap()?;
    let mut content = Vec::new();
    while let Some(piece) = reader.next().await.unwrap() {
        content.extend_from_slice(&piece);
    }
    Some(content)
}

async fn names(store: &LeaseStore) -> Vec<String> {
    let attachments = store.list_attachments(&namespace(), &key("k")).await.unwrap();
    attachments.into_iter().map(|attachment| attachment.name).collect()
}

/// The blobs that there are.
async fn blobs(shelf: &Shelf) -> BTreeSet<String> {
    let chunks = shelf.keys("jobs/state/").await;
    chunks.iter().map(|chunk| chunk.rsplit_once('/').unwrap().0.to_owned()).collect()
}

async fn errands(shelf: &Shelf) -> Vec<String> {
    let entries = shelf.keys("jobs/.lease-index/").await;
    entries.into_iter().filter(|entry| entry.contains(".errand-")).collect()
}

#[tokio::test]
async fn large_state_stands_beside_the_record_and_goes_when_it_is_replaced() {
    let shelf = shelf().await;
    write(&shelf, OLD).await;
    assert_eq!(state(&shelf.store).await.as_deref(), Some(OLD));
    let old = blobs(&shelf).await;
    assert_eq!(shelf.keys("jobs/state/").await.len(), OLD.len().div_ceil(10), "in pieces, one behind the other");
    write(&shelf, NEW).await;
    assert_eq!(state(&shelf.store).await.as_deref(), Some(NEW));
    assert_eq!(state(&shelf.another_process().await).await.as_deref(), Some(NEW));
    let new = blobs(&shelf).await;
    assert!(new.len() == 1 && new.is_disjoint(&old), "{new:?}");
    write(&shelf, b"small again").await;
    assert_eq!((state(&shelf.store).await.as_deref(), blobs(&shelf).await.len()), (Some(&b"small again"[..]), 0));
    assert_eq!(errands(&shelf).await, [""; 0], "they were run at once");
}

#[tokio::test]
async fn state_of_exactly_what_a_record_and_a_chunk_hold_comes_back() {
    let shelf = shelf().await;
    for bytes in [0, 1, 16, 17, 20, 30, 31] {
        let wanted = vec![b'x'; bytes];
        write(&shelf, &wanted).await;
        assert_eq!(state(&shelf.store).await.as_deref(), Some(&wanted[..]), "{bytes} bytes");
        assert_eq!(blobs(&shelf).await.len(), usize::from(bytes > 16), "{bytes} bytes");
    }
}

#[tokio::test]
async fn state_that_nobody_wants_to_keep_is_refused() {
    let shelf = Shelf::with(Options { state_bytes_max: 20, ..tight() }).await;
    let lease = shelf.take("k").await;
    let refused = shelf.store.update(&lease, &[0; 21], IfVersion::Any).await;
    assert!(matches!(refused, Err(Error::TooLarge { bytes: 21, most: 20 })), "{refused:?}");
    assert_eq!(state(&shelf.store).await, None);
    assert_eq!(shelf.keys("jobs/state/").await, [""; 0]);
}

#[tokio::test]
async fn a_refused_update_leaves_nothing_behind() {
    let shelf = shelf().await;
    write(&shelf, OLD).await;
    let before = blobs(&shelf).await;
    let lease = shelf.take("k").await;
    let refused = shelf.store.update(&lease, NEW, IfVersion::Is(7)).await;
    assert!(matches!(refused, Err(Error::VersionConflict { .. })), "{refused:?}");
    assert_eq!(state(&shelf.store).await.as_deref(), Some(OLD));
    assert_eq!((blobs(&shelf).await, errands(&shelf).await), (before, vec![]));
}

#[tokio::test]
async fn a_blob_that_was_tampered_with_is_not_passed_on() {
    let shelf = shelf().await;
    write(&shelf, OLD).await;
    let chunk = &shelf.keys("jobs/state/").await[1];
    let found = shelf.storage.get(chunk).await.unwrap().unwrap();
    let wrong = Bytes::from_static(b"0123456789");
    shelf.storage.put(chunk, wrong, Expected::Version(&found.version)).await.unwrap();
    let read = shelf.store.get(&namespace(), &key("k")).await;
    assert!(matches!(read, Err(Error::Unreadable { .. })), "{read:?}");
}

#[tokio::test]
async fn attachments_are_put_read_listed_replaced_and_removed() {
    let shelf = shelf().await;
    let lease = shelf.take("k").await;
    let report = attach(&shelf.store, &lease, "report", b"a long report of many words").await.unwrap();
    assert_eq!((report.bytes, report.content_type.as_deref()), (27, Some("text/plain")));
    assert_eq!(report.sha256, "f4ee9e45a9fdb2d5e35d3d59fea097a4a8e4a65cc141145d20d5d47a6cced0b1");
    attach(&shelf.store, &lease, "empty", b"").await.unwrap();
    let refused = attach(&shelf.store, &lease, "one more", b"x").await;
    assert!(matches!(refused, Err(Error::TooMany { most: 2, .. })), "{refused:?}");
    for name in ["", "a\nb"] {
        let refused = attach(&shelf.store, &lease, name, b"x").await;
        assert!(matches!(refused, Err(Error::BadName { .. })), "{refused:?}");
    }
    assert_eq!(names(&shelf.store).await, ["empty", "report"]);
    assert_eq!(attached(&shelf.store, "report").await.as_deref(), Some(&b"a long report of many words"[..]));
    assert_eq!(attached(&shelf.store, "empty").await.as_deref(), Some(&b""[..]));
    assert_eq!(attached(&shelf.store, "one more").await, None);
    attach(&shelf.store, &lease, "report", b"a better one").await.unwrap();
    assert_eq!(attached(&shelf.another_process().await, "report").await.as_deref(), Some(&b"a better one"[..]));
    assert!(shelf.store.delete_attachment(&lease, "empty").await.unwrap());
    assert!(!shelf.store.delete_attachment(&lease, "empty").await.unwrap());
    assert_eq!((names(&shelf.store).await, blobs(&shelf).await.len()), (vec!["report".to_owned()], 1));
    shelf.store.remove(&lease, IfVersion::Any).await.unwrap();
    assert_eq!((names(&shelf.store).await.len(), blobs(&shelf).await.len()), (0, 0), "they belong to the key");
    assert_eq!(errands(&shelf).await, [""; 0]);
}

/// A source that breaks off.
struct Broken;

impl tokio::io::AsyncRead for Broken {
    fn poll_read(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        _: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Err(std::io::ErrorKind::BrokenPipe.into()))
    }
}

#[tokio::test]
async fn an_attachment_whose_source_breaks_off_is_none() {
    let shelf = shelf().await;
    let lease = shelf.take("k").await;
    let source = tokio::io::AsyncReadExt::chain(&b"thirty bytes and then no more."[..], Broken);
    let refused = shelf.store.put_attachment(&lease, "half", None, source).await;
    assert!(matches!(refused, Err(Error::Source { .. })), "{refused:?}");
    assert_eq!(attached(&shelf.store, "half").await, None);
    shelf.sweep(Swept::Leases).await;
    assert_eq!(blobs(&shelf).await.len(), 1, "while the lease lives, its holder may be at it");
    shelf.store.release(&lease).await.unwrap();
    shelf.sweep(Swept::Leases).await;
    assert_eq!((blobs(&shelf).await.len(), errands(&shelf).await.len()), (1, 1), "he may not know that it is over");
    shelf.pass(Duration::from_secs(3601));
    shelf.sweep(Swept::Leases).await;
    assert_eq!((blobs(&shelf).await.len(), errands(&shelf).await), (0, vec![]));
}

#[tokio::test]
async fn a_replaced_attachment_ends_its_readers() {
    let shelf = shelf().await;
    let lease = shelf.take("k").await;
    attach(&shelf.store, &lease, "a", b"more than one piece").await.unwrap();
    let mut reader = shelf.store.get_attachment(&namespace(), &key("k"), "a").await.unwrap().unwrap();
    assert_eq!(reader.next().await.unwrap().as_deref(), Some(&b"more than "[..]));
    attach(&shelf.store, &lease, "a", b"another one").await.unwrap();
    let ended = reader.next().await;
    assert!(matches!(ended, Err(Error::Replaced { .. })), "{ended:?}");
}

async fn staged(shelf: &Shelf) -> TxnId {
    let txn = shelf.store.begin(None).unwrap();
    let request = Acquire { txn: Some(txn), ..ask("k", "a") };
    let lease = shelf.store.stage(&request, NEW, IfVersion::Any).await.unwrap();
    attach(&shelf.store, &lease, "new", b"attached in a transaction").await.unwrap();
    shelf.store.delete_attachment(&lease, "old").await.unwrap();
    let held = shelf.store.get_held(&lease).await.unwrap().unwrap();
    assert_eq!(&held.state[..], NEW, "the holder sees what it staged");
    assert_eq!((state(&shelf.store).await.as_deref(), names(&shelf.store).await), (Some(OLD), vec!["old".to_owned()]));
    txn
}

async fn with_old(shelf: &Shelf) {
    let lease = shelf.take("k").await;
    attach(&shelf.store, &lease, "old", b"attached long ago").await.unwrap();
    shelf.store.update_and_release(&lease, OLD, IfVersion::Any).await.unwrap();
}

#[tokio::test]
async fn what_a_transaction_attached_is_there_once_it_is_committed() {
    let shelf = shelf().await;
    with_old(&shelf).await;
    let txn = staged(&shelf).await;
    shelf.store.commit(txn).await.unwrap();
    assert_eq!((state(&shelf.store).await.as_deref(), names(&shelf.store).await), (Some(NEW), vec!["new".to_owned()]));
    assert_eq!((blobs(&shelf).await.len(), errands(&shelf).await), (2, vec![]));
}

#[tokio::test]
async fn what_a_transaction_attached_is_gone_once_it_is_undone() {
    let shelf = shelf().await;
    with_old(&shelf).await;
    let before = blobs(&shelf).await;
    let txn = staged(&shelf).await;
    assert_eq!(blobs(&shelf).await.len(), 4);
    shelf.store.rollback(txn).await.unwrap();
    assert_eq!((state(&shelf.store).await.as_deref(), names(&shelf.store).await), (Some(OLD), vec!["old".to_owned()]));
    assert_eq!((blobs(&shelf).await, errands(&shelf).await), (before, vec![]));
}

#[tokio::test]
async fn a_transaction_that_nobody_ends_leaves_no_blobs() {
    let shelf = shelf().await;
    with_old(&shelf).await;
    let before = blobs(&shelf).await;
    staged(&shelf).await;
    shelf.sweep_for_days().await;
    assert_eq!((state(&shelf.store).await.as_deref(), names(&shelf.store).await), (Some(OLD), vec!["old".to_owned()]));
    assert_eq!((blobs(&shelf).await, errands(&shelf).await), (before, vec![]));
}

/// Whatever write a process dies before: what is read is whole, and in the end nothing is there that nobody names.
#[tokio::test]
async fn whoever_dies_while_changing_large_state_leaves_nothing_for_ever() {
    for writes in 0.. {
        let shelf = shelf().await;
        with_old(&shelf).await;
        let is_done = shelf
            .dies_before_write(writes, tight(), |store| async move {
                let lease = store.acquire(&ask("k", "b")).await.unwrap();
                store.update(&lease, NEW, IfVersion::Any).await.unwrap();
                attach(&store, &lease, "old", b"in place of what was there").await.unwrap();
                store.delete_attachment(&lease, "old").await.unwrap();
                assert_eq!(store.release(&lease).await.unwrap(), Released::Now);
            })
            .await;
        let now = state(&shelf.store).await.unwrap();
        assert!(now == OLD || now == NEW, "{writes}: {now:?}");
        let name = names(&shelf.store).await.pop();
        let content = attached(&shelf.store, "old").await;
        let whole = [None, Some(&b"attached long ago"[..]), Some(&b"in place of what was there"[..])];
        assert!(whole.contains(&content.as_deref()), "{writes}: {content:?}");
        shelf.sweep_for_days().await;
        assert_eq!(state(&shelf.store).await, Some(now), "{writes}");
        assert_eq!(attached(&shelf.store, "old").await, content, "{writes}");
        assert_eq!(blobs(&shelf).await.len(), 1 + usize::from(name.is_some()), "{writes}");
        assert_eq!(shelf.keys("jobs/.lease-index/20").await, [""; 0], "{writes}");
        if is_done {
            assert!(writes > 15, "{writes}");
            return;
        }
    }
}

/// An errand that is found before its writer has done what it is for must not be lost with it.
#[tokio::test]
async fn an_errand_that_is_found_too_early_is_posted_again() {
    let shelf = shelf().await;
    write(&shelf, OLD).await;
    let old = blobs(&shelf).await;
    let request = Acquire { ttl: Some(Duration::from_secs(600)), ..ask("k", "a") };
    let lease = shelf.store.acquire(&request).await.unwrap();
    // Somebody sweeps right before the record is swapped; and the writer dies right after that.
    let (storage, clock, store) = (Arc::clone(&shelf.storage), Arc::clone(&shelf.clock), shelf.store.clone());
    let (sweeper, is_swept) = (Shelf { storage, clock, store }, AtomicBool::new(false));
    let dies = move |request: Request<'_>| match request {
        Request::Put("jobs/meta/k") if !is_swept.swap(true, Ordering::Relaxed) => {
            sweeper.pass(Duration::from_secs(61));
            let report = sweeper.sweep(Swept::Leases).now_or_never().unwrap();
            assert_eq!(report.tally.removed, 1, "the errand was found");
            false
        }
        Request::Delete(key) => key.starts_with("jobs/state/"),
        _ => false,
    };
    let storage = Mortal::new(Arc::clone(&shelf.storage), dies);
    let chance = Arc::new(SeededChance::new(3));
    let writer = LeaseStore::open_by(storage, tight(), shelf.clock.clone(), chance).await.unwrap();
    assert!(writer.update(&lease, b"small", IfVersion::Any).now_or_never().is_none(), "it has died");
    assert_eq!(state(&shelf.store).await.as_deref(), Some(&b"small"[..]));
    assert_eq!(blobs(&shelf).await, old, "nobody has removed the old one yet");
    shelf.sweep_for_days().await;
    assert_eq!(state(&shelf.store).await.as_deref(), Some(&b"small"[..]));
    assert_eq!((blobs(&shelf).await.len(), errands(&shelf).await), (0, vec![]));
}

/// The same on real stores, with pieces as large as they come.
async fn large_things_come_back_from(storage: impl Storage + 'static) {
    let can_delete = storage.capabilities().delete_if_version;
    let storage = Arc::new(storage);
    let store = LeaseStore::open(Arc::clone(&storage), Options::default()).await.unwrap();
    let lease = store.acquire(&ask("k", "a")).await.unwrap();
    let large: Vec<u8> = (0..9_000_000_u32).map(|number| number.to_le_bytes()[1]).collect();
    store.update(&lease, &large[..100_000], IfVersion::Any).await.unwrap();
    attach(&store, &lease, "large", &large).await.unwrap();
    assert_eq!(state(&store).await.as_deref(), Some(&large[..100_000]));
    assert!(attached(&store, "large").await.as_deref() == Some(&large[..]));
    store.remove(&lease, IfVersion::Any).await.unwrap();
    assert_eq!((state(&store).await, attached(&store, "large").await), (None, None));
    if can_delete {
        let left = storage.list("jobs/state/", None, 10).await.unwrap();
        assert_eq!(left.keys, [], "nothing is left of it");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_things_come_back_from_disk() {
    let directory = tempfile::tempdir().unwrap();
    large_things_come_back_from(Disk::open(directory.path()).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_things_come_back_from_buckets() {
    let seaweed = SeaweedFs::shared().await.fresh_bucket().await;
    let azurite = Azurite::shared().await.fresh_bucket().await;
    for bucket in [seaweed, azurite] {
        large_things_come_back_from(super::conformance::bucket_storage(&bucket)).await;
    }
}

/// Whoever asks for state has room for as much as its record says, and a store may hold anything.
#[tokio::test]
async fn what_is_larger_than_its_record_says_is_not_read_to_its_end() {
    let shelf = shelf().await;
    write(&shelf, &[b'x'; 400]).await;
    let chunks = shelf.keys("jobs/state/").await;
    assert_eq!(chunks.len(), 40);
    let version = shelf.storage.get(&chunks[0]).await.unwrap().unwrap().version;
    shelf.storage.put(&chunks[0], Bytes::from(vec![b'y'; 1_000]), Expected::Version(&version)).await.unwrap();
    let before = shelf.storage.requests();
    let error = shelf.store.get(&namespace(), &key("k")).await.unwrap_err();
    assert!(error.to_string().contains("more of it than was written"), "{error}");
    assert!(shelf.storage.requests().since(before).gets < 10, "the rest was not asked for");
    assert_eq!(shelf.keys("jobs/state/").await, chunks, "nothing went");
}
