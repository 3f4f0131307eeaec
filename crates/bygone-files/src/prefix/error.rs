//! What can be wrong with a bucket or a policy, before any request is made.

use bygone_core::{ErrorKind, TargetError};
use bygone_objects::BucketError;

/// Why a bucket could not be opened or a policy not bound to it. No message holds a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrefixError {
    /// The bucket.
    #[error(transparent)]
    Bucket(#[from] BucketError),
    /// A glob of the policy.
    #[error("`{glob}` is not a glob")]
    ReadGlob {
        /// The glob.
        glob: String,
        /// The key of the policy that it stands under.
        key: &'static str,
        /// What is wrong with it.
        #[source]
        source: globset::Error,
    },
    /// A policy that keeps things for less than no time.
    #[error("the policy keeps objects for {keep:#}: a time to keep is not negative")]
    Keep {
        /// The time.
        keep: jiff::SignedDuration,
    },
}

impl From<PrefixError> for TargetError {
    fn from(error: PrefixError) -> Self {
        let key = match &error {
            PrefixError::ReadGlob { key, .. } => key,
            PrefixError::Bucket(BucketError::NamePrefix { .. }) => "path",
            PrefixError::Keep { .. } => "keep",
            _ => "source",
        };
        Self::new(ErrorKind::Unfit, error.to_string()).about(key).with_source(error)
    }
}
