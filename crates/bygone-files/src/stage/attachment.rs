//! What is staged, and how it is asked for.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::id::AttachmentId;
use super::name::Name;
use super::ttl::Ttl;

/// A staged file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The SHA-256 of its content.
    pub id: AttachmentId,
    /// Its name: that of the first stage, for as long as the attachment lives, so that its path stays good.
    pub name: Name,
    /// Where it lies: `<area>/<id>/<name>`. Good until the deadline.
    pub path: PathBuf,
    /// How long it is, in bytes.
    pub size: u64,
    /// When it was last staged or touched, to the millisecond.
    pub inserted_at: Timestamp,
    /// How long it lives from then on.
    pub ttl: Ttl,
    /// Whether it stays until somebody removes it by name.
    pub persist: bool,
    /// Whether it was there already, so that nothing was copied.
    pub cached: bool,
    /// When it ends; `None` for one that does not. It is past its time iff `deadline < now`, strictly.
    pub deadline: Option<Timestamp>,
}

/// What to stage.
pub enum Content<'a> {
    /// A file of the file system, read through its own path; links to it are followed.
    File(PathBuf),
    /// Anything that can be read to its end.
    Reader(Box<dyn Read + 'a>),
}

impl<'a> Content<'a> {
    /// The file at `path`.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::File(path.into())
    }

    /// What `reader` gives, to its end.
    pub fn reader(reader: impl Read + 'a) -> Self {
        Self::Reader(Box::new(reader))
    }

    /// The name that it brings along.
    pub(crate) fn own_name(&self) -> Option<String> {
        match self {
            Self::File(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
            Self::Reader(_) => None,
        }
    }
}

impl fmt::Debug for Content<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Reader(_) => f.debug_tuple("Reader").finish_non_exhaustive(),
        }
    }
}

impl From<&Path> for Content<'_> {
    fn from(path: &Path) -> Self {
        Self::file(path)
    }
}

/// How to stage it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Put {
    /// Its name, made safe by [`Name::sanitised`]; without one, the file's own, or `_` for a reader.
    pub name: Option<String>,
    /// How long it lives; `None` for the area's default.
    pub ttl: Option<Ttl>,
    /// Whether it stays until somebody removes it by name. Such a one does not expire, whatever its ttl.
    pub persist: bool,
}

impl Put {
    /// Under this name, with the area's default lifetime.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..Self::default() }
    }

    /// With this lifetime.
    #[must_use]
    pub fn ttl(mut self, ttl: impl Into<Ttl>) -> Self {
        self.ttl = Some(ttl.into());
        self
    }

    /// To stay until somebody removes it by name.
    #[must_use]
    pub fn persistent(mut self) -> Self {
        self.persist = true;
        self
    }
}

/// How much is staged, swept or not. Kept as counters: reading them costs the same in an area of any size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// All attachments.
    pub total_count: u64,
    /// Their bytes.
    pub total_bytes: u64,
    /// Those staged with `persist`.
    pub persistent_count: u64,
    /// Their bytes.
    pub persistent_bytes: u64,
    /// All others.
    pub expirable_count: u64,
    /// Their bytes.
    pub expirable_bytes: u64,
}
