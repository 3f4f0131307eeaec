//! The turn to sweep a directory, or a bucket.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bygone_core::{Closed, ErrorKind, Gate, TargetError, Turn};

/// What a directory's turn is taken by. A sweep of the directory passes over it: it is locked, and it is new.
const FILE: &str = ".bygone-turn";

/// The turn to sweep a directory: a locked file in it, so that whoever shares the directory shares the turn. (A lock on the
/// directory itself would keep the sweep out, too.)
#[derive(Debug)]
pub(super) struct DirectoryTurn(Mutex<Option<File>>);

impl DirectoryTurn {
    /// Takes it, if nobody has it.
    pub(super) fn take(directory: &Path) -> Result<Option<Arc<Self>>, TargetError> {
        let path = directory.join(FILE);
        let failed = |error: std::io::Error| {
            let message = format!("the turn to sweep cannot be taken by {}: {error}", path.display());
            TargetError::new(ErrorKind::Unreachable, message).about("source")
        };
        let opened = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let mut file = opened.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        writeln!(file, "{}", std::process::id()).map_err(failed)?;
        Ok(Some(Arc::new(Self(Mutex::new(Some(file))))))
    }
}

#[async_trait]
impl Gate for DirectoryTurn {
    /// Nobody can take it from us.
    async fn closed(&self) -> Option<Closed> {
        None
    }
}

#[async_trait]
impl Turn for DirectoryTurn {
    async fn give_back(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// The turn to sweep what has no turns: objects of a bucket, which anybody may list and delete at once.
#[derive(Debug)]
pub(super) struct FreeTurn;

#[async_trait]
impl Gate for FreeTurn {
    async fn closed(&self) -> Option<Closed> {
        None
    }
}

#[async_trait]
impl Turn for FreeTurn {
    async fn give_back(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_directory_is_one_sweepers_until_it_is_given_back() {
        let directory = tempfile::tempdir().unwrap();
        let turn = DirectoryTurn::take(directory.path()).unwrap().unwrap();
        assert!(DirectoryTurn::take(directory.path()).unwrap().is_none());
        assert_eq!(turn.closed().await, None);
        turn.give_back().await;
        assert!(DirectoryTurn::take(directory.path()).unwrap().is_some());
        assert!(DirectoryTurn::take(&directory.path().join("absent")).is_err());
    }
}
