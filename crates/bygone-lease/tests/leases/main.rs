//! Stores, leases and state, on memory, disk and real object stores.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod blobs;
mod census;
mod conformance;
mod disk;
mod doubt;
mod fuzz;
mod holdings;
mod idle;
mod lease;
mod mortal;
mod proof;
mod queue;
mod replay;
mod requests;
mod retention;
mod shelf;
mod state;
mod stragglers;
mod sweep;
mod turn;
mod txn;
