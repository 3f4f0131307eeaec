//! Now, as the area counts it: one reading of the clock, in the units that the manifest keeps.

use bygone_core::{Boundary, Clock};
use jiff::Timestamp;

use super::error::StageError;
use super::ttl::Ttl;

/// One reading of the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    at: Timestamp,
}

impl Moment {
    pub(crate) fn of(clock: &dyn Clock) -> Self {
        Self { at: clock.now() }
    }

    /// What reads and sweeps compare a deadline with: expired iff `deadline < cutoff`, strictly. Cut down to whole
    /// microseconds as the engine cuts its boundary, so that both agree to the microsecond.
    pub(crate) fn cutoff(self) -> i64 {
        Boundary::at(self.at).instant().as_microsecond()
    }

    /// In milliseconds, as `inserted_at` is kept.
    pub(crate) fn millis(self) -> i64 {
        self.at.as_millisecond()
    }

    /// The instant itself.
    pub(crate) fn instant(self) -> Timestamp {
        self.at
    }

    /// The first whole microsecond that is not before `self + ttl`; `None` for what lasts for ever.
    pub(crate) fn deadline(self, ttl: Ttl) -> Result<Option<i64>, StageError> {
        let Some(micros) = ttl.micros()? else { return Ok(None) };
        let floor = self.cutoff();
        let exact = i128::from(floor) * 1_000 == self.at.as_nanosecond();
        let start = if exact { floor } else { floor.saturating_add(1) };
        let deadline = start.checked_add(micros).filter(|at| Timestamp::from_microsecond(*at).is_ok());
        deadline.map(Some).ok_or_else(|| StageError::too_long(ttl))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bygone_core::ManualClock;

    use super::*;

    #[test]
    fn a_deadline_is_never_rounded_early() {
        let clock = ManualClock::at(Timestamp::new(1_700_000_000, 1).unwrap());
        let moment = Moment::of(&clock);
        assert_eq!(moment.cutoff(), 1_700_000_000_000_000);
        assert_eq!(moment.deadline(Ttl::For(Duration::ZERO)).unwrap(), Some(1_700_000_000_000_001));
        assert_eq!(moment.deadline(Ttl::For(Duration::from_nanos(1))).unwrap(), Some(1_700_000_000_000_002));
        assert_eq!(moment.deadline(Ttl::Forever).unwrap(), None);
    }

    #[test]
    fn a_ttl_beyond_all_time_is_refused() {
        let clock = ManualClock::at(Timestamp::UNIX_EPOCH);
        for ttl in [Duration::MAX, Duration::from_secs(400_000_000_000)] {
            let refused = Moment::of(&clock).deadline(Ttl::For(ttl));
            assert!(matches!(refused, Err(StageError::InvalidTtl { .. })), "{refused:?}");
        }
    }
}
