//! A daemon, asked over HTTP: what the verbs that need one have in common.
//!
//! A daemon and what it serves have one address each, in one spelling: `http://HOST:PORT…`, `https://HOST:PORT…`, or
//! `unix:/SOCKET` with the path behind another colon. The token stands in the environment, never on the command line.

mod address;
mod client;
mod token;
mod trouble;

pub(crate) use self::address::{Address, Service};
pub(crate) use self::client::{Again, Client, whole};
pub(crate) use self::trouble::Trouble;
