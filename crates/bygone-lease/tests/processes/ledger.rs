//! What the processes were told, by their own word, and whether it is so.

use std::collections::{BTreeMap, BTreeSet};

use bygone_core::{Clock, SystemClock};
use bygone_lease::{Acquire, Key, Lease, LeaseStore, Moment};
use futures_util::future::join_all;

use crate::books::{ACCOUNTS, Account, BALANCE};
use crate::letters::Letters;
use crate::orders::{Said, namespace};

/// A transaction over several accounts.
#[derive(Debug)]
struct Transfer {
    term: u64,
    deltas: BTreeMap<usize, i64>,
    /// Whether it came true; not known if nobody was told.
    is_done: Option<bool>,
}

/// A key of which one life has the lease, for long.
#[derive(Debug)]
struct Held {
    lease: Lease,
    value: Option<String>,
    /// What was on its way when its holder was heard of last.
    value_perhaps: Option<String>,
    is_free: bool,
    is_free_perhaps: bool,
}

/// All that was said.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// The values that were counted to.
    counted: BTreeMap<Key, BTreeSet<u64>>,
    pub(crate) letters: Letters,
    transfers: BTreeMap<String, Transfer>,
    held: BTreeMap<Key, Held>,
    /// States that were seen after the end of those who set them.
    kept: BTreeMap<Key, String>,
    /// Refusals, by what and why.
    pub(crate) refused: BTreeMap<(String, String), u64>,
    pub(crate) moved: u64,
}

impl Ledger {
    pub(crate) fn note(&mut self, said: Said) {
        match said {
            Said::Quiet | Said::Account { .. } => {}
            Said::Counted { key, value, version } => {
                assert_eq!(value, version, "{key}");
                let is_new = self.counted.entry(key.clone()).or_default().insert(value);
                assert!(is_new, "{key} was counted to {value} twice");
            }
            Said::Sent { letter } => self.letters.sent(&letter),
            Said::Got { letter, .. } => self.letters.got(&letter),
            Said::Acking { letter } => self.letters.acking(&letter),
            Said::Acked { letter, now } => self.letters.acked(&letter, now),
            Said::NotAcked { letter } => self.letters.not_acked(&letter),
            Said::Moving { id, term, deltas } => {
                let transfer = Transfer { term, deltas: deltas.into_iter().collect(), is_done: None };
                self.transfers.insert(id, transfer);
            }
            Said::Moved { id } => {
                self.transfers.get_mut(&id).unwrap().is_done = Some(true);
                self.moved += 1;
            }
            Said::Undone { id, code } => {
                self.transfers.get_mut(&id).unwrap().is_done = Some(false);
                self.refuse("commit", &code);
            }
            Said::Refused { what, code } => self.refuse(&what, &code),
            Said::Odd { what, error } => panic!("{what}: {error}"),
            Said::Held { lease } => {
                let (value, value_perhaps) = (None, None);
                let held = Held { lease, value, value_perhaps, is_free: false, is_free_perhaps: false };
                self.held.insert(held.lease.key.clone(), held);
            }
            Said::Setting { key, value } => self.held(&key).value_perhaps = Some(value),
            Said::Set { key, value } => {
                let held = self.held(&key);
                (held.value, held.value_perhaps) = (Some(value), None);
            }
            Said::Freeing { key } => self.held(&key).is_free_perhaps = true,
            Said::Freed { key } => self.held(&key).is_free = true,
        }
    }

    fn held(&mut self, key: &Key) -> &mut Held {
        self.held.get_mut(key).unwrap()
    }

    fn refuse(&mut self, what: &str, code: &str) {
        *self.refused.entry((what.to_owned(), code.to_owned())).or_default() += 1;
    }

    pub(crate) fn refusals(&self, what: &str, code: &str) -> u64 {
        self.refused.get(&(what.to_owned(), code.to_owned())).copied().unwrap_or(0)
    }

    /// The accounts of a term: whatever was committed is in all of its accounts, whatever was not is in none.
    pub(crate) fn check_books(&self, term: u64, texts: &[String]) {
        let accounts: Vec<_> = texts.iter().map(|text| Account::parse(text)).collect();
        assert_eq!(accounts.len(), ACCOUNTS);
        for account in &accounts {
            assert_eq!(account.balance, BALANCE + account.moves.values().sum::<i64>(), "{account:?}");
            for id in account.moves.keys() {
                assert_eq!(self.transfers[id].term, term, "{id} is in the wrong books");
            }
        }
        let total: i64 = accounts.iter().map(|account| account.balance).sum();
        assert_eq!(total, BALANCE * i64::try_from(ACCOUNTS).unwrap());
        for (id, transfer) in self.transfers.iter().filter(|(_, transfer)| transfer.term == term) {
            let moves =
                accounts.iter().enumerate().filter_map(|(number, account)| Some((number, *account.moves.get(id)?)));
            let moves: BTreeMap<_, _> = moves.collect();
            let (is_whole, is_nothing) = (moves == transfer.deltas, moves.is_empty());
            let is_right = match transfer.is_done {
                Some(true) => is_whole,
                Some(false) => is_nothing,
                None => is_whole || is_nothing,
            };
            assert!(is_right, "{id} is torn: {transfer:?}, {moves:?}");
        }
    }

    /// Forgets the transfers of a term whose books are closed.
    pub(crate) fn close_books(&mut self, term: u64) {
        self.transfers.retain(|_, transfer| transfer.term != term);
    }

    /// No count is lost. With all processes stopped.
    pub(crate) async fn check_counters(&self, store: &LeaseStore) {
        for (key, counted) in &self.counted {
            let found = store.get(&namespace(), key).await.unwrap().unwrap();
            let value: u64 = std::str::from_utf8(&found.state).unwrap().parse().unwrap();
            assert_eq!(value, found.version, "{key}");
            assert!(value >= *counted.last().unwrap(), "{key} has {value}, and was counted to {counted:?}");
        }
    }

    pub(crate) fn counts(&self) -> u64 {
        self.counted.values().map(|values| u64::try_from(values.len()).unwrap()).sum()
    }

    /// Every lease and state that was answered is there, after the end of whoever was told. Answers with how many.
    pub(crate) async fn check_held(&mut self, store: &LeaseStore) -> u64 {
        let held = std::mem::take(&mut self.held);
        let states = join_all(held.values().map(|held| check_one(store, held))).await;
        let checked = u64::try_from(held.len()).unwrap();
        let states = held.into_keys().zip(states).filter_map(|(key, state)| Some((key, state?)));
        self.kept.extend(states);
        checked
    }

    /// What was seen once stays.
    pub(crate) async fn check_kept(&self, store: &LeaseStore) -> u64 {
        for (key, value) in &self.kept {
            let found = store.get(&namespace(), key).await.unwrap().unwrap();
            assert_eq!(&found.state[..], value.as_bytes(), "{key}");
        }
        u64::try_from(self.kept.len()).unwrap()
    }
}

/// Looks at a key whose holder has ended. Answers with its state.
async fn check_one(store: &LeaseStore, held: &Held) -> Option<String> {
    let (lease, key) = (&held.lease, &held.lease.key);
    let found = store.get(&namespace(), key).await.unwrap();
    let found = found.map(|found| String::from_utf8(found.state.to_vec()).unwrap());
    assert!(found == held.value || (found.is_some() && found == held.value_perhaps), "{held:?}: {found:?}");
    let described = store.describe(&namespace(), key).await.unwrap().unwrap();
    assert_eq!(described.fencing_token, lease.fencing_token);
    let is_held = described.owner.as_ref() == Some(&lease.owner) && described.expires_at == Some(lease.expires_at);
    assert!(is_held || (held.is_free_perhaps && described.owner.is_none()), "{held:?}: {described:?}");
    assert!(!held.is_free || !is_held, "{held:?}: {described:?}");
    if is_held {
        // It is as good as when it was given: whoever has it can go on.
        let kept = store.keepalive(lease, None).await.unwrap();
        assert!(kept.expires_at > Moment::from(SystemClock::new().now()) && kept.id == lease.id);
    } else {
        let next = store.acquire(&Acquire::new(namespace(), key.clone(), "next")).await.unwrap();
        assert!(next.fencing_token > lease.fencing_token, "{next:?} after {lease:?}");
        store.release(&next).await.unwrap();
    }
    found
}
