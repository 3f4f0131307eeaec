//! How long something took, and how much of it that is in a second.

use std::time::Duration;

use bygone_core::{Clock, SystemClock};

/// Measures from now on.
pub(crate) struct Stopwatch(SystemClock);

impl Stopwatch {
    /// Starts it.
    pub(crate) fn start() -> Self {
        Self(SystemClock::new())
    }

    /// How long it has been running.
    pub(crate) fn time(&self) -> Duration {
        self.0.elapsed()
    }
}

/// How many a second.
#[expect(clippy::cast_precision_loss, reason = "a rate needs no exact count")]
pub(crate) fn rate(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64().max(1e-9)
}
