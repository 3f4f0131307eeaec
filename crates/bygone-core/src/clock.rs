//! Time, injected. The engine never asks the machine what time it is: it asks a [`Clock`], so that a test can
//! stand on the boundary itself.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

/// Wall time, elapsed time and sleep.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The wall clock.
    fn now(&self) -> Timestamp;
    /// Time since some fixed moment, never going back: for measuring how long things take.
    fn elapsed(&self) -> Duration;
    /// Waits.
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// The machine's clocks. The one home of `now` and `sleep` in this workspace.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// A clock whose elapsed time starts now.
    #[expect(clippy::disallowed_methods, reason = "the home of the monotonic clock")]
    pub fn new() -> Self {
        Self { started: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the home of the wall clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    #[expect(clippy::disallowed_methods, reason = "the home of sleep")]
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(time))
    }
}

/// A clock that moves only when told to, or when someone sleeps by it.
#[derive(Debug)]
pub struct ManualClock {
    state: Mutex<(Timestamp, Duration)>,
}

impl ManualClock {
    /// A clock standing at `now`.
    pub fn at(now: Timestamp) -> Self {
        Self { state: Mutex::new((now, Duration::ZERO)) }
    }

    /// Moves both the wall clock and the elapsed time on.
    pub fn advance(&self, time: Duration) {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let step = SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
        state.0 = state.0.checked_add(step).unwrap_or(Timestamp::MAX);
        state.1 = state.1.saturating_add(time);
    }

    fn read(&self) -> (Timestamp, Duration) {
        *self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.read().0
    }

    fn elapsed(&self) -> Duration {
        self.read().1
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.advance(time);
        Box::pin(std::future::ready(()))
    }
}
