//! The bare statements by the bare driver, as somebody writes them who knows what to do: values bound, statements kept
//! prepared, a connection for each worker. No secret is made, nothing is hashed, no document is written or read.

pub(super) mod mariadb;
pub(super) mod postgres;
pub(super) mod sqlite;
