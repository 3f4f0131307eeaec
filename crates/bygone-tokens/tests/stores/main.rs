//! The stores on real databases: each credential is good as long and as often as it should be, swept or not.

#![cfg(test)] // which tells clippy that the helpers, too, may unwrap

mod boundary;
mod client_metadata;
mod codes;
mod decisions;
mod invariance;
mod logout;
mod migration;
mod promises;
mod refresh;
mod secrets;
mod single_use;
mod sweeper;
mod world;
