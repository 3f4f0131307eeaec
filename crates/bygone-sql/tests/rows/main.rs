//! Rows in real databases: what is bygone goes, everything else stays, whatever the types, the names, the walk and
//! the neighbours.

#![cfg(test)] // which tells clippy that the helpers, too, may unwrap

mod binding;
mod client;
mod conformance;
mod deadlines;
mod family;
mod faults;
mod fuzz;
mod load;
mod names;
mod recovery;
mod settings;
mod survey;
mod ties;
mod tls;
mod torture;
mod turn;
mod walks;
mod workers;
mod world;
