//! A store in memory under a clock that moves only when told to.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::ManualClock;
use bygone_lease::storage::{Counting, Memory};
use bygone_lease::{Acquire, Key, Lease, LeaseStore, Moment, Namespace, Options, SeededChance};

pub(crate) struct Shelf {
    pub(crate) storage: Arc<Counting<Memory>>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) store: LeaseStore,
}

impl Shelf {
    pub(crate) async fn new() -> Self {
        Self::with(Options::default()).await
    }

    pub(crate) async fn with(options: Options) -> Self {
        let storage = Arc::new(Counting::new(Memory::new()));
        let clock = Arc::new(ManualClock::at("2026-11-18T12:10:00Z".parse().unwrap()));
        let store =
            LeaseStore::open_by(Arc::clone(&storage), options, Arc::clone(&clock) as _, Arc::new(SeededChance::new(1)));
        let store = store.await.unwrap();
        Self { storage, clock, store }
    }

    /// Another process over the same store.
    pub(crate) async fn another_process(&self) -> LeaseStore {
        let chance = Arc::new(SeededChance::new(2));
        let clock = Arc::clone(&self.clock);
        LeaseStore::open_by(Arc::clone(&self.storage), Options::default(), clock, chance).await.unwrap()
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }

    pub(crate) fn now(&self) -> Moment {
        use bygone_core::Clock;
        Moment::from(self.clock.now())
    }

    pub(crate) async fn take(&self, key: &str) -> Lease {
        self.store.acquire(&ask(key, "a")).await.unwrap()
    }
}

pub(crate) fn namespace() -> Namespace {
    Namespace::new("jobs").unwrap()
}

pub(crate) fn key(name: &str) -> Key {
    Key::new(name).unwrap()
}

pub(crate) fn ask(name: &str, owner: &str) -> Acquire {
    Acquire::new(namespace(), key(name), owner)
}
