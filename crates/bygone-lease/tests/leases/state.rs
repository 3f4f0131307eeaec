//! State under leases.

use std::time::Duration;

use bygone_lease::storage::Storage;
use bygone_lease::{Acquire, Error, IfVersion};

use super::shelf::{Shelf, ask, key, namespace};

async fn published(shelf: &Shelf) -> Option<(Vec<u8>, u64)> {
    let found = shelf.store.get(&namespace(), &key("k")).await.unwrap();
    found.map(|found| (found.state.to_vec(), found.version))
}

#[tokio::test]
async fn state_is_changed_under_a_lease_and_read_by_all() {
    let shelf = Shelf::new().await;
    assert_eq!(published(&shelf).await, None);
    let lease = shelf.take("k").await;
    assert_eq!(shelf.store.update(&lease, b"one", IfVersion::Any).await.unwrap(), 1);
    assert_eq!(published(&shelf).await, Some((b"one".to_vec(), 1)));
    assert_eq!(shelf.store.update_and_release(&lease, b"two", IfVersion::Is(1)).await.unwrap(), 2);
    assert_eq!(published(&shelf).await, Some((b"two".to_vec(), 2)));
    assert!(shelf.store.update(&lease, b"three", IfVersion::Any).await.is_err(), "the lease was given back");
    assert_eq!(published(&shelf).await, Some((b"two".to_vec(), 2)));
}

#[tokio::test]
async fn a_version_that_is_not_there_changes_nothing() {
    let shelf = Shelf::new().await;
    let lease = shelf.take("k").await;
    shelf.store.update(&lease, b"one", IfVersion::Any).await.unwrap();
    let refused = shelf.store.update(&lease, b"two", IfVersion::Is(0)).await.unwrap_err();
    assert!(matches!(refused, Error::VersionConflict { expected: 0, found: 1 }), "{refused}");
    assert!(shelf.store.remove(&lease, IfVersion::Is(7)).await.is_err());
    assert_eq!(published(&shelf).await, Some((b"one".to_vec(), 1)));
}

#[tokio::test]
async fn an_ended_lease_changes_nothing() {
    let shelf = Shelf::new().await;
    let lease = shelf.take("k").await;
    shelf.pass(Duration::from_millis(30_001));
    assert_eq!(shelf.store.update(&lease, b"late", IfVersion::Any).await.unwrap_err().code(), "lease_expired");
    assert_eq!(published(&shelf).await, None);
    assert_eq!(shelf.store.update(&lease, b"late", IfVersion::Any).await.unwrap_err().code(), "lease_expired");
}

#[tokio::test]
async fn a_removed_key_keeps_its_tokens_and_versions() {
    let shelf = Shelf::new().await;
    let lease = shelf.take("k").await;
    shelf.store.update(&lease, b"one", IfVersion::Any).await.unwrap();
    assert_eq!(shelf.store.remove(&lease, IfVersion::Is(1)).await.unwrap(), 2);
    assert_eq!(published(&shelf).await, None);
    shelf.store.release(&lease).await.unwrap();
    let next = shelf.take("k").await;
    assert!(next.fencing_token > lease.fencing_token);
    assert_eq!(next.version, 2);
}

#[tokio::test]
async fn if_not_exists_is_about_state() {
    let shelf = Shelf::new().await;
    let request = Acquire { if_not_exists: true, ..ask("k", "a") };
    let lease = shelf.store.acquire(&request).await.unwrap();
    shelf.store.update_and_release(&lease, b"one", IfVersion::Any).await.unwrap();
    assert_eq!(shelf.store.acquire(&request).await.unwrap_err().code(), "already_exists");
    let lease = shelf.take("k").await;
    shelf.store.remove(&lease, IfVersion::Any).await.unwrap();
    shelf.store.release(&lease).await.unwrap();
    shelf.store.acquire(&request).await.unwrap();
}

#[tokio::test]
async fn any_bytes_come_back_and_text_can_be_read_with_any_client() {
    let shelf = Shelf::new().await;
    let lease = shelf.take("k").await;
    let bytes: Vec<u8> = (0..=255).collect();
    shelf.store.update(&lease, &bytes, IfVersion::Any).await.unwrap();
    assert_eq!(published(&shelf).await.unwrap().0, bytes);
    shelf.store.update(&lease, b"{\"rows\": 42}\n", IfVersion::Any).await.unwrap();
    let record = shelf.storage.get("jobs/meta/k").await.unwrap().unwrap();
    let record: serde_json::Value = serde_json::from_slice(&record.body).unwrap();
    assert_eq!(record["state"]["text"], "{\"rows\": 42}\n");
    assert_eq!(record["lease"]["owner"], "a");
}

#[tokio::test]
async fn a_description_says_who_and_until_when() {
    let shelf = Shelf::new().await;
    assert_eq!(shelf.store.describe(&namespace(), &key("k")).await.unwrap(), None);
    let lease = shelf.take("k").await;
    let found = shelf.store.describe(&namespace(), &key("k")).await.unwrap().unwrap();
    assert_eq!((found.exists, found.owner.as_deref(), found.expires_at), (false, Some("a"), Some(lease.expires_at)));
    assert_eq!(found.fencing_token, lease.fencing_token);
    shelf.pass(Duration::from_millis(30_001));
    let found = shelf.store.describe(&namespace(), &key("k")).await.unwrap().unwrap();
    assert_eq!((found.owner, found.expires_at), (None, None));
}
