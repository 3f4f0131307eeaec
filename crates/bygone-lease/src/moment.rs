//! Instants in milliseconds, as records hold them.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::planted::{self, Bug};

/// Milliseconds since 1970, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(i64);

impl Moment {
    /// So many milliseconds after 1970 began.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970 began.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// This and `time` more; what no longer fits is the latest instant there is.
    #[must_use]
    pub fn plus(self, time: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long it is until `later`; nothing if that has passed.
    pub fn until(self, later: Self) -> Duration {
        Duration::from_millis(u64::try_from(later.0.saturating_sub(self.0)).unwrap_or(0))
    }

    /// As an instant of the calendar, where it has one.
    pub fn timestamp(self) -> Option<Timestamp> {
        Timestamp::from_millisecond(self.0).ok()
    }

    /// The one comparison: past its time is what ended before now, not what ends now.
    pub fn has_passed(self, now: Self) -> bool {
        self < now || (planted::is(Bug::EndsNow) && self == now)
    }
}

impl From<Timestamp> for Moment {
    /// Cut off to whole milliseconds, downwards.
    fn from(at: Timestamp) -> Self {
        let millis = at.as_nanosecond().div_euclid(1_000_000);
        Self(i64::try_from(millis).unwrap_or(if millis < 0 { i64::MIN } else { i64::MAX }))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.timestamp() {
            Some(at) => write!(f, "{at:.3}"),
            None => write!(f, "{} ms", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_now_has_not_passed() {
        let now = Moment::from_millis(1_000);
        assert!(!now.has_passed(now));
        assert!(Moment::from_millis(999).has_passed(now));
        assert!(!Moment::from_millis(1_001).has_passed(now));
    }

    #[test]
    fn instants_are_cut_down_never_up() {
        let moment = |nanos| Moment::from(Timestamp::from_nanosecond(nanos).unwrap()).millis();
        assert_eq!((moment(1_999_999), moment(2_000_000), moment(-1)), (1, 2, -1));
    }

    #[test]
    fn what_does_not_fit_is_the_end_of_time() {
        assert_eq!(Moment::from_millis(1).plus(Duration::MAX).millis(), i64::MAX);
        assert_eq!(Moment::from_millis(5).until(Moment::from_millis(3)), Duration::ZERO);
    }
}
