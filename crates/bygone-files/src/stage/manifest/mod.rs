//! The manifest: what is staged, in a SQLite file that survives restarts and crashes.
//!
//! Its write lock is the one lock of the area. Whoever changes a file of the area does so inside an immediate
//! transaction, so that a restage and a sweep of the same content can never interleave, be they in one process or in two.
//! The file is in WAL mode, which needs shared memory: processes of one machine may share an area, two machines over a
//! network file system may not.

mod entry;
mod schema;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::error::StageError;
use super::options::Durability;
use schema::Found;

pub(crate) use entry::*;

/// How long to wait for another process's write.
const BUSY_WAIT: Duration = Duration::from_secs(10);
/// Readers kept open for the next one; more are opened while they are needed.
const IDLE_READERS_MAX: usize = 4;
/// Statements that a connection keeps prepared.
const STATEMENTS_MAX: usize = 32;

/// An open manifest.
#[derive(Debug)]
pub(crate) struct Manifest {
    path: PathBuf,
    /// Closed before the writer: whoever closes last puts the log away, and a reader cannot.
    readers: Mutex<Vec<Connection>>,
    writer: Mutex<Connection>,
    durability: Durability,
}

impl Manifest {
    /// Opens the manifest, and makes its tables if there are none. The caller keeps others from making them meanwhile.
    pub(crate) fn open(path: &Path, durability: Durability) -> Result<Self, StageError> {
        let writer = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let found = schema::look(&writer)?;
        let synchronous = match durability {
            Durability::Full => "FULL",
            Durability::Relaxed => "OFF",
        };
        writer.pragma_update(None, "synchronous", synchronous).map_err(StageError::manifest("open"))?;
        if found == Found::Empty {
            writer.pragma_update(None, "journal_mode", "WAL").map_err(StageError::manifest("create"))?;
            schema::create(&writer)?;
        }
        let path = path.to_path_buf();
        Ok(Self { path, writer: Mutex::new(writer), readers: Mutex::default(), durability })
    }

    /// Reads one consistent state, beside other readers and the writer.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, StageError>) -> Result<T, StageError> {
        let idle = lock(&self.readers).pop();
        let reader = match idle {
            Some(reader) => reader,
            None => connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?,
        };
        reader.execute_batch("BEGIN").map_err(StageError::manifest("read"))?;
        let done = work(&reader);
        reader.execute_batch("COMMIT").map_err(StageError::manifest("read"))?;
        let mut idle = lock(&self.readers);
        if idle.len() < IDLE_READERS_MAX {
            idle.push(reader);
        }
        done
    }

    /// Runs `work` in one immediate transaction: while it runs, nobody else changes the manifest or the files of the
    /// area. An error of `work` undoes what it wrote.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&Connection) -> Result<T, StageError>) -> Result<T, StageError> {
        transaction(&lock(&self.writer), work)
    }

    /// The same, but without waiting for the disk: for what a crash of the machine may undo. It is on the disk once the
    /// log is synced, or anything else is written.
    pub(crate) fn write_unsynced<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StageError>,
    ) -> Result<T, StageError> {
        if self.durability == Durability::Relaxed {
            return self.write(work);
        }
        let writer = lock(&self.writer);
        let synchronous = |mode: &str| writer.pragma_update(None, "synchronous", mode);
        synchronous("NORMAL").map_err(StageError::manifest("write"))?;
        let done = transaction(&writer, work);
        synchronous("FULL").map_err(StageError::manifest("write"))?;
        done
    }
}

fn transaction<T>(
    writer: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, StageError>,
) -> Result<T, StageError> {
    writer.execute_batch("BEGIN IMMEDIATE").map_err(StageError::manifest("write"))?;
    let undo = Undo(writer);
    let answer = work(writer)?;
    writer.execute_batch("COMMIT").map_err(StageError::manifest("write"))?;
    drop(undo);
    Ok(answer)
}

/// Rolls back a transaction that was not committed, however its scope ends.
struct Undo<'a>(&'a Connection);

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit()
            && let Err(error) = self.0.execute_batch("ROLLBACK")
        {
            tracing::warn!(%error, "a transaction of the manifest could not be rolled back");
        }
    }
}

fn connect(path: &Path, mode: OpenFlags) -> Result<Connection, StageError> {
    let flags = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let conn = Connection::open_with_flags(path, flags).map_err(StageError::manifest("open"))?;
    conn.busy_timeout(BUSY_WAIT).map_err(StageError::manifest("open"))?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    Ok(conn)
}

/// Whether somebody has the manifest open, or ended without closing it.
pub(crate) fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    PathBuf::from(log).exists()
}

/// Opens a manifest for looking only, without leaving a trace: no file is made, none is changed.
///
/// Where somebody has it open, or ended without closing, there is a log beside it: SQLite then reads both, and is told not
/// to touch the shared memory. Otherwise the file stands alone and is read as what it is.
pub(crate) fn look_at(path: &Path, is_at_rest: bool) -> Result<Connection, StageError> {
    let how = if is_at_rest { "mode=ro&immutable=1" } else { "mode=ro&readonly_shm=1" };
    let mut uri = url::Url::from_file_path(path).map_err(|()| StageError::NoArea(path.to_path_buf()))?;
    uri.set_query(Some(how));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let conn = Connection::open_with_flags(uri.as_str(), flags).map_err(StageError::manifest("open"))?;
    conn.busy_timeout(BUSY_WAIT).map_err(StageError::manifest("open"))?;
    match schema::look(&conn)? {
        Found::Ours => Ok(conn),
        Found::Empty => Err(StageError::NoArea(path.to_path_buf())),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
