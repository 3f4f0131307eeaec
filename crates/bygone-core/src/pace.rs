//! The page size, following the time that pages take.
//!
//! How many rows fit into 50 ms depends on indexes, disks and neighbours, and changes while a sweep runs. So the
//! size is never a constant: it grows while pages are quick and shrinks at once when one is slow.

use std::time::Duration;

use crate::Budget;

/// The first page of a policy: small enough to be harmless anywhere, large enough to learn from.
const START: u64 = 1_000;
/// A page never shrinks below this by time alone; only a failing one goes further down.
const FLOOR: u64 = 20;
/// Pages aim at this share of the page time, so that the slow ones among them still keep to it.
const AIM: f64 = 0.45;
/// A page may grow by no more than this from one to the next: a quick page may have been a lucky one.
const GROWTH_MAX: f64 = 8.0;

#[derive(Debug)]
pub(crate) struct Pace {
    limit: u64,
    floor: u64,
    ceiling: u64,
    aim: Duration,
}

impl Pace {
    pub(crate) fn new(budget: &Budget, page_items_max: u64) -> Self {
        let ceiling = budget.page_items_max.min(page_items_max).max(1);
        Self { limit: START.min(ceiling), floor: FLOOR.min(ceiling), ceiling, aim: budget.page_time.mul_f64(AIM) }
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Learns from a page that was allowed `limit` items and took `time`.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "page sizes are small and positive, and the result is clamped"
    )]
    pub(crate) fn learn(&mut self, limit: u64, time: Duration) {
        let factor = self.aim.as_secs_f64() / time.as_secs_f64().max(1e-6);
        // Down at once. Up by leaps while far from the aim, by halves near it: there, oscillation costs more than a page
        // that is a little small.
        let factor = match factor {
            down if down <= 1.0 => down,
            near if near < GROWTH_MAX => f64::midpoint(near, 1.0),
            _ => GROWTH_MAX,
        };
        let next = limit as f64 * factor;
        self.limit = (next as u64).clamp(self.floor, self.ceiling);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs pages at a fixed cost per item and returns the time of each.
    fn times(budget: &Budget, cost: Duration, pages: usize) -> Vec<Duration> {
        let mut pace = Pace::new(budget, u64::MAX);
        let mut out = Vec::new();
        for _ in 0..pages {
            let time = cost * u32::try_from(pace.limit()).unwrap();
            out.push(time);
            pace.learn(pace.limit(), time);
        }
        out
    }

    #[test]
    fn it_settles_within_the_page_time_and_near_it() {
        let budget = Budget::default();
        for cost in [Duration::from_nanos(700), Duration::from_micros(10), Duration::from_micros(60)] {
            let settled = &times(&budget, cost, 40)[20..];
            for time in settled {
                assert!(*time <= budget.page_time, "{time:?} at {cost:?} each");
                assert!(*time >= budget.page_time.mul_f64(0.4), "{time:?} at {cost:?} each");
            }
        }
    }

    #[test]
    fn a_slow_page_shrinks_the_next_at_once() {
        let mut pace = Pace::new(&Budget::default(), u64::MAX);
        pace.learn(1_000, Duration::from_secs(1));
        assert_eq!(pace.limit(), 22);
    }

    #[test]
    fn a_quick_page_is_followed_by_a_larger_one_within_reason() {
        // The aim is 22.5 ms.
        let next = |nanos| {
            let mut pace = Pace::new(&Budget::default(), u64::MAX);
            pace.learn(1_000, Duration::from_nanos(nanos));
            pace.limit()
        };
        assert_eq!(next(22_500_000), 1_000, "as it should be");
        assert_eq!(next(5_625_000), 2_500, "half of the way to four times as much");
        assert_eq!(next(2_812_500), 8_000, "eight times as quick");
        assert_eq!(next(0), 8_000, "no leap is larger");
    }

    #[test]
    fn the_limits_hold() {
        let budget = Budget { page_items_max: 7, ..Budget::default() };
        let mut pace = Pace::new(&budget, u64::MAX);
        assert_eq!(pace.limit(), 7);
        pace.learn(7, Duration::from_nanos(1));
        assert_eq!(pace.limit(), 7);
        pace.learn(7, Duration::from_hours(1));
        assert_eq!(pace.limit(), 7, "the floor never lies over the ceiling");
    }
}
