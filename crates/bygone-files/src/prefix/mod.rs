//! Objects of a bucket that are past their time.
//!
//! A [`Bucket`] is opened by its [`BucketUrl`] (`s3://`, `az://`, `gs://`); a [`PrefixPolicy`] says which of its objects are
//! bygone, by when they were last modified or by the date in their key. Bound together they are a [`PrefixTarget`], which
//! the engine sweeps.
//!
//! What can be promised depends on the store, and stores claim more than they do. So a sweep finds out: the first bygone
//! object is asked to go under a condition that cannot be met. A store that keeps it honours conditions, and from then on
//! an object goes only while it is still the one that was listed. A store that lets it go ignores them, and the report
//! says so.
//!
//! What the servers of the tests were found to do with a delete under a condition:
//!
//! | server | one by one | in bulk | an object that others removed first |
//! |---|---|---|---|
//! | SeaweedFS 4.48 | heeded | heeded, key by key | told apart |
//! | Azurite 3.35 (Azure) | heeded | not used: Azure counts each of a batch as a request of its own | told apart |
//! | moto 5.1.16 | ignored | ignored | not told: two sweepers may both count it |
//! | Google Cloud Storage | by generation; not tested, for want of a server | not used | told apart |
//!
//! - A prefix is a folder: `s3://bucket/logs` is what lies under `logs/`, and `logs2/x` is not.
//! - An object that is overwritten after it was listed stays. S3 compares contents (its ETag), so one that is
//!   overwritten with the very same bytes in that moment may still go; on Azure and Google every write counts.
//! - In a bucket with versions a delete only hides an object. That is said as a warning, and no bytes are claimed.
//!   Azure's soft delete, and versions on Google, cannot be seen from here.
//! - Keys that the client cannot name exactly (`a//b`, `/a`, ` a`) are never touched: they are counted as unreadable.
//! - Where keys sort by their date, a listing ends with the first that is not yet due. What comes behind it is not looked
//!   at, and not counted as unreadable either.
//! - Keys that end in `/` mark folders. They are left alone and not counted.

mod answers;
mod bucket;
mod error;
mod listing;
mod policy;
mod removal;
mod store;
mod target;
mod wire;

pub use bucket::{Bucket, Patience};
pub use bygone_objects::{BucketError, BucketUrl, Environment, Scheme};
pub use error::PrefixError;
pub use policy::{PrefixDeadline, PrefixPolicy};
pub use target::PrefixTarget;
