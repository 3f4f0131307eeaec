//! The instant that an item carries: one of the times which the file system keeps of it, to the nanosecond.

use jiff::Timestamp;
use rustix::fs::{Statx, StatxFlags, StatxTimestamp};

/// Which stamp of a file is its deadline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Age {
    /// The last change of its content.
    #[default]
    Modified,
    /// The last read of its content, as exact as the file system's mount keeps it.
    Accessed,
    /// The last change of its content, name, owner or mode.
    Changed,
    /// Its creation. Where the file system does not keep it, items are unreadable and stay.
    Born,
}

impl Age {
    /// What must be asked for to read the stamp.
    pub(crate) fn mask(self) -> StatxFlags {
        match self {
            Self::Modified => StatxFlags::MTIME,
            Self::Accessed => StatxFlags::ATIME,
            Self::Changed => StatxFlags::CTIME,
            Self::Born => StatxFlags::BTIME,
        }
    }

    /// The stamp, or `None` where the file system has none. The one place where an item gets its deadline.
    pub(crate) fn stamp(self, statx: &Statx) -> Option<Stamp> {
        if statx.stx_mask & self.mask().bits() == 0 {
            return None;
        }
        Some(Stamp::of(match self {
            Self::Modified => statx.stx_mtime,
            Self::Accessed => statx.stx_atime,
            Self::Changed => statx.stx_ctime,
            Self::Born => statx.stx_btime,
        }))
    }
}

/// Nanoseconds since 1970. File systems reach further than a `Timestamp`, and comparing must not cut anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Stamp(pub(crate) i128);

impl Stamp {
    pub(crate) fn of(time: StatxTimestamp) -> Self {
        Self(i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec))
    }

    /// The instant, or the nearest one that a report can show.
    pub(crate) fn timestamp(self) -> Timestamp {
        let nearest = if self.0 < 0 { Timestamp::MIN } else { Timestamp::MAX };
        Timestamp::from_nanosecond(self.0).unwrap_or(nearest)
    }
}

impl From<Timestamp> for Stamp {
    fn from(at: Timestamp) -> Self {
        Self(at.as_nanosecond())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_keeps_its_nanoseconds_also_before_1970() {
        for text in ["2026-11-15T12:00:00.123456789Z", "1969-12-31T23:59:59.999999999Z"] {
            let at: Timestamp = text.parse().unwrap();
            assert_eq!(Stamp::from(at).timestamp(), at);
        }
    }

    #[test]
    fn what_no_report_can_show_is_shown_as_the_nearest() {
        assert_eq!(Stamp(i128::MAX).timestamp(), Timestamp::MAX);
        assert_eq!(Stamp(i128::MIN).timestamp(), Timestamp::MIN);
    }
}
