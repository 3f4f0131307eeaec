//! The private servers of the benches, and what they have to do before a measurement.

pub(crate) mod etcd;
pub(crate) mod mariadb;
mod packages;
pub(crate) mod postgres;
pub(crate) mod redis;
