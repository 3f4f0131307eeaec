//! What a policy says of a tree.

use std::path::PathBuf;

use jiff::SignedDuration;

use super::Age;
use crate::key_date::KeyDate;

/// Which files of a tree are bygone.
///
/// At least one of `keep`, `max_bytes`, `max_count` and `min_free` must be there. Globs are matched with the path below the
/// swept directory: `*` stays within a name, `**` spans directories, and an exclude wins over an include.
#[derive(Clone, Debug)]
pub struct TreePolicy {
    /// The policy's name.
    pub name: String,
    /// The source's name.
    pub source: String,
    /// The source's directory.
    pub root: PathBuf,
    /// The directory below it that is swept; the source's own when absent.
    pub path: Option<PathBuf>,
    /// Which stamp of a file is its deadline.
    pub age: Age,
    /// The date in a file's path below the swept directory, which is its deadline in the stamp's place. A file without one
    /// stays, and is counted as unreadable. Directories have no date: their stamp counts.
    pub date: Option<KeyDate>,
    /// How long a file stays after its stamp; without it only the caps remove.
    pub keep: Option<SignedDuration>,
    /// Globs of what is covered; everything when there is none.
    pub include: Vec<String>,
    /// Globs of what is not.
    pub exclude: Vec<String>,
    /// The least depth of an item: 1 for the entries of the swept directory itself.
    pub min_depth: u32,
    /// Whether directories go that are empty and past their time.
    pub empty_dirs: bool,
    /// The most bytes that the covered files may take; over it the oldest go.
    pub max_bytes: Option<u64>,
    /// The most covered files that there may be; over it the oldest go.
    pub max_count: Option<u64>,
    /// The bytes that the file system shall have free; below it the oldest go.
    pub min_free: Option<u64>,
}

impl TreePolicy {
    /// A policy over `root` that does nothing yet: it needs a `keep` or a cap.
    pub fn new(name: impl Into<String>, source: impl Into<String>, root: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            source: source.into(),
            root: root.into(),
            path: None,
            age: Age::Modified,
            date: None,
            keep: None,
            include: Vec::new(),
            exclude: Vec::new(),
            min_depth: 1,
            empty_dirs: false,
            max_bytes: None,
            max_count: None,
            min_free: None,
        }
    }

    /// Whether files may go before their time because there are too many of them.
    pub(crate) fn has_caps(&self) -> bool {
        self.max_bytes.is_some() || self.max_count.is_some() || self.min_free.is_some()
    }
}
