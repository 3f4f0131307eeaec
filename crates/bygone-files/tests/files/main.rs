//! Staging areas, trees and prefixes, on real file systems.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "tests fail by panicking and print their seeds"
)]

mod stage;
mod tree;
