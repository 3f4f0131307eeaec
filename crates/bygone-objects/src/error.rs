//! What can be wrong with a bucket's URL, before any request is made.

/// Why a bucket could not be opened. No message holds a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BucketError {
    /// The URL is not one of a bucket.
    #[error(
        "`{url}` is not the URL of a bucket: write s3://BUCKET/PREFIX, az://CONTAINER/PREFIX or gs://BUCKET/PREFIX"
    )]
    ReadUrl {
        /// The URL, without its parameters.
        url: String,
    },
    /// Somebody put a user or a password into the URL.
    #[error("the URL of the bucket holds credentials: take them out; they are read from the environment ({variables})")]
    KeepSecret {
        /// Where they belong.
        variables: &'static str,
    },
    /// A parameter of the URL that is not known there.
    #[error("`{parameter}` is not a parameter of {scheme}:// URLs, which are: {known}")]
    ReadParameter {
        /// The parameter.
        parameter: String,
        /// The URL's scheme.
        scheme: &'static str,
        /// The parameters that there are.
        known: String,
    },
    /// A parameter with a value that it cannot have.
    #[error("`{parameter}` cannot be `{value}`: {remedy}")]
    ReadValue {
        /// The parameter.
        parameter: &'static str,
        /// Its value.
        value: String,
        /// What it can be.
        remedy: &'static str,
    },
    /// A prefix that cannot be named exactly.
    #[error(
        "the prefix `{prefix}` cannot be named exactly: take out leading and doubled slashes, and blanks at its ends"
    )]
    NamePrefix {
        /// The prefix.
        prefix: String,
    },
    /// Something that the store needs stands neither in the URL nor in the environment.
    #[error("{scheme}:// needs {what}: {remedy}")]
    Find {
        /// The URL's scheme.
        scheme: &'static str,
        /// What is missing.
        what: &'static str,
        /// Where to put it.
        remedy: &'static str,
    },
    /// The client refused what it was given.
    #[error("the bucket {url} cannot be opened: {reason}")]
    Open {
        /// The bucket.
        url: String,
        /// Why, in the client's words.
        reason: String,
    },
}
