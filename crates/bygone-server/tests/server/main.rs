//! The daemon, over things in memory and a real ledger.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod console;
mod daemon;
mod http;
mod jobs;
mod ledger;
mod looks;
mod shelves;
mod watch;
