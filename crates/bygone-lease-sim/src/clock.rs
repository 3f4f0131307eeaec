//! The clock of one process: it follows the true time, and is off by so much.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::Clock;
use jiff::Timestamp;

use crate::scheduler::Agenda;

/// 2026-11-18T12:00:00Z, when everything begins.
const BEGINNING_MILLIS: i64 = 1_795_003_200_000;

/// A clock that stands still while anybody has something to do.
#[derive(Debug)]
pub(crate) struct SkewedClock {
    agenda: Arc<Agenda>,
    off_millis: i64,
}

impl SkewedClock {
    pub(crate) fn new(agenda: Arc<Agenda>, off_millis: i64) -> Self {
        Self { agenda, off_millis }
    }

    /// What it shows, in milliseconds since 1970.
    pub(crate) fn millis(&self) -> i64 {
        true_millis(&self.agenda) + self.off_millis
    }
}

/// What a clock that is right would show.
pub(crate) fn true_millis(agenda: &Agenda) -> i64 {
    BEGINNING_MILLIS + i64::try_from(agenda.now()).unwrap_or(i64::MAX / 2)
}

impl Clock for SkewedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.millis()).unwrap_or(Timestamp::MAX)
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.agenda.now())
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.agenda.sleep(time))
    }
}
