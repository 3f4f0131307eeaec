//! How much of the time pages may take while others are at work in the source, and who knows whether they are.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

/// The least share: one that is smaller would rest for hours and call it sweeping.
const SHARE_MIN: f64 = 0.01;
/// No rest is longer. A page that took so much longer than it should was waiting, rather than at work.
const REST_MAX: Duration = Duration::from_secs(10);

/// The share of the time that the pages of one worker may take while others are at work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Duty(f64);

impl Duty {
    /// All of it: a page follows the other.
    pub const FULL: Self = Self(1.0);

    /// This share: 0.01 to 1.
    pub fn of(share: f64) -> Option<Self> {
        (SHARE_MIN..=1.0).contains(&share).then_some(Self(share))
    }

    pub(crate) fn is_full(self) -> bool {
        self.0 >= 1.0
    }

    /// The rest that is owed for a page that took so long.
    pub(crate) fn rest_after(self, page: Duration) -> Duration {
        page.min(REST_MAX).mul_f64(self.0.recip() - 1.0).min(REST_MAX)
    }
}

/// Whoever else works in a source.
///
/// Asked between pages of a run that may not take all of the time. Like a gate it should not ask somebody else for every
/// page, and may remember an answer for a moment.
#[async_trait]
pub trait Neighbours: fmt::Debug + Send + Sync {
    /// Whether there are any. What cannot be told counts as yes.
    async fn are_at_work(&self) -> bool;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_of_the_time_rests_four_times_as_long_as_it_works() {
        let fifth = Duty::of(0.2).unwrap();
        assert_eq!(fifth.rest_after(Duration::from_millis(10)), Duration::from_millis(40));
        assert_eq!(Duty::FULL.rest_after(Duration::from_millis(10)), Duration::ZERO);
        assert!(Duty::FULL.is_full() && !fifth.is_full());
    }

    #[test]
    fn no_rest_is_longer_than_ten_seconds() {
        assert_eq!(Duty::of(0.01).unwrap().rest_after(Duration::MAX), REST_MAX);
        assert_eq!(Duty::of(0.5).unwrap().rest_after(Duration::from_secs(9)), Duration::from_secs(9));
    }

    #[test]
    fn shares_lie_between_a_hundredth_and_all() {
        for share in [0.0, 0.009, 1.001, -0.5, f64::NAN, f64::INFINITY] {
            assert_eq!(Duty::of(share), None, "{share}");
        }
        assert!(Duty::of(0.01).is_some());
        assert_eq!(Duty::of(1.0), Some(Duty::FULL));
    }
}
