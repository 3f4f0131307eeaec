//! The one instant a sweep compares with.
//!
//! Two clocks know of every item: ours and that of its source. The boundary is the *earlier* of the two, so that
//! an item which either of them holds to be alive is never removed; clocks that are far apart are refused, since
//! one of them is wrong and nobody can say which.

use jiff::{SignedDuration, Timestamp};

/// The instant captured once per sweep. An item is bygone iff `deadline + keep < boundary`, strictly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Boundary(Timestamp);

impl Boundary {
    /// A boundary at `at`, cut to whole microseconds (downwards: the earlier instant removes less).
    pub fn at(at: Timestamp) -> Self {
        let micros = at.as_nanosecond().div_euclid(1_000);
        let floor = i64::try_from(micros).ok().and_then(|us| Timestamp::from_microsecond(us).ok());
        // Only the first microsecond of the year -9999 has no floor; there is nothing to remove there.
        Self(floor.unwrap_or(Timestamp::MIN))
    }

    /// The earlier of our own clock and every source's.
    pub fn earliest(own: Timestamp, sources: impl IntoIterator<Item = Timestamp>) -> Self {
        Self::at(sources.into_iter().fold(own, Timestamp::min))
    }

    /// The instant itself.
    pub fn instant(self) -> Timestamp {
        self.0
    }

    /// `boundary - keep`: a deadline strictly before it is bygone. `None` when that lies before all time, where
    /// nothing can be bygone.
    pub fn cutoff(self, keep: SignedDuration) -> Option<Timestamp> {
        self.0.checked_sub(keep).ok()
    }

    /// The law itself: `deadline + keep < boundary`, strictly.
    pub fn passed(self, deadline: Timestamp, keep: SignedDuration) -> bool {
        self.cutoff(keep).is_some_and(|cutoff| deadline < cutoff)
    }
}

/// One reading of a source's clock, between two readings of our own.
#[derive(Clone, Copy, Debug)]
pub struct ClockReading {
    /// Our clock just before asking.
    pub before: Timestamp,
    /// What the source answered.
    pub source: Timestamp,
    /// Our clock just after the answer came.
    pub after: Timestamp,
}

/// The two clocks are too far apart to trust either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the source's clock is {:#} {} ours, over the limit of {limit:#}", .skew.abs(), if .skew.is_negative() { "behind" } else { "ahead of" })]
pub struct Skewed {
    /// The source's clock less ours.
    pub skew: SignedDuration,
    /// The limit that it broke.
    pub limit: SignedDuration,
}

impl ClockReading {
    /// How far the source's clock surely is from ours: zero while it falls between the two own readings, since
    /// the time on the wire explains the rest.
    pub fn skew(&self) -> SignedDuration {
        if self.source < self.before {
            self.source.duration_since(self.before)
        } else if self.source > self.after {
            self.source.duration_since(self.after)
        } else {
            SignedDuration::ZERO
        }
    }

    /// The source's time, or a refusal when the clocks are more than `limit` apart.
    pub fn checked(&self, limit: SignedDuration) -> Result<Timestamp, Skewed> {
        let skew = self.skew();
        if skew.abs() > limit { Err(Skewed { skew, limit }) } else { Ok(self.source) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ts(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn equal_to_the_boundary_is_not_bygone() {
        let boundary = Boundary::at(ts("2026-11-15T12:00:00Z"));
        let keep = SignedDuration::from_hours(1);
        assert!(!boundary.passed(ts("2026-11-15T11:00:00Z"), keep));
        assert!(boundary.passed(ts("2026-11-15T10:59:59.999999Z"), keep));
        assert!(!boundary.passed(ts("2026-11-15T11:00:00.000001Z"), keep));
    }

    #[test]
    fn nanoseconds_are_cut_downwards_also_before_1970() {
        assert_eq!(Boundary::at(ts("2026-11-15T12:00:00.123456789Z")).instant(), ts("2026-11-15T12:00:00.123456Z"));
        assert_eq!(Boundary::at(ts("1969-12-31T23:59:59.123456789Z")).instant(), ts("1969-12-31T23:59:59.123456Z"));
    }

    #[test]
    fn the_earlier_clock_wins_whichever_it_is() {
        let (own, source) = (ts("2026-11-15T12:00:00Z"), ts("2026-11-15T11:59:58Z"));
        assert_eq!(Boundary::earliest(own, [source]).instant(), source);
        assert_eq!(Boundary::earliest(source, [own]).instant(), source);
        assert_eq!(Boundary::earliest(own, []).instant(), own);
    }

    #[test]
    fn a_keep_longer_than_all_time_removes_nothing() {
        let boundary = Boundary::at(ts("2026-11-15T12:00:00Z"));
        assert_eq!(boundary.cutoff(SignedDuration::MAX), None);
        assert!(!boundary.passed(Timestamp::MIN, SignedDuration::MAX));
    }

    #[test]
    fn skew_counts_only_beyond_the_round_trip() {
        let reading = |source: &str| ClockReading {
            before: ts("2026-11-15T12:00:00Z"),
            source: ts(source),
            after: ts("2026-11-15T12:00:10Z"),
        };
        let limit = SignedDuration::from_secs(60);
        assert_eq!(reading("2026-11-15T12:00:07Z").skew(), SignedDuration::ZERO);
        assert!(reading("2026-11-15T12:01:10Z").checked(limit).is_ok());
        let ahead = reading("2026-11-15T12:01:11Z").checked(limit).unwrap_err();
        assert_eq!(ahead.to_string(), "the source's clock is 1m 1s ahead of ours, over the limit of 1m");
        let behind = reading("2026-11-15T11:58:00Z").checked(limit).unwrap_err();
        assert_eq!(behind.to_string(), "the source's clock is 2m behind ours, over the limit of 1m");
    }
}
