//! Staging areas, trees and prefixes, on real file systems.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]
#![expect(clippy::print_stdout, reason = "a random test tells its seed")]

mod tree;
