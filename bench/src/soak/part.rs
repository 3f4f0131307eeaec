//! What the daemon looks after here: seven kinds of items of five sources.

use std::time::Duration;

use serde::Serialize;

use super::pace::Pace;

/// Where items live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A PostgreSQL server of our own.
    Shop,
    /// A SQLite file.
    Till,
    /// A lease store on disk.
    Jobs,
    /// A staging area.
    Area,
    /// A directory tree.
    Uploads,
}

/// A kind of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) enum Part {
    /// Rows whose deadline is moved again and again.
    Tokens,
    /// Rows with children that go along.
    Logins,
    /// Rows of the SQLite file.
    Codes,
    /// Leases that are left.
    Leases,
    /// Messages that nobody fetches in time.
    Messages,
    /// Staged files.
    Staged,
    /// Files of the tree.
    Uploads,
}

impl Part {
    /// All of them.
    pub(super) const ALL: [Self; 7] =
        [Self::Tokens, Self::Logins, Self::Codes, Self::Leases, Self::Messages, Self::Staged, Self::Uploads];

    /// Its name in results.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Logins => "logins",
            Self::Codes => "codes",
            Self::Leases => "leases",
            Self::Messages => "messages",
            Self::Staged => "staged",
            Self::Uploads => "uploads",
        }
    }

    /// The policy that sweeps it.
    pub(super) fn policy(self) -> &'static str {
        match self {
            Self::Tokens => "expired-tokens",
            Self::Logins => "finished-logins",
            Self::Codes => "expired-codes",
            Self::Leases | Self::Messages => "ended-leases",
            Self::Staged => "staged-files",
            Self::Uploads => "old-uploads",
        }
    }

    /// Where its items live.
    pub(super) fn source(self) -> Source {
        match self {
            Self::Tokens | Self::Logins => Source::Shop,
            Self::Codes => Source::Till,
            Self::Leases | Self::Messages => Source::Jobs,
            Self::Staged => Source::Area,
            Self::Uploads => Source::Uploads,
        }
    }

    /// Between two runs of its policy.
    pub(super) fn every(self, pace: Pace) -> Duration {
        match self {
            Self::Tokens | Self::Codes => pace.every[0],
            _ => pace.every[1],
        }
    }

    /// How long its items stay after their deadline.
    pub(super) fn keep(self, pace: Pace) -> Duration {
        match self {
            Self::Tokens | Self::Uploads => pace.keep,
            _ => Duration::ZERO,
        }
    }
}
