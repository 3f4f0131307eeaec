//! Chance from a seed: the same faults in the same order, on every run of one seed.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::noise::noise;

/// A stream of draws.
#[derive(Clone, Debug)]
pub(super) struct Chance {
    seed: u64,
    drawn: u64,
}

impl Chance {
    /// The stream of a seed with this number: streams of one seed have nothing to do with each other.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        Self { seed: low(noise(seed ^ stream.rotate_left(32))), drawn: 0 }
    }

    /// A number below `bound`; zero where that is.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.drawn += 1;
        low(noise(self.seed.wrapping_add(self.drawn))) % bound.max(1)
    }

    /// True once in so many times.
    pub(super) fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// A time between two, in milliseconds.
    pub(super) fn time(&mut self, range: RangeInclusive<Duration>) -> Duration {
        let millis = |time: &Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (from, to) = (millis(range.start()), millis(range.end()));
        Duration::from_millis(from + self.below(to.saturating_sub(from) + 1))
    }

    /// One of several.
    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        let at = self.below(u64::try_from(of.len()).unwrap_or(u64::MAX));
        usize::try_from(at).ok().and_then(|at| of.get(at).copied())
    }
}

fn low(noise: u128) -> u64 {
    u64::try_from(noise & u128::from(u64::MAX)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_again_and_streams_differ() {
        let draw = |seed, stream| {
            let mut chance = Chance::new(seed, stream);
            (0..8).map(|_| chance.below(1_000)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
    }

    #[test]
    fn times_lie_between_their_ends() {
        let mut chance = Chance::new(7, 0);
        let (from, to) = (Duration::from_millis(10), Duration::from_millis(20));
        let times: Vec<_> = (0..200).map(|_| chance.time(from..=to)).collect();
        assert!(times.iter().all(|time| (from..=to).contains(time)));
        assert!(times.contains(&from) && times.contains(&to));
        assert_eq!(chance.pick::<u8>(&[]), None);
    }
}
