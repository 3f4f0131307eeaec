//! The flags of `bygone stage`.

use std::path::PathBuf;

use bytesize::ByteSize;
use clap::{Args, Subcommand, ValueEnum};
use jiff::SignedDuration;

use super::duration;

/// Flags of `stage`.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Stage {
    /// The staging area: file:DIR, or a daemon's: http://HOST:PORT/stage/v1/SOURCE, https://… or
    /// unix:/SOCKET:/stage/v1/SOURCE, with its token in BYGONE_TOKEN. `put` makes it where it does not exist yet.
    #[arg(long, global = true, value_name = "URL", env = "BYGONE_STORE")]
    pub(crate) store: Option<String>,
    #[command(subcommand)]
    pub(crate) verb: StageVerb,
}

/// What to do with a staging area.
#[derive(Debug, Subcommand)]
pub(crate) enum StageVerb {
    /// Stage files and print where they lie from now on until their deadline.
    Put(Put),
    /// Print where a staged file lies; it must live.
    Get {
        /// Its id.
        id: String,
    },
    /// List the files that live.
    List,
    /// Begin the lifetime of a file anew; it only becomes longer.
    Touch {
        /// Its id.
        id: String,
        /// How long it lives from now on, as in 1h30m, or `forever`.
        #[arg(long, value_name = "TIME", value_parser = lifetime)]
        ttl: Option<Lifetime>,
    },
    /// Remove a file now, whatever its deadline.
    Remove {
        /// Its id.
        id: String,
    },
    /// Run a command while nothing removes the file, deadline or not; its path is in BYGONE_PATH.
    Exec {
        /// Its id.
        id: String,
        /// The command and its arguments.
        #[arg(required = true, last = true, value_name = "COMMAND")]
        command: Vec<std::ffi::OsString>,
    },
    /// Count what is staged.
    Metrics,
    /// Remove what is past its deadline.
    Cleanup,
    /// Remove everything that was not staged to persist, whatever its deadline.
    Reset,
}

impl StageVerb {
    /// The id that it is about.
    pub(crate) fn id(&self) -> Option<&str> {
        match self {
            Self::Get { id } | Self::Touch { id, .. } | Self::Remove { id } | Self::Exec { id, .. } => Some(id),
            Self::Put(_) | Self::List | Self::Metrics | Self::Cleanup | Self::Reset => None,
        }
    }
}

/// Flags of `stage put`.
#[derive(Debug, Args)]
pub(crate) struct Put {
    /// The files; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The name to stage one file under. Default: its own.
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// How long it lives, as in 1h30m, or `forever`. Default: 24h.
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    pub(crate) ttl: Option<Lifetime>,
    /// Keep it until somebody removes it by its id.
    #[arg(long)]
    pub(crate) persist: bool,
    /// How files come into the area, where the file system can; otherwise they are copied.
    #[arg(long, value_enum, default_value_t = Ingest::Copy)]
    pub(crate) by: Ingest,
    /// The most bytes that the area may hold, as in 10GiB.
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_bytes: Option<ByteSize>,
    /// The most files that the area may hold.
    #[arg(long, value_name = "N")]
    pub(crate) max_count: Option<u64>,
    /// How much the file system must have free after it, as in 5GiB.
    #[arg(long, value_name = "SIZE")]
    pub(crate) min_free: Option<ByteSize>,
    /// Where there is no room, remove what expires soonest instead of refusing.
    #[arg(long)]
    pub(crate) evict: bool,
}

/// A lifetime on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// So long.
    For(SignedDuration),
    /// It does not expire.
    Forever,
}

/// How files come into the area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ingest {
    /// A copy of its own.
    Copy,
    /// A copy that shares its blocks.
    Reflink,
    /// A second name of the same file: only for files that nobody writes in place.
    HardLink,
}

fn lifetime(text: &str) -> Result<Lifetime, String> {
    if text == "forever" { Ok(Lifetime::Forever) } else { duration(text).map(Lifetime::For) }
}
