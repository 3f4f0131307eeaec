//! Stores, leases and state, on memory, disk and real object stores.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod conformance;
mod disk;
mod doubt;
mod lease;
mod proof;
mod requests;
mod shelf;
mod state;
mod sweep;
mod txn;
