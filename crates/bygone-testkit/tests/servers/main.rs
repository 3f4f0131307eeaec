//! The kit's own promises, kept by real servers: databases apart, passwords checked, crashes
//! survived, and nothing left behind however the owner ends.

#![cfg(test)] // which tells clippy that the helpers, too, may unwrap

mod child;
mod crash;
mod engines;
mod settings;
mod sqlite;
mod stores;
