//! Stores, leases and state, on memory, disk and real object stores.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests fail by panicking and print their seeds")]

mod blobs;
mod conformance;
mod disk;
mod doubt;
mod lease;
mod mortal;
mod proof;
mod queue;
mod requests;
mod shelf;
mod sim;
mod state;
mod sweep;
mod txn;
