//! The turn to sweep a directory, or a bucket.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bygone_core::{Closed, ErrorKind, Gate, TargetError, Turn};
use bygone_files::TURN_FILE;
use rustix::fs::OFlags;

/// The turn to sweep a directory: a locked file in it, which sweeps pass over, so that whoever shares the directory shares the
/// turn. (A lock on the directory itself would keep the sweep out, too.)
#[derive(Debug)]
pub(super) struct DirectoryTurn(Mutex<Option<File>>);

impl DirectoryTurn {
    /// Takes it, if nobody has it.
    pub(super) fn take(directory: &Path) -> Result<Option<Arc<Self>>, TargetError> {
        let path = directory.join(TURN_FILE);
        let failed = |error: std::io::Error| {
            let message = format!("the turn to sweep cannot be taken by {}: {error}", path.display());
            TargetError::new(ErrorKind::Unreachable, message).about("source")
        };
        // In a directory that everybody writes to, somebody may have put a link or a pipe there: neither is followed or waited
        // for, and nothing is ever written.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).unwrap_or(0);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600).custom_flags(flags);
        let file = options.open(&path).map_err(failed)?;
        let status = file.metadata().map_err(failed)?;
        if !status.is_file() || status.uid() != rustix::process::geteuid().as_raw() {
            // Whoever owns it could keep it locked for ever.
            return Err(failed(std::io::Error::other("it is not a file of ours")));
        }
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
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

    #[test]
    fn what_somebody_put_in_its_place_is_neither_followed_nor_waited_for_nor_written() {
        let directory = tempfile::tempdir().unwrap();
        let (place, victim) = (directory.path().join(TURN_FILE), directory.path().join("victim"));
        std::fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, &place).unwrap();
        assert!(DirectoryTurn::take(directory.path()).is_err());
        std::fs::remove_file(&place).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &place, rustix::fs::FileType::Fifo, 0o666.into(), 0).unwrap();
        assert!(DirectoryTurn::take(directory.path()).is_err());
        std::fs::remove_file(&place).unwrap();
        std::fs::hard_link(&victim, &place).unwrap();
        assert!(DirectoryTurn::take(directory.path()).unwrap().is_some());
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    }
}
