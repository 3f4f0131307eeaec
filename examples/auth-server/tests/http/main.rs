//! The real program, over real HTTP, with a client that has a real key.

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
