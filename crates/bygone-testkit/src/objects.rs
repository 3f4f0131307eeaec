//! Object stores for tests: real servers, and buckets of a test's own on them.
//!
//! What a test puts there and finds there goes by a client of the kit, which shares nothing with the code under test but
//! the rules of how requests are signed.

mod azurite;
mod bucket;
mod moto;
mod seaweed;
mod signed;

pub use azurite::{Azurite, AzuriteService};
pub use bucket::TestBucket;
pub use moto::{Moto, MotoService};
pub use seaweed::{SeaweedFs, SeaweedFsService};
