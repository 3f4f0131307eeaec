//! State that nobody changes does not stay for ever, where a retention says so.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::Report;
use bygone_lease::{Acquire, Error, IfVersion, Janitor, LeaseStore, Options};
use tokio_util::sync::CancellationToken;

use super::shelf::{Shelf, ask, key, namespace};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);

fn for_a_day() -> Options {
    Options { retention: Some(DAY), inline_bytes_max: 8, ..Options::default() }
}

async fn write(store: &LeaseStore, name: &str, state: &[u8]) -> u64 {
    let lease = store.acquire(&ask(name, "a")).await.unwrap();
    store.put_attachment(&lease, "more", None, &b"of it"[..]).await.unwrap();
    store.update_and_release(&lease, state, IfVersion::Any).await.unwrap();
    lease.fencing_token
}

async fn has_state(store: &LeaseStore, name: &str) -> bool {
    store.get(&namespace(), &key(name)).await.unwrap().is_some()
}

async fn come(store: &LeaseStore) -> Report {
    Janitor::new(store, None).unwrap().look(Arc::new(()), CancellationToken::new()).await.unwrap()
}

#[test]
fn the_janitor_comes_by_half_of_the_retention_within_bounds() {
    let every = |seconds| Janitor::every(Duration::from_secs(seconds)).as_secs();
    assert_eq!([1, 119, 120, 600, 7200, 7201, 86400].map(every), [60, 60, 60, 300, 3600, 3600, 3600]);
}

#[tokio::test]
async fn without_a_retention_there_is_no_janitor() {
    let shelf = Shelf::new().await;
    assert!(Janitor::new(&shelf.store, None).is_none());
}

#[tokio::test]
async fn what_nobody_changed_for_so_long_goes_with_everything_that_belongs_to_it() {
    let shelf = Shelf::with(for_a_day()).await;
    let token = write(&shelf.store, "old", b"larger than a record").await;
    shelf.pass(HOUR);
    write(&shelf.store, "newer", b"larger than a record").await;
    shelf.pass(23 * HOUR);
    come(&shelf.store).await;
    assert!(has_state(&shelf.store, "old").await, "what ends now has not ended");
    shelf.pass(Duration::from_millis(1));
    come(&shelf.store).await;
    assert!(!has_state(&shelf.store, "old").await);
    assert_eq!(shelf.keys("jobs/state/old/").await, [""; 0]);
    assert!(has_state(&shelf.store, "newer").await);
    assert_eq!(shelf.store.list_attachments(&namespace(), &key("newer")).await.unwrap().len(), 1);
    let again = shelf.take("old").await;
    assert!(again.fencing_token > token, "tokens never go back");
    let description = shelf.store.describe(&namespace(), &key("old")).await.unwrap().unwrap();
    assert!(description.version >= 3, "nor do versions: {description:?}");
}

/// Defect 14 of the original: a live lease is skipped, state goes only after the record says so, and everything is bounded
/// by what is due.
#[tokio::test]
async fn defect_14_a_key_with_a_live_lease_is_left_alone() {
    let shelf = Shelf::with(for_a_day()).await;
    write(&shelf.store, "k", b"larger than a record").await;
    shelf.pass(95 * (HOUR / 4));
    let lease = shelf.store.acquire(&Acquire { ttl: Some(HOUR / 2), ..ask("k", "b") }).await.unwrap();
    shelf.pass(HOUR / 4 + Duration::from_millis(1));
    come(&shelf.store).await;
    assert!(has_state(&shelf.store, "k").await);
    assert!(shelf.store.get_held(&lease).await.unwrap().is_some(), "the lease is as it was");
    shelf.store.release(&lease).await.unwrap();
    come(&shelf.store).await;
    assert!(!has_state(&shelf.store, "k").await);
}

#[tokio::test]
async fn a_change_in_the_last_moment_keeps_a_key_for_another_time() {
    let shelf = Shelf::with(for_a_day()).await;
    write(&shelf.store, "k", b"one").await;
    shelf.pass(DAY);
    write(&shelf.store, "k", b"two").await;
    shelf.pass(HOUR);
    come(&shelf.store).await;
    assert!(has_state(&shelf.store, "k").await);
    shelf.pass(DAY);
    come(&shelf.store).await;
    assert!(!has_state(&shelf.store, "k").await);
    shelf.sweep_for_days().await;
    assert_eq!(shelf.keys("jobs/meta/").await, [""; 0], "its record goes too, after a while");
    assert_eq!(shelf.keys("jobs/.lease-index/20").await, [""; 0]);
}

#[tokio::test]
async fn keys_from_before_there_was_a_retention_are_found_once() {
    let shelf = Shelf::new().await;
    for name in ["a", "b"] {
        write(&shelf.store, name, b"state").await;
    }
    shelf.sweep_for_days().await;
    assert_eq!(shelf.keys("jobs/.lease-index/20").await, [""; 0], "nothing would ever lead to them");
    let store = shelf.over(for_a_day()).await;
    assert!(has_state(&store, "a").await);
    come(&store).await;
    come(&store).await;
    assert!(!has_state(&store, "a").await && !has_state(&store, "b").await);
    shelf.pass(Duration::from_secs(61));
    come(&store).await;
    let before = shelf.storage.requests();
    come(&store).await;
    let spent = shelf.storage.requests().since(before);
    assert!(spent.lists <= 2 && spent.gets <= 8, "no key is looked for again: {spent:?}");
}

#[tokio::test]
async fn an_update_under_an_old_lease_is_refused_after_the_janitor() {
    let shelf = Shelf::with(for_a_day()).await;
    let lease = shelf.take("k").await;
    shelf.store.update(&lease, b"state", IfVersion::Any).await.unwrap();
    shelf.pass(DAY + HOUR);
    come(&shelf.store).await;
    come(&shelf.store).await;
    let late = shelf.store.update(&lease, b"late", IfVersion::Any).await;
    assert!(matches!(late, Err(Error::LeaseExpired { .. })), "{late:?}");
    assert!(!has_state(&shelf.store, "k").await);
}
