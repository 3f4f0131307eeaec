//! Policies over directories, buckets, staging areas and lease stores.

use jiff::SignedDuration;

/// Which files of a directory tree are past their time.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    /// The directory below the source's, if not all of it.
    pub(crate) path: Option<String>,
    /// Where a file's deadline stands.
    pub(crate) deadline: FileDeadline,
    /// How long a file stays after its deadline. Without it, at least one of
    /// the limits is there.
    pub(crate) keep: Option<SignedDuration>,
    /// Which paths are meant, as globs; without any, all.
    pub(crate) include: Vec<String>,
    /// Which paths are not meant, as globs.
    pub(crate) exclude: Vec<String>,
    /// How deep an entry must lie to go: 1 is in the directory itself.
    pub(crate) min_depth: u32,
    /// Whether empty directories go, too.
    pub(crate) empty_dirs: bool,
    /// The most bytes that stay: the oldest files go first.
    pub(crate) max_bytes: Option<u64>,
    /// The most files that stay: the oldest go first.
    pub(crate) max_count: Option<u64>,
    /// The least bytes that the file system has free: the oldest files go
    /// first.
    pub(crate) min_free: Option<u64>,
}

/// Where a file's deadline stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileDeadline {
    /// When it was written last.
    Modified,
    /// When it was read last.
    Accessed,
    /// When it, its name or its rights changed last.
    Changed,
    /// When it was made.
    Born,
    /// In its path.
    Key(KeyDate),
}

/// A date within a path or key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyDate {
    /// The pattern.
    pub(crate) pattern: String,
    /// The IANA name of the zone of the dates, if said.
    pub(crate) zone: Option<String>,
}

/// Which objects of a bucket are past their time.
#[derive(Debug, Clone)]
pub(crate) struct Prefix {
    /// What the keys begin with, behind what the source's url says.
    pub(crate) path: Option<String>,
    /// Where an object's deadline stands.
    pub(crate) deadline: ObjectDeadline,
    /// How long an object stays after its deadline.
    pub(crate) keep: SignedDuration,
    /// Which keys are meant, as globs; without any, all.
    pub(crate) include: Vec<String>,
    /// Which keys are not meant, as globs.
    pub(crate) exclude: Vec<String>,
}

/// Where an object's deadline stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ObjectDeadline {
    /// When it was written last.
    Modified,
    /// In its key.
    Key(KeyDate),
}

/// Which files of a staging area are past their time: the area knows.
#[derive(Debug, Clone)]
pub(crate) struct Stage {
    /// How long a file stays after its deadline.
    pub(crate) keep: SignedDuration,
    /// The most bytes that the daemon lets the area hold.
    pub(crate) max_bytes: Option<u64>,
    /// The most files that it lets it hold.
    pub(crate) max_count: Option<u64>,
    /// How much of the file system it leaves free.
    pub(crate) min_free: Option<u64>,
}

/// What of a lease store is past its time: the store knows.
#[derive(Debug, Clone)]
pub(crate) struct Leases {
    /// How long the record of a key stays after nothing is left in it: at
    /// least an hour.
    pub(crate) keep: SignedDuration,
}
