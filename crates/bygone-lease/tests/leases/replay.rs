//! Transactions that others left are ended beside operations on state, for little.

use std::time::Duration;

use bygone_lease::storage::Requests;
use bygone_lease::{Acquire, IfVersion, LeaseStore, Options, Replay};

use super::shelf::{Shelf, ask, key, namespace};

const LONG: Duration = Duration::from_secs(60);

async fn read(store: &LeaseStore, name: &str) -> Option<String> {
    let found = store.get(&namespace(), &key(name)).await.unwrap();
    found.map(|found| String::from_utf8(found.state.to_vec()).unwrap())
}

/// Transactions over these keys that nobody ends.
async fn abandon(shelf: &Shelf, number: usize) {
    let store = shelf.another_process().await;
    for number in 0..number {
        let txn = store.begin(None).unwrap();
        let staged = Acquire { txn: Some(txn), ..ask(&format!("left-{number:04}"), "b") };
        store.stage(&staged, b"never", IfVersion::Any).await.unwrap();
    }
}

async fn pending(shelf: &Shelf) -> usize {
    shelf.keys(".txns/").await.len()
}

#[tokio::test]
async fn what_others_left_is_ended_by_whoever_uses_the_store() {
    let shelf = Shelf::new().await;
    abandon(&shelf, 3).await;
    let store = shelf.another_process().await;
    assert_eq!(read(&store, "elsewhere").await, None);
    assert_eq!(pending(&shelf).await, 3, "none of them is past its time");
    shelf.pass(LONG);
    assert_eq!(read(&store, "elsewhere").await, None);
    assert_eq!(pending(&shelf).await, 0);
    for number in 0..3 {
        assert_eq!(read(&store, &format!("left-{number:04}")).await, None);
    }
}

/// Defect 13 of the original: nothing is listed while nothing is known to be pending; after opening there is one look.
#[tokio::test]
async fn defect_13_nothing_is_listed_while_nothing_is_pending() {
    let shelf = Shelf::new().await;
    let before = shelf.storage.requests();
    let store = shelf.another_process().await;
    assert_eq!(shelf.storage.requests().since(before), Requests { gets: 1, ..Requests::default() }, "one look");
    let before = shelf.storage.requests();
    for _ in 0..10 {
        shelf.pass(LONG);
        read(&store, "k").await;
    }
    assert_eq!(shelf.storage.requests().since(before), Requests { gets: 10, ..Requests::default() });
    // One that is begun here is known, until a listing shows that it is over.
    let txn = store.begin(None).unwrap();
    let staged = Acquire { txn: Some(txn), ..ask("k", "b") };
    store.stage(&staged, b"state", IfVersion::Any).await.unwrap();
    store.commit(txn).await.unwrap();
    let before = shelf.storage.requests();
    for _ in 0..10 {
        shelf.pass(LONG);
        read(&store, "k").await;
    }
    assert_eq!(shelf.storage.requests().since(before), Requests { gets: 10, lists: 1, ..Requests::default() });
}

#[tokio::test]
async fn a_run_is_bounded_and_the_next_one_goes_on_behind_it() {
    let shelf = Shelf::new().await;
    abandon(&shelf, 10).await;
    let replay = Replay { transactions_max: 4, ..Replay::default() };
    let reader = shelf.over(Options { replay, ..Options::default() }).await;
    shelf.pass(LONG);
    let mut left = Vec::new();
    for _ in 0..5 {
        read(&reader, "elsewhere").await;
        left.push(pending(&shelf).await);
        shelf.pass(Duration::from_secs(4));
        read(&reader, "elsewhere").await;
        left.push(pending(&shelf).await);
        shelf.pass(Duration::from_secs(1));
    }
    assert_eq!(left, [6, 6, 2, 2, 0, 0, 0, 0, 0, 0], "four at a time, every five seconds");
}

/// Many that live, in front of one that is over, do not hide it.
#[tokio::test]
async fn a_run_that_found_nothing_to_do_does_not_begin_where_it_began() {
    let shelf = Shelf::new().await;
    let busy = shelf.another_process().await;
    for number in 0..6 {
        let txn = busy.begin(Some(Duration::from_secs(1800))).unwrap();
        let ttl = Some(Duration::from_secs(1800));
        let staged = Acquire { txn: Some(txn), ttl, ..ask(&format!("live-{number}"), "b") };
        busy.stage(&staged, b"later", IfVersion::Any).await.unwrap();
    }
    shelf.pass(Duration::from_secs(1));
    abandon(&shelf, 1).await;
    let replay = Replay { transactions_max: 4, ..Replay::default() };
    let reader = shelf.over(Options { replay, ..Options::default() }).await;
    shelf.pass(LONG);
    let mut left = Vec::new();
    for _ in 0..3 {
        read(&reader, "elsewhere").await;
        left.push(pending(&shelf).await);
        shelf.pass(Duration::from_secs(5));
    }
    assert_eq!(left, [7, 6, 6]);
}

/// Whatever write a process dies before: once a transaction is decided, whoever comes next does it everywhere.
#[tokio::test]
async fn a_decision_that_was_not_done_everywhere_is_done() {
    let mut found = 0;
    for writes in 0.. {
        let shelf = Shelf::new().await;
        let is_done = shelf
            .dies_before_write(writes, Options::default(), |store| async move {
                let txn = store.begin(None).unwrap();
                for name in ["x", "y"] {
                    let staged = Acquire { txn: Some(txn), ..ask(name, "b") };
                    store.stage(&staged, b"new", IfVersion::Any).await.unwrap();
                }
                store.commit(txn).await.unwrap();
            })
            .await;
        if is_done {
            break;
        }
        if shelf.keys(".txn-decisions/m/").await.is_empty() {
            continue;
        }
        found += 1;
        assert_eq!(pending(&shelf).await, 1);
        let store = shelf.another_process().await;
        read(&store, "elsewhere").await;
        assert_eq!(pending(&shelf).await, 0);
        let read = (read(&store, "x").await, read(&store, "y").await);
        assert_eq!((read.0.as_deref(), read.1.as_deref()), (Some("new"), Some("new")));
    }
    assert_eq!(found, 3, "before each key, and before the record of the transaction goes");
}
