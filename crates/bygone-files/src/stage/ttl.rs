//! How long an attachment lives, counted from when it was staged or last touched.

use std::fmt;
use std::time::Duration;

use super::error::StageError;

/// A lifetime. "For ever" is a variant of its own and no magic number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ttl {
    /// So long. Zero is allowed: such an attachment is past its time a microsecond later.
    For(Duration),
    /// It does not expire.
    Forever,
}

impl Ttl {
    /// The longer of the two: a restage stretches, and never shortens.
    pub(crate) fn stretched(self, other: Self) -> Self {
        self.max(other)
    }

    /// In whole microseconds, rounded up.
    pub(crate) fn micros(self) -> Result<Option<i64>, StageError> {
        let Self::For(time) = self else { return Ok(None) };
        i64::try_from(time.as_nanos().div_ceil(1_000)).map(Some).map_err(|_| StageError::too_long(self))
    }

    /// The lifetime that the manifest keeps as so many microseconds.
    pub(crate) fn of_micros(micros: Option<u64>) -> Self {
        micros.map_or(Self::Forever, |micros| Self::For(Duration::from_micros(micros)))
    }
}

impl From<Duration> for Ttl {
    fn from(time: Duration) -> Self {
        Self::For(time)
    }
}

impl fmt::Display for Ttl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::For(time) => fmt::Debug::fmt(time, f),
            Self::Forever => f.write_str("forever"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_one_wins_and_for_ever_is_longest() {
        let (short, long) = (Ttl::For(Duration::from_secs(1)), Ttl::For(Duration::from_secs(2)));
        assert_eq!(short.stretched(long), long);
        assert_eq!(long.stretched(short), long);
        assert_eq!(Ttl::For(Duration::MAX).stretched(Ttl::Forever), Ttl::Forever);
        assert_eq!(Ttl::Forever.stretched(short), Ttl::Forever);
    }
}
