//! What can go wrong in a staging area, as problems.

use std::error::Error as _;
use std::io;

use bygone_files::stage::StageError;
use tokio::task::JoinError;

use crate::http::problem::{Kind, Problem};

impl From<StageError> for Problem {
    fn from(error: StageError) -> Self {
        let detail = match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        };
        let kind = match &error {
            StageError::NoArea(_) | StageError::Foreign(_) | StageError::NotADirectory(_) => Kind::NoSuchArea,
            StageError::InvalidTtl { .. } => Kind::Unprocessable,
            StageError::Full(_) | StageError::DiskFull => Kind::AreaFull,
            StageError::Held(_) => Kind::FileHeld,
            StageError::Read(error) if error.kind() == io::ErrorKind::TimedOut => {
                return Self::new(Kind::Stalled, "nothing came for too long: nothing of the file is kept");
            }
            StageError::Read(_) => Kind::BadRequest,
            StageError::Busy(_) => Kind::Busy,
            StageError::Open { .. }
            | StageError::Owner { .. }
            | StageError::Mode { .. }
            | StageError::Newer { .. }
            | StageError::Damaged { .. }
            | StageError::Manifest { .. }
            | StageError::Blocked(_) => Kind::Source,
            _ => {
                tracing::error!(error = detail, "a staging area could not do what it was asked");
                Kind::Failed
            }
        };
        Self::new(kind, detail)
    }
}

/// A thread that asked an area and did not come back.
pub(super) fn broken_off(error: &JoinError) -> Problem {
    tracing::error!(%error, "asking a staging area was broken off");
    Problem::new(Kind::Failed, "asking the staging area was broken off: the log of the daemon says more")
}
