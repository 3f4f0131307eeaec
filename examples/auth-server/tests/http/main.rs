//! The real program, over real HTTP, with a client that has a real key.

#![cfg(test)] // which tells clippy that the helpers, too, may unwrap

mod client;
mod codes;
mod ending;
mod flow;
mod http;
mod logout;
mod proofs;
mod pushed;
mod rotation;
mod server;
mod sweeping;
