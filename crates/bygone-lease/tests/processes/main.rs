//! Real processes over one store: they are killed and paused at random, and nothing that they were told may turn out false.
//!
//! Workers are this very test binary, run again. They say on their standard output what the store has answered, and the
//! test holds it against the store. What is random comes from a seed, which is printed; the order in which processes
//! run does not, so a seed plays the same blows again, and not the same history.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests fail by panicking and print their seeds"
)]

mod books;
mod bucket;
mod crew;
mod disk;
mod examples;
mod ledger;
mod letters;
mod orders;
mod resource;
mod worker;

use bygone_core::{Clock, SystemClock};

/// From `BYGONE_TEST_SEED`, to see again what was seen before; otherwise a new one.
fn seed() -> u64 {
    let given = std::env::var("BYGONE_TEST_SEED").ok();
    let new = || u64::try_from(SystemClock::new().now().as_microsecond()).unwrap();
    let seed = given.map_or_else(new, |seed| seed.parse().unwrap());
    println!("BYGONE_TEST_SEED={seed}");
    seed
}
