//! Seeds, played: promises are kept in bad weather, and each bug that can be planted breaks one.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "tests fail by panicking, and print what they found"
)]

mod kept;
mod planted;
mod release;
