//! Accounts between which transactions move amounts. Each account holds its balance and every move that made it, so that
//! half a transaction shows, whichever half it is.

use std::collections::BTreeMap;
use std::time::Duration;

use bygone_lease::{Acquire, IfVersion, Key, LeaseStore, Wait};

use crate::orders::{key, namespace};

/// A prime: whatever the step from one to the next, they are different ones.
pub(crate) const ACCOUNTS: usize = 7;
pub(crate) const BALANCE: i64 = 100;
/// Nobody interferes with whoever opens the books.
const LONG: Duration = Duration::from_secs(60);
/// How often the books are read before they count as restless.
const READINGS_MAX: usize = 50;

/// An account of a term. New books are opened for every term, so that they stay small.
pub(crate) fn account(term: u64, number: usize) -> Key {
    key(format!("term-{term}/account-{number}"))
}

/// An account as its state: the balance, and a line for every move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) balance: i64,
    pub(crate) moves: BTreeMap<String, i64>,
}

impl Account {
    pub(crate) fn parse(text: &str) -> Self {
        let mut lines = text.lines();
        let balance = lines.next().unwrap().parse().unwrap();
        let mut moves = BTreeMap::new();
        for line in lines {
            let (id, delta) = line.split_once(' ').unwrap();
            let before = moves.insert(id.to_owned(), delta.parse().unwrap());
            assert_eq!(before, None, "{id} was moved twice: {text}");
        }
        Self { balance, moves }
    }

    /// The state after another move.
    pub(crate) fn after(text: &str, id: &str, delta: i64) -> String {
        let (balance, moves) = text.split_once('\n').unwrap_or((text, ""));
        let balance = balance.parse::<i64>().unwrap() + delta;
        format!("{balance}\n{moves}{id} {delta}\n")
    }
}

/// Opens the books of a term, all accounts in one transaction.
pub(crate) async fn open_books(store: &LeaseStore, term: u64) {
    let ttl = Some(LONG);
    let txn = store.begin(ttl).unwrap();
    for number in 0..ACCOUNTS {
        let acquire = Acquire::new(namespace(), account(term, number), "owner of the books");
        let acquire = Acquire { txn: Some(txn), ttl, wait: Wait::Forever, if_not_exists: true, ..acquire };
        store.stage(&acquire, format!("{BALANCE}\n").as_bytes(), IfVersion::Is(0)).await.unwrap();
    }
    store.commit(txn).await.unwrap();
}

/// Reads all accounts. Nobody works on them, but a request of one who was killed may still be on its way: it is read
/// until two readings agree.
pub(crate) async fn read_books(store: &LeaseStore, term: u64) -> Vec<String> {
    let mut last = Vec::new();
    for _ in 0..READINGS_MAX {
        let mut texts = Vec::new();
        for number in 0..ACCOUNTS {
            let found = store.get(&namespace(), &account(term, number)).await.unwrap().expect("accounts stay");
            texts.push(String::from_utf8(found.state.to_vec()).unwrap());
        }
        if texts == last {
            return texts;
        }
        last = texts;
    }
    panic!("the books change, although nobody works on them");
}
