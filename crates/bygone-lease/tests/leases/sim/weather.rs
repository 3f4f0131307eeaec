//! The way to the store, and all that can happen on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::{Clock, ClockReading};
use bygone_lease::storage::{Capabilities, Expected, Listing, Memory, Storage, StorageError, Stored, Version};
use bygone_lease::{Chance, SeededChance};
use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};

/// A clock that stands still unless somebody sleeps, and is off by so much.
#[derive(Debug)]
pub(super) struct SimClock {
    started: tokio::time::Instant,
    off: SignedDuration,
}

impl SimClock {
    pub(super) fn new(started: tokio::time::Instant, off: SignedDuration) -> Self {
        Self { started, off }
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        let noon: Timestamp = "2026-11-18T12:00:00Z".parse().unwrap();
        noon + self.elapsed() + self.off
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "the home of simulated sleep")]
    fn sleep(&self, time: Duration) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(time))
    }
}

/// What happened how often.
#[derive(Debug, Default)]
pub(super) struct Fired {
    pub(super) requests: AtomicU64,
    pub(super) throttled: AtomicU64,
    pub(super) lost_requests: AtomicU64,
    pub(super) lost_replies: AtomicU64,
    pub(super) late: AtomicU64,
    pub(super) stalls: AtomicU64,
}

/// The weather of all processes.
#[derive(Debug)]
pub(super) struct Weather {
    pub(super) memory: Arc<Memory>,
    pub(super) chance: SeededChance,
    pub(super) calm: AtomicBool,
    pub(super) fired: Fired,
    pub(super) clock: SimClock,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Well,
    Throttled,
    LostRequest,
    LostReply,
    /// Nobody hears of it, and it is carried out long after.
    Late,
}

impl Weather {
    #[expect(clippy::disallowed_methods, reason = "the beginning of simulated time")]
    pub(super) fn new(memory: Arc<Memory>, chance: SeededChance) -> Self {
        let clock = SimClock::new(tokio::time::Instant::now(), SignedDuration::ZERO);
        Self { memory, chance, calm: AtomicBool::new(false), fired: Fired::default(), clock }
    }

    /// When time began.
    pub(super) fn clock_start(&self) -> tokio::time::Instant {
        self.clock.started
    }

    fn one_in(&self, n: u64) -> bool {
        self.chance.bits().is_multiple_of(n)
    }

    fn fate(&self) -> Fate {
        self.fired.requests.fetch_add(1, Ordering::Relaxed);
        if self.calm.load(Ordering::Relaxed) {
            return Fate::Well;
        }
        let (fate, counter) = match self.chance.bits() % 100 {
            0..=2 => (Fate::Throttled, &self.fired.throttled),
            3..=4 => (Fate::LostRequest, &self.fired.lost_requests),
            5..=7 => (Fate::LostReply, &self.fired.lost_replies),
            8 => (Fate::Late, &self.fired.late),
            _ => return Fate::Well,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        fate
    }

    /// A little time, or, now and then, more than any lease lasts.
    async fn pass(&self) {
        if self.calm.load(Ordering::Relaxed) {
            return;
        }
        let millis = if self.one_in(2_000) {
            self.fired.stalls.fetch_add(1, Ordering::Relaxed);
            self.chance.bits() % 20_000
        } else {
            self.chance.bits() % 10
        };
        self.clock.sleep(Duration::from_millis(millis)).await;
    }
}

/// A process's way to the store.
#[derive(Clone, Debug)]
pub(super) struct Way(pub(super) Arc<Weather>);

impl Way {
    async fn send<T, F>(&self, writes: bool, carry_out: impl FnOnce(Arc<Memory>) -> F) -> Result<T, StorageError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StorageError>> + Send + 'static,
    {
        let weather = &self.0;
        let lost = || {
            let reason = "lost".to_owned();
            if writes { StorageError::Unknown { reason } } else { StorageError::Unavailable { reason } }
        };
        weather.pass().await;
        let request = carry_out(Arc::clone(&weather.memory));
        let answer = match weather.fate() {
            Fate::Well => request.await,
            Fate::Throttled => Err(StorageError::Throttled),
            Fate::LostRequest => Err(lost()),
            Fate::LostReply => {
                let _ = request.await;
                Err(lost())
            }
            Fate::Late => {
                let later = Duration::from_millis(weather.chance.bits() % 15_000);
                let weather = Arc::clone(weather);
                tokio::spawn(async move {
                    weather.clock.sleep(later).await;
                    let _ = request.await;
                });
                Err(lost())
            }
        };
        weather.pass().await;
        answer
    }
}

#[async_trait]
impl Storage for Way {
    fn capabilities(&self) -> Capabilities {
        self.0.memory.capabilities()
    }

    async fn get(&self, key: &str) -> Result<Option<Stored>, StorageError> {
        let key = key.to_owned();
        self.send(false, |memory| async move { memory.get(&key).await }).await
    }

    async fn put(&self, key: &str, body: Bytes, expected: Expected<'_>) -> Result<Version, StorageError> {
        let key = key.to_owned();
        let version = match expected {
            Expected::Absent => None,
            Expected::Version(version) => Some(version.clone()),
        };
        let request = |memory: Arc<Memory>| async move {
            let expected = version.as_ref().map_or(Expected::Absent, Expected::Version);
            memory.put(&key, body, expected).await
        };
        self.send(true, request).await
    }

    async fn delete(&self, key: &str, version: &Version) -> Result<(), StorageError> {
        let (key, version) = (key.to_owned(), version.clone());
        self.send(true, |memory| async move { memory.delete(&key, &version).await }).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Listing, StorageError> {
        let (prefix, after) = (prefix.to_owned(), after.map(str::to_owned));
        self.send(false, |memory| async move { memory.list(&prefix, after.as_deref(), limit).await }).await
    }

    async fn read_clock(&self) -> Result<Option<ClockReading>, StorageError> {
        Ok(None)
    }
}
