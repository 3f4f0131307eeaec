//! What can go wrong while a server is found, started or reached.
//!
//! A test that cannot have its server must fail and say what to do; it must never be skipped.
//! Hence errors carry the remedy or the end of the server's log, and [`must`] is the one place
//! where the kit turns them into the panic that fails the test.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

/// Why the kit could not do what a test asked of it.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum KitError {
    /// A program of a server is not on this machine.
    #[error("{program} was not found: run `apt-get install {package}`, or ./test as root, which does so")]
    Missing {
        /// The program looked for.
        program: &'static str,
        /// The Debian package that brings it.
        package: &'static str,
    },
    /// A program that `./test` installs is not there.
    #[error("{program} was not found at {}: run ./test, which installs it", file.display())]
    NotInstalled {
        /// The program looked for.
        program: &'static str,
        /// Where it should be.
        file: PathBuf,
    },
    /// An object store refused a request.
    #[error("cannot {action}: {why}")]
    Store {
        /// What was tried.
        action: &'static str,
        /// What the store said.
        why: String,
    },
    /// Root must not run the servers, and no other account was found.
    #[error("none of the accounts {candidates:?} exists, and a server does not run as root")]
    NoAccount {
        /// The accounts looked for, the preferred one first.
        candidates: Vec<&'static str>,
    },
    /// A file or directory of a server.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A program could not be started at all.
    #[error("cannot run {}", program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// No free port on the loopback interface.
    #[error("cannot take a port of 127.0.0.1")]
    Port(#[source] io::Error),
    /// A program ended when it should have gone on, or ended with a failure.
    #[error("{} ended with {status}; the end of its log:\n{log}", program.display())]
    Ended {
        /// The program.
        program: PathBuf,
        /// How it ended.
        status: ExitStatus,
        /// The last lines it wrote.
        log: String,
    },
    /// A program did not get ready, or did not finish, in time.
    #[error("{what} took longer than {limit:?}; the end of the log:\n{log}")]
    Slow {
        /// What was waited for.
        what: String,
        /// For how long.
        limit: Duration,
        /// The last lines of its log.
        log: String,
    },
    /// A server that runs refused a connection or a statement.
    #[error("cannot {action}")]
    Sql {
        /// What was tried.
        action: &'static str,
        /// What the server said.
        #[source]
        source: sqlx::Error,
    },
    /// An SQLite file could not be opened.
    #[error("cannot open {}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        source: rusqlite::Error,
    },
}

impl KitError {
    /// For `map_err`: a file operation that failed.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { action, path: path.to_owned(), source }
    }

    /// For `map_err`: a connection or statement that failed.
    pub(crate) fn sql(action: &'static str) -> impl FnOnce(sqlx::Error) -> Self {
        move |source| Self::Sql { action, source }
    }
}

/// The message with the whole chain of causes: tests unwrap, and this is what they then show.
impl fmt::Debug for KitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        let mut cause = self.source();
        while let Some(inner) = cause {
            write!(f, ": {inner}")?;
            cause = inner.source();
        }
        Ok(())
    }
}

/// Fails the test that asked.
#[track_caller]
pub(crate) fn must<T>(result: Result<T, KitError>) -> T {
    result.unwrap_or_else(|error| panic!("{error:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_debug_form_names_every_cause() {
        let cause = io::Error::other("disk on fire");
        let error = KitError::file("write", Path::new("/data"))(cause);
        assert_eq!(format!("{error:?}"), "cannot write /data: disk on fire");
    }
}
