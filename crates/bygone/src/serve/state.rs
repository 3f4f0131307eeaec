//! Where a daemon keeps what it must know after a restart.

use std::fs::{DirBuilder, File, TryLockError};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::problem::Problem;

/// The directory of one daemon, and no other while it runs.
#[derive(Debug)]
pub(super) struct State {
    directory: PathBuf,
    _locked: File,
}

/// The directory that was named, or that of the service, or that of the user.
pub(crate) fn directory(named: Option<&Path>) -> Result<PathBuf, Problem> {
    named.map_or_else(default_directory, |named| Ok(named.to_owned()))
}

/// The history that is kept in a directory.
pub(crate) fn ledger_in(directory: &Path) -> PathBuf {
    directory.join("ledger.db")
}

impl State {
    /// Takes the directory for itself; it is made where there is none.
    pub(super) fn open(named: Option<&Path>) -> Result<Self, Problem> {
        let directory = directory(named)?;
        let failed = |error: std::io::Error| {
            let message = format!("the state cannot be kept in {}: {error}", directory.display());
            Problem::usage(message, "name a directory that may be written to: `--state DIR`")
        };
        DirBuilder::new().recursive(true).mode(0o700).create(&directory).map_err(failed)?;
        let locked = File::open(&directory).map_err(failed)?;
        match locked.try_lock() {
            Ok(()) => Ok(Self { directory, _locked: locked }),
            Err(TryLockError::WouldBlock) => {
                let message = format!("another daemon keeps its state in {}", directory.display());
                Err(Problem::busy(message, "give each its own: `--state DIR`"))
            }
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    pub(super) fn ledger(&self) -> PathBuf {
        ledger_in(&self.directory)
    }
}

/// What systemd names for a service, or what the user's other programs use.
fn default_directory() -> Result<PathBuf, Problem> {
    let named = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    let of_user = || {
        let state = named("XDG_STATE_HOME").or_else(|| Some(named("HOME")?.join(".local/state")))?;
        Some(state.join("bygone"))
    };
    named("STATE_DIRECTORY").or_else(of_user).ok_or_else(|| {
        Problem::usage("there is no home directory to keep the history in", "name a directory: `--state DIR`")
    })
}
