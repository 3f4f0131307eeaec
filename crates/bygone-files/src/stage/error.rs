//! What can go wrong in a staging area. That an attachment is unknown or expired is no error: it is absent.

use std::io;
use std::path::{Path, PathBuf};

use bygone_core::ErrorKind;
use rusqlite::ErrorCode;

use super::id::AttachmentId;
use super::quota::Shortage;
use super::ttl::Ttl;

/// The area could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StageError {
    /// The directory, or something in its `.bygone`, cannot be opened or made.
    #[error("cannot {action} {}", path.display())]
    Open {
        /// What was to be done.
        action: &'static str,
        /// To what.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// A link or a file stands where a directory of the area belongs.
    #[error("{} is not a directory; links are not followed: name the directory itself", .0.display())]
    NotADirectory(PathBuf),
    /// The directory holds files and is no staging area.
    #[error("{} is not empty and is no staging area: choose an empty or a new directory", .0.display())]
    Foreign(PathBuf),
    /// There is no staging area to look at.
    #[error("{} is no staging area: there is no manifest in it", .0.display())]
    NoArea(PathBuf),
    /// Another user owns the directory.
    #[error("{} belongs to user {owner}, and this is user {user}: run as its owner, or choose another directory", path.display())]
    Owner {
        /// The directory.
        path: PathBuf,
        /// Who owns it.
        owner: u32,
        /// Who we are.
        user: u32,
    },
    /// Others may write into the directory.
    #[error("{} may be written by others (mode {mode:o}): chmod go-w it", path.display())]
    Mode {
        /// The directory.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// There is no such file to stage.
    #[error("there is no file {} to stage", .0.display())]
    Missing(PathBuf),
    /// A directory cannot be staged.
    #[error("{} is a directory: stage the files in it one by one", .0.display())]
    IsDirectory(PathBuf),
    /// Neither file nor directory.
    #[error("{} is no regular file: open it and stage it as a reader", .0.display())]
    NotAFile(PathBuf),
    /// The content could not be read.
    #[error("cannot read what is to be staged")]
    Read(#[source] io::Error),
    /// The content could not be written. Nothing of it is left.
    #[error("cannot {action}")]
    Write {
        /// What was to be done.
        action: &'static str,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The file system is full. Nothing of the content is left.
    #[error("the file system of the area is full: free some space, or set `min_free` and a quota")]
    DiskFull,
    /// A lifetime that cannot be kept.
    #[error("a ttl of {ttl} ends after all time: use `Ttl::Forever`")]
    InvalidTtl {
        /// The lifetime.
        ttl: Ttl,
    },
    /// The quota leaves no room.
    #[error("{0}")]
    Full(Shortage),
    /// Something that is not ours stands where an attachment belongs.
    #[error("something that bygone did not put there stands at {}: look at it and move it away", .0.display())]
    Blocked(PathBuf),
    /// A file could not be removed. Its entry stays, and the next sweep tries again.
    #[error("cannot remove attachment {id}")]
    Remove {
        /// The attachment.
        id: AttachmentId,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// Somebody holds the attachment.
    #[error("attachment {0} is held: release the hold, or wait until it ends")]
    Held(AttachmentId),
    /// The hold ended before it was extended.
    #[error("the hold on attachment {0} has ended: hold it anew if it still lives")]
    HoldEnded(AttachmentId),
    /// Others write into the manifest, and go on doing so.
    #[error("another process keeps the manifest busy: try again")]
    Busy(#[source] rusqlite::Error),
    /// The manifest could not be read or written.
    #[error("cannot {action} the manifest")]
    Manifest {
        /// What was to be done.
        action: &'static str,
        /// What SQLite says.
        #[source]
        source: rusqlite::Error,
    },
    /// The manifest was made by a later version.
    #[error(
        "the manifest is of version {found}, and this program knows up to {known}: update it before it writes here"
    )]
    Newer {
        /// The version found.
        found: i64,
        /// The last one known.
        known: i64,
    },
    /// The manifest is unreadable or says what cannot be. Nothing was removed.
    #[error(
        "the manifest is damaged ({what}); nothing was removed: restore `.bygone/manifest.db`, or move the files out and begin a new area"
    )]
    Damaged {
        /// What is wrong with it.
        what: String,
    },
    /// The files of its batch could not be recorded together.
    #[error("the batch that this file belongs to could not be recorded: stage it again")]
    Batch,
    /// A cleanup did not come to its end.
    #[error("the cleanup did not come to its end: {0}")]
    Cleanup(String),
    /// The operating system gives no random bytes.
    #[error("no random bytes can be had")]
    Entropy(#[source] getrandom::Error),
}

impl StageError {
    pub(crate) fn too_long(ttl: Ttl) -> Self {
        Self::InvalidTtl { ttl }
    }

    pub(crate) fn open(action: &'static str, path: &Path) -> impl FnOnce(rustix::io::Errno) -> Self {
        let path = path.to_path_buf();
        move |errno| {
            if is_disk_full(&errno.into()) { Self::DiskFull } else { Self::Open { action, path, source: errno.into() } }
        }
    }

    /// A failure to write into the area, whoever noticed it.
    pub(crate) fn write(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| if is_disk_full(&source) { Self::DiskFull } else { Self::Write { action, source } }
    }

    /// The same for bare system calls.
    pub(crate) fn call(action: &'static str) -> impl FnOnce(rustix::io::Errno) -> Self {
        move |errno| Self::write(action)(errno.into())
    }

    pub(crate) fn manifest(action: &'static str) -> impl FnOnce(rusqlite::Error) -> Self {
        move |source| match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy(source),
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged { what: source.to_string() },
            _ => Self::Manifest { action, source },
        }
    }

    /// What the engine does about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Busy(_) => ErrorKind::Busy,
            Self::Foreign(_) | Self::NoArea(_) | Self::NotADirectory(_) | Self::Newer { .. } | Self::Damaged { .. } => {
                ErrorKind::Unfit
            }
            Self::Owner { .. } | Self::Mode { .. } => ErrorKind::Denied,
            Self::Open { .. } => ErrorKind::Unreachable,
            _ => ErrorKind::Failed,
        }
    }
}

fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
