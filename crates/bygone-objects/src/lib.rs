//! The way to a bucket.
//!
//! A [`BucketUrl`] (`s3://`, `az://`, `gs://`) says where it is, an [`Environment`] how to be let in; together they are an
//! [`Access`], which opens the client for a prefix of it. What is then asked of the bucket, and how often, is the business
//! of those who ask: nothing here is sent twice, and nothing is sent at opening.

mod access;
mod environment;
mod error;
mod url;

pub use access::{Access, plain_transport};
pub use environment::Environment;
pub use error::BucketError;
pub use url::{BucketUrl, Scheme, folder, is_nameable};
