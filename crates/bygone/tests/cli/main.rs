//! The program as its users meet it: real databases, exit codes, standard output and standard error, and always the
//! rows that are left.

#![cfg(test)] // which tells clippy that the helpers, too, may unwrap

mod api;
mod bad_input;
mod clock;
mod console;
mod crash;
mod daemons;
mod dashboards;
mod faults;
mod files;
mod gates;
mod hostile;
mod leases;
mod ledger;
mod log;
mod memory;
mod openapi;
#[cfg(feature = "otlp")]
mod otlp;
mod packaging;
mod packs;
mod plan_writes_nothing;
mod remote;
mod serve;
mod signals;
mod sources;
mod support;
mod terminal;
mod times;
mod verbs;
