//! A clock that stands still until a test moves it, and on which whoever sleeps waits for that.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bygone_core::Clock;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

/// Unlike `bygone_core::ManualClock`, which moves on when somebody sleeps, this one moves only when it is told to: for
/// what runs in the background.
#[derive(Debug)]
pub struct StandingClock {
    now: watch::Sender<Timestamp>,
    began: Timestamp,
    sleepers: Mutex<usize>,
}

impl StandingClock {
    /// A clock at `now`.
    pub fn at(now: Timestamp) -> Self {
        Self { now: watch::Sender::new(now), began: now, sleepers: Mutex::new(0) }
    }

    /// Moves it on, and wakes whoever has slept long enough.
    pub fn advance(&self, time: Duration) {
        let step = SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
        self.now.send_modify(|now| *now = now.checked_add(step).unwrap_or(Timestamp::MAX));
    }

    /// How often somebody went to sleep by it.
    pub fn sleeps(&self) -> usize {
        *self.sleepers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for StandingClock {
    fn now(&self) -> Timestamp {
        *self.now.borrow()
    }

    fn elapsed(&self) -> Duration {
        Duration::try_from(self.now().duration_since(self.began)).unwrap_or(Duration::ZERO)
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let step = SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
        let until = self.now().checked_add(step).unwrap_or(Timestamp::MAX);
        let mut now = self.now.subscribe();
        *self.sleepers.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Box::pin(async move {
            // The sender is this clock, which lives longer than the borrow.
            let _ = now.wait_for(|now| *now >= until).await;
        })
    }
}
