//! Chance, injected: identifiers and jitter come from here, so that a simulation can be played again.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use rand::Rng;

/// Where random numbers come from.
pub trait Chance: fmt::Debug + Send + Sync {
    /// Sixty-four random bits.
    fn bits(&self) -> u64;
}

/// A generator of each thread, sown by the machine. To ask the machine itself each time was a tenth of what a busy store did.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemChance;

impl Chance for SystemChance {
    /// Ends the program where the machine has none: without it, two writes could take each other for themselves.
    #[expect(clippy::disallowed_methods, reason = "this is the home of chance")]
    fn bits(&self) -> u64 {
        rand::rng().next_u64()
    }
}

/// The same numbers for the same seed, for tests and simulations. Nobody who could guess them may gain by it.
#[derive(Debug)]
pub struct SeededChance(Mutex<u64>);

impl SeededChance {
    /// Begins at a seed.
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(seed))
    }
}

impl Chance for SeededChance {
    /// `SplitMix64`.
    fn bits(&self) -> u64 {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = *state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

/// A number between a half and one: those who failed together should not come back together.
pub(crate) fn jitter(chance: &dyn Chance) -> f64 {
    let part = u32::try_from(chance.bits() >> 40).unwrap_or(0);
    0.5 + f64::from(part) / f64::from(1 << 25)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_says_it_all() {
        let draw = |seed| {
            let chance = SeededChance::new(seed);
            [chance.bits(), chance.bits(), chance.bits()]
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn jitter_is_at_least_a_half_and_less_than_one() {
        let chance = SeededChance::new(1);
        for _ in 0..10_000 {
            assert!((0.5..1.0).contains(&jitter(&chance)));
        }
    }
}
