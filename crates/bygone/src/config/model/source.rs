//! Where items live, and what must be quiet there.

use std::path::PathBuf;

use bygone_sql::SourceUrl;
use jiff::SignedDuration;
use miette::SourceSpan;

use crate::config::url::Secret;

/// Where items live.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// The name by which policies call it.
    pub(crate) name: String,
    /// Where it is. The scheme is one of `postgres`, `postgresql`, `mysql`,
    /// `mariadb`, `s3`, `az`, `gs`, each followed by `://`, or `sqlite` or
    /// `file`, followed by `:`.
    pub(crate) url: Secret,
    /// What is behind the URL.
    pub(crate) place: Place,
    /// The schema that holds the tables.
    pub(crate) schema: Option<String>,
    /// What the names of its tables begin with, left out by policies.
    pub(crate) table_prefix: Option<String>,
    /// The longest that one statement may take: from 1 ms to 24 days.
    pub(crate) statement_timeout: Option<SignedDuration>,
    /// The longest that one statement may wait for a lock: from 1 ms to 24 days.
    pub(crate) lock_timeout: Option<SignedDuration>,
    /// What must be quiet for anything of it to be swept.
    pub(crate) gates: Gates,
    /// Where its URL stands.
    pub(crate) url_span: SourceSpan,
}

/// What must be quiet for anything of a source to be swept. All but the first
/// and the last are said only where the source is a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gates {
    /// While this file exists, nothing is swept: a path from the root on.
    pub(crate) hold_file: Option<PathBuf>,
    /// The most sessions of others that may be at work.
    pub(crate) active_sessions: Option<u64>,
    /// The most transactions of others in a second.
    pub(crate) transactions_per_second: Option<u64>,
    /// The farthest that replicas may be behind: at least 1 ms.
    pub(crate) replica_lag: Option<SignedDuration>,
    /// The replicas to ask, of the same kind as the source.
    pub(crate) replicas: Vec<SourceUrl>,
    /// For how long nobody must have used it: only of a lease store, at least 1 s.
    pub(crate) idle_grace: Option<SignedDuration>,
}

/// What kind of place a source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A database.
    Database,
    /// A directory.
    Directory,
    /// A bucket.
    Bucket,
}
