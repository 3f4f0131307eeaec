//! The private servers of the benches, and what they have to do before a measurement.

pub(crate) mod mariadb;
pub(crate) mod postgres;
