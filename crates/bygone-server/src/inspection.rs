//! What a look at a source tells people: what it holds, what ends next, and what nobody looks after.
//!
//! Looking is no sweep: it writes nothing, and it is bounded. Where a bound cut it off, `more` says so, and the numbers are
//! the least there is.

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// What kind of place a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SourceKind {
    /// A database.
    Database,
    /// A directory tree.
    Directory,
    /// A bucket.
    Bucket,
    /// A lease store, in a directory or a bucket.
    LeaseStore,
    /// A staging area.
    StagingArea,
}

impl SourceKind {
    /// The word for it, for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Database => "database",
            Self::Directory => "directory",
            Self::Bucket => "bucket",
            Self::LeaseStore => "lease store",
            Self::StagingArea => "staging area",
        }
    }
}

/// What a look at a source tells. What its kind has nothing to say about is null.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Inspection {
    /// What a lease store holds.
    pub leases: Option<LeaseInspection>,
    /// What a staging area holds.
    pub staged: Option<StageInspection>,
    /// What of a database has policies.
    pub coverage: Option<Coverage>,
}

/// What a lease store holds, as its index tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct LeaseInspection {
    /// Leases by namespace.
    pub namespaces: Vec<NamespaceLeases>,
    /// Whether there are further namespaces.
    pub more: bool,
    /// When the leases that live end, hour by hour, from the hour of the look on.
    pub hours: Vec<EndingHour>,
}

/// The leases of a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct NamespaceLeases {
    /// Its name.
    pub namespace: String,
    /// Leases that live.
    pub live: u64,
    /// Leases that are over and not yet swept.
    pub expired: u64,
    /// Whether there may be more than was looked at.
    pub more: bool,
}

/// What ends within an hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct EndingHour {
    /// When the hour begins.
    #[schema(value_type = String, format = DateTime)]
    pub begins: Timestamp,
    /// How many leases end within it, unless they are extended.
    pub ending: u64,
    /// Whether there may be more than was looked at.
    pub more: bool,
}

/// What a staging area holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct StageInspection {
    /// Everything, swept or not.
    pub total: Amount,
    /// What stays until somebody removes it by name.
    pub persistent: Amount,
    /// All other files.
    pub expirable: Amount,
    /// What ends next, the soonest first.
    pub next: Vec<StagedFile>,
    /// Whether further files end some time.
    pub more: bool,
}

/// So many files of so many bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Amount {
    /// Files.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A staged file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct StagedFile {
    /// The SHA-256 of its content.
    pub id: String,
    /// Its name.
    pub name: String,
    /// How long it is.
    pub bytes: u64,
    /// When it ends.
    #[schema(value_type = String, format = DateTime)]
    pub deadline: Timestamp,
    /// Whether somebody holds it beyond that.
    pub held: bool,
}

/// What of a database expires and has no policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Coverage {
    /// How many tables there are.
    pub tables: u64,
    /// Those that look as if they expire, and have no policy: once for each column that says so.
    pub uncovered: Vec<UncoveredTable>,
}

/// A table that looks as if it expires, and has no policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct UncoveredTable {
    /// Its name, without the source's prefix.
    pub table: String,
    /// The column that says when a row is over.
    pub column: String,
    /// The index that leads to rows by that column; null if none does.
    pub index: Option<String>,
    /// How many rows it holds, as the statistics say; null where nobody counted.
    pub rows: Option<u64>,
    /// A policy to begin with, as it would stand in `bygone.toml`.
    pub proposal: String,
}

/// How a policy would go about its work, and what somebody should know before it does. Nothing is counted for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Explanation {
    /// The table, the directory, or the bucket with its prefix.
    pub place: String,
    /// The way through the items, in a word; null where none was chosen.
    pub walk: Option<String>,
    /// Why that way.
    pub why: Option<String>,
    /// The index in use.
    pub index: Option<String>,
    /// The statements of a page.
    pub statements: Vec<String>,
    /// What somebody should know first.
    pub findings: Vec<Finding>,
}

/// Something that somebody should look at although a sweep would run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Finding {
    /// Its kind, to look up.
    pub code: String,
    /// What it is.
    pub message: String,
    /// What to do about it.
    pub help: String,
}
