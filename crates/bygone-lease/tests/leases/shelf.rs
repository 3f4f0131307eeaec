//! A store in memory under a clock that moves only when told to, and processes that die in the middle of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bygone_core::{Boundary, Budget, Clock, Job, ManualClock, PolicyReport, Sweep};
use bygone_lease::storage::{Counting, Memory, Request, Storage};
use bygone_lease::{Acquire, Key, Lease, LeaseStore, LeaseTarget, Moment, Namespace, Options, SeededChance, Swept};
use futures_util::FutureExt;

use super::mortal::Mortal;

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

    /// Another process over the same store, with other options.
    pub(crate) async fn over(&self, options: Options) -> LeaseStore {
        let clock = Arc::clone(&self.clock);
        LeaseStore::open_by(Arc::clone(&self.storage), options, clock, Arc::new(SeededChance::new(3))).await.unwrap()
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
        Moment::from(self.clock.now())
    }

    /// Sweeps at the clock's time.
    pub(crate) async fn sweep(&self, swept: Swept) -> PolicyReport {
        let boundary = Boundary::at(self.clock.now());
        let target = LeaseTarget::new(swept, "leases", "store", &self.store);
        let report =
            Sweep::new(self.clock.clone(), boundary).run(vec![Job::new(Box::new(target), Budget::default())]).await;
        let policy = report.policies.into_iter().next().unwrap();
        assert_eq!(policy.error, None);
        policy
    }

    /// Sweeps everything, and again after a while: what the first pass left to the next is gone too.
    pub(crate) async fn sweep_for_days(&self) {
        for _ in 0..4 {
            self.pass(Duration::from_secs(13 * 3600));
            for swept in [Swept::Transactions, Swept::Leases, Swept::Decisions] {
                self.sweep(swept).await;
            }
        }
    }

    pub(crate) async fn keys(&self, prefix: &str) -> Vec<String> {
        let listing = self.storage.list(prefix, None, usize::MAX).await.unwrap();
        listing.keys.into_iter().map(|listed| listed.key).collect()
    }

    /// Another process, which does some work and dies before its write number `writes`. True if the work was done by then.
    pub(crate) async fn dies_before_write<F: Future>(
        &self,
        writes: u32,
        options: Options,
        work: impl FnOnce(LeaseStore) -> F,
    ) -> bool {
        let left = AtomicU32::new(writes);
        let dies = move |request: Request<'_>| {
            let is_write = matches!(request, Request::Put(_) | Request::Delete(_));
            is_write && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err()
        };
        let storage = Mortal::new(Arc::clone(&self.storage), dies);
        let chance = Arc::new(SeededChance::new(u64::from(writes) + 10));
        let store = LeaseStore::open_by(storage, options, self.clock.clone(), chance).await.unwrap();
        work(store).now_or_never().is_some()
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
