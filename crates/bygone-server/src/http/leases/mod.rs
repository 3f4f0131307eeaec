//! Leases, queues and transactions over HTTP: what `bygone-lease` does, for programs in other languages.
//!
//! An operation comes to a [`Desk`], which lets nobody at a store who has not said in which namespace and with what right he
//! wants to work. What is large waits for [`Room`], or is streamed; what is counted is counted on the way out.

pub(super) mod attachment;
mod counted;
mod desk;
pub(super) mod lease;
mod problems;
pub(super) mod queue;
mod room;
pub(super) mod state;
pub(super) mod txn;

use std::time::Duration;

pub(super) use self::counted::count;
pub(super) use self::room::{LARGE_BODY, MESSAGE_BODY, Room, SMALL_BODY};

fn millis(time: Option<u64>) -> Option<Duration> {
    time.map(Duration::from_millis)
}
