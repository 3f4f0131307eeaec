//! The daemon, over things in memory and a real ledger.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod daemon;
mod http;
mod ledger;
mod shelves;
mod watch;
