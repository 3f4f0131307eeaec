//! Chance out of a seed.

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

pub(crate) struct Chance(StdRng);

impl Chance {
    /// The chance of one case: the same for the same seed and number, whatever came before.
    pub(crate) fn of(seed: u64, number: u64) -> Self {
        Self(StdRng::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number)))
    }

    pub(crate) fn percent(&mut self, percent: u32) -> bool {
        self.0.random_range(0..100) < percent
    }

    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        self.0.random_range(low..=high)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    pub(crate) fn bits(&mut self) -> u128 {
        self.0.random()
    }

    pub(crate) fn shuffle<T>(&mut self, all: &mut [T]) {
        for at in (1..all.len()).rev() {
            let other = self.below(at + 1);
            all.swap(at, other);
        }
    }
}
