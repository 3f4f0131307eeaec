//! What operations cost, in requests: what buckets are paid by.

use std::time::Duration;

use bygone_lease::IfVersion;
use bygone_lease::storage::Requests;

use super::shelf::{Shelf, ask};

/// A shelf whose namespace and hour are known: what the first lease of an hour costs is shared by all others.
async fn warm() -> Shelf {
    let shelf = Shelf::new().await;
    let lease = shelf.take("first").await;
    shelf.store.release(&lease).await.unwrap();
    shelf
}

#[tokio::test]
async fn lock_and_unlock_of_a_new_key_cost_three() {
    let shelf = warm().await;
    let before = shelf.storage.requests();
    let lease = shelf.take("new").await;
    shelf.store.release(&lease).await.unwrap();
    // One read to see that it is new would be a fourth: a key of which nothing is known is tried as a new one.
    assert_eq!(shelf.storage.requests().since(before), Requests { puts: 3, ..Requests::default() });
}

#[tokio::test]
async fn lock_and_unlock_of_a_known_key_cost_two() {
    let shelf = warm().await;
    let before = shelf.storage.requests();
    let lease = shelf.take("first").await;
    shelf.store.release(&lease).await.unwrap();
    assert_eq!(shelf.storage.requests().since(before), Requests { puts: 2, ..Requests::default() });
}

#[tokio::test]
async fn acquire_update_release_cost_three_or_two() {
    let shelf = warm().await;
    let before = shelf.storage.requests();
    let lease = shelf.take("first").await;
    shelf.store.update(&lease, b"state", IfVersion::Any).await.unwrap();
    shelf.store.release(&lease).await.unwrap();
    assert_eq!(shelf.storage.requests().since(before), Requests { puts: 3, ..Requests::default() });
    let before = shelf.storage.requests();
    let lease = shelf.take("first").await;
    shelf.store.update_and_release(&lease, b"state", IfVersion::Any).await.unwrap();
    assert_eq!(shelf.storage.requests().since(before), Requests { puts: 2, ..Requests::default() });
}

#[tokio::test]
async fn keepalive_costs_one_within_its_hour() {
    let shelf = warm().await;
    let lease = shelf.take("first").await;
    let before = shelf.storage.requests();
    let lease = shelf.store.keepalive(&lease, None).await.unwrap();
    assert_eq!(shelf.storage.requests().since(before).total(), 1);
    // Into the next hour: its list is read and swapped, its entry is written, then the record.
    let before = shelf.storage.requests();
    shelf.pass(Duration::from_secs(20));
    shelf.store.keepalive(&lease, Some(Duration::from_secs(30 * 60))).await.unwrap();
    assert_eq!(shelf.storage.requests().since(before).total(), 1);
    shelf.pass(Duration::from_secs(25 * 60));
    shelf.store.keepalive(&lease, Some(Duration::from_secs(30 * 60))).await.unwrap();
    assert_eq!(shelf.storage.requests().since(before), Requests { gets: 1, puts: 4, ..Requests::default() });
}

#[tokio::test]
async fn a_lease_that_is_held_costs_one_look() {
    let shelf = warm().await;
    let _lease = shelf.take("first").await;
    let before = shelf.storage.requests();
    shelf.store.acquire(&ask("first", "b")).await.unwrap_err();
    assert_eq!(shelf.storage.requests().since(before), Requests { gets: 1, ..Requests::default() });
}
