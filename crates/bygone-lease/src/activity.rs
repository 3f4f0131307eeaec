//! Whether anybody is using the store: what the idle sweeper waits for.
//!
//! Only operations on the store count, and those that are under way count for as long as they last. Somebody who merely
//! asks whether we are alive is no reason not to sweep, and one long stream is.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bygone_core::Clock;

#[derive(Debug)]
pub(crate) struct Activity {
    clock: Arc<dyn Clock>,
    under_way: AtomicU64,
    /// All that ever began.
    begun: AtomicU64,
    /// When the last operation ended.
    ended: Mutex<Duration>,
}

/// An operation under way.
#[derive(Debug)]
pub(crate) struct Operation<'a>(&'a Activity);

impl Activity {
    /// Nobody knows what was before: the store counts as used just now.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let ended = Mutex::new(clock.elapsed());
        Self { clock, under_way: AtomicU64::new(0), begun: AtomicU64::new(0), ended }
    }

    pub(crate) fn begin(&self) -> Operation<'_> {
        self.under_way.fetch_add(1, Ordering::AcqRel);
        self.begun.fetch_add(1, Ordering::AcqRel);
        Operation(self)
    }

    /// How many operations ever began: whoever sees another number later knows that one came meanwhile.
    pub(crate) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Acquire)
    }

    /// For how long nobody has used the store; nothing while somebody does.
    pub(crate) fn idle(&self) -> Duration {
        if self.under_way.load(Ordering::Acquire) > 0 {
            return Duration::ZERO;
        }
        let ended = *self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        self.clock.elapsed().saturating_sub(ended)
    }
}

impl Drop for Operation<'_> {
    fn drop(&mut self) {
        *self.0.ended.lock().unwrap_or_else(PoisonError::into_inner) = self.0.clock.elapsed();
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use bygone_core::ManualClock;
    use jiff::Timestamp;

    use super::*;

    #[test]
    fn idleness_begins_when_the_last_operation_ends() {
        let clock = Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH));
        let activity = Activity::new(Arc::clone(&clock) as Arc<dyn Clock>);
        clock.advance(Duration::from_secs(10));
        assert_eq!(activity.idle(), Duration::from_secs(10));
        let (long, short) = (activity.begin(), activity.begin());
        drop(short);
        clock.advance(Duration::from_secs(60));
        assert_eq!(activity.idle(), Duration::ZERO, "one is still under way");
        drop(long);
        clock.advance(Duration::from_secs(5));
        assert_eq!(activity.idle(), Duration::from_secs(5));
    }
}
