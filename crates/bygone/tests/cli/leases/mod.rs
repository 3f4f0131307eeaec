//! `bygone lease`, `queue` and `txn`, and policies of kind "leases".

mod attachments;
mod bad_input;
mod bucket;
mod contention;
mod durable;
mod exec;
mod lease;
mod lost;
mod policy;
mod queue;
mod served;
mod shop;
mod txn;

pub(crate) use self::exec::UNTIL_GO;
pub(crate) use self::shop::{until, until_written};
