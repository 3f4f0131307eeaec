//! The program as its users meet it: real databases, exit codes, standard output and standard error, and always the
//! rows that are left.

#![cfg(test)] // which tells clippy that the helpers, too, may unwrap

mod api;
mod bad_input;
mod clock;
mod crash;
mod files;
mod gates;
mod leases;
mod memory;
mod packs;
mod plan_writes_nothing;
mod serve;
mod signals;
mod support;
mod terminal;
mod times;
mod verbs;
