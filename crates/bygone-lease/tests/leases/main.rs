//! Stores, leases and state, on memory, disk and real object stores.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "tests fail by panicking and print their seeds")]

mod blobs;
mod conformance;
mod disk;
mod doubt;
mod idle;
mod lease;
mod mortal;
mod proof;
mod queue;
mod replay;
mod requests;
mod retention;
mod shelf;
mod sim;
mod state;
mod sweep;
mod txn;
