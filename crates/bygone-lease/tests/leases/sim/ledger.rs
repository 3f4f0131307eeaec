//! What was promised, and whether it was kept.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use bygone_core::Clock;
use bygone_lease::{Key, Lease, Moment};

use super::weather::SimClock;

/// A lease that somebody was told he has.
#[derive(Debug)]
struct Holding {
    key: Key,
    token: u64,
    expires_at: Moment,
    clock: std::sync::Arc<SimClock>,
}

/// Everything that was answered.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    pub(super) operations: u64,
    trace: DefaultHasher,
    /// The highest token that was answered, by key.
    tokens: HashMap<Key, u64>,
    given: HashSet<(Key, u64)>,
    holding: HashMap<uuid::Uuid, Holding>,
    /// Versions of counters that were answered, each once, and how many writes nobody knows about.
    versions: HashSet<(Key, u64)>,
    pub(super) written: BTreeMap<Key, u64>,
    /// Writes that were begun, and of which nobody heard that they were made or not.
    pub(super) unknown: BTreeMap<Key, u64>,
    pub(super) abandoned: u64,
    pub(super) committed: u64,
    pub(super) rolled_back: u64,
    pub(super) crashes: u64,
}

impl Ledger {
    /// An operation was answered.
    pub(super) fn note(&mut self, what: &str) {
        self.operations += 1;
        what.hash(&mut self.trace);
    }

    /// What tells one run from another.
    pub(super) fn trace(&self) -> u64 {
        self.trace.finish()
    }

    pub(super) fn highest(&self, key: &Key) -> u64 {
        self.tokens.get(key).copied().unwrap_or(0)
    }

    /// A lease was granted; `floor` is the highest token that was answered before it was asked for.
    pub(super) fn granted(&mut self, lease: &Lease, floor: u64, clock: &std::sync::Arc<SimClock>) {
        let token = lease.fencing_token;
        assert!(token > floor, "the token {token} of {} is not above {floor}", lease.key);
        assert!(self.given.insert((lease.key.clone(), token)), "two have the token {token} of {}", lease.key);
        // Of two who have the key, the one with the lower token has it no longer, and knows by his own clock. That may be
        // the one who is only told now.
        for held in self.holding.values().filter(|held| held.key == lease.key) {
            let (expires_at, clock) =
                if held.token < token { (held.expires_at, &held.clock) } else { (lease.expires_at, clock) };
            let now = Moment::from(clock.now());
            assert!(expires_at.millis() < now.millis(), "{} was given away before {expires_at}", lease.key);
        }
        let highest = self.tokens.entry(lease.key.clone()).or_default();
        *highest = token.max(*highest);
        self.extended(lease, clock);
    }

    pub(super) fn extended(&mut self, lease: &Lease, clock: &std::sync::Arc<SimClock>) {
        let (key, token, expires_at) = (lease.key.clone(), lease.fencing_token, lease.expires_at);
        self.holding.insert(lease.id, Holding { key, token, expires_at, clock: std::sync::Arc::clone(clock) });
    }

    /// The holder gives a lease up, or may have: from when he asks for it on, he holds nothing.
    pub(super) fn gives_up(&mut self, lease: &Lease) {
        self.holding.remove(&lease.id);
    }

    pub(super) fn begins_to_write(&mut self, key: &Key) {
        *self.unknown.entry(key.clone()).or_default() += 1;
    }

    /// A write surely happened, or surely did not.
    pub(super) fn wrote(&mut self, key: &Key, version: Option<u64>) {
        *self.unknown.entry(key.clone()).or_default() -= 1;
        if let Some(version) = version {
            assert!(self.versions.insert((key.clone(), version)), "version {version} of {key} was answered twice");
            *self.written.entry(key.clone()).or_default() += 1;
        }
    }
}
