//! Where chance begins.

use bygone_core::Clock;

/// The variable that repeats a run: the seed that a failing test printed.
const VARIABLE: &str = "BYGONE_SEED";

/// A seed that is another one in every run, unless somebody asks for an old one.
pub(crate) fn seed(clock: &dyn Clock) -> u64 {
    match std::env::var(VARIABLE) {
        Ok(text) => text.parse().unwrap_or_else(|error| panic!("{VARIABLE}={text}: {error}")),
        Err(_) => u64::try_from(clock.now().as_nanosecond().rem_euclid(i128::from(u32::MAX))).unwrap_or(0),
    }
}
