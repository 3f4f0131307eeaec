//! Exit codes, the part of the contract that scripts see.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use bygone_core::{ErrorKind, Outcome, PolicyReport};

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done,
    /// Something failed, or somebody stopped it.
    Failed,
    /// A plan found work, and was asked to say so.
    WorkFound,
    /// A brake holds.
    Brake,
    /// The command line is wrong.
    Usage,
    /// The configuration is wrong, in itself or for its source.
    Config,
    /// A source cannot be reached.
    Unreachable,
    /// Somebody else has the source to themselves: try again.
    Busy,
    /// A lease, or a delivery, was somebody's and is no longer.
    LeaseLost,
    /// As the command that was run for the user ended.
    Command(u8),
}

impl Exit {
    /// The number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::WorkFound => 2,
            Self::Brake => 3,
            Self::Usage => 64,
            Self::Config => 65,
            Self::Unreachable => 69,
            Self::Busy => 75,
            // The first number behind those that sysexits.h knows.
            Self::LeaseLost => 79,
            Self::Command(code) => code,
        }
    }

    /// The command's own code; 128 and more for one that a signal ended, as shells have it.
    pub(crate) fn of_command(status: ExitStatus) -> Self {
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
        Self::Command(u8::try_from(code).unwrap_or(1))
    }

    /// What an error of this kind ends in.
    pub(crate) fn of_kind(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Unreachable | ErrorKind::Lost => Self::Unreachable,
            ErrorKind::Busy => Self::Busy,
            ErrorKind::Unfit => Self::Config,
            ErrorKind::Brake => Self::Brake,
            _ => Self::Failed,
        }
    }

    /// The graver of two: a failure before a lost lease, a source that is down, one that is busy, a wrong policy, a brake.
    pub(crate) fn graver(self, other: Self) -> Self {
        let weight = |exit| match exit {
            Self::Done => 0,
            Self::WorkFound => 1,
            Self::Brake => 2,
            Self::Config => 3,
            Self::Busy => 4,
            Self::Unreachable => 5,
            Self::LeaseLost => 6,
            Self::Failed | Self::Command(_) => 7,
            Self::Usage => 8,
        };
        if weight(other) > weight(self) { other } else { self }
    }

    /// What a sweep ends in.
    pub(crate) fn of_sweep(policies: &[PolicyReport]) -> Self {
        policies.iter().map(Self::of_policy).fold(Self::Done, Self::graver)
    }

    fn of_policy(report: &PolicyReport) -> Self {
        match (report.outcome, report.error_kind) {
            (_, Some(kind)) => Self::of_kind(kind),
            (Outcome::Cancelled | Outcome::Failed | Outcome::Refused, None) => Self::Failed,
            // A budget that ran out is a run that did what it was told.
            _ => Self::Done,
        }
    }
}
