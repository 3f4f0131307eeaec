//! Staging areas over HTTP, over real directories.

mod files;
mod refused;
mod rights;
mod uploads;
mod yard;

pub(crate) use yard::Areas;
