//! The file itself: how it is opened, and every statement that reads it.

use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bygone_core::{Clock, SystemClock};
use bytes::Bytes;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, named_params};

use crate::storage::{Listed, Listing, StorageError, Stored, Version};

pub(super) const FILE: &str = "leases.db";
/// Marks the file as ours, in its header: `byln` in ASCII.
const APPLICATION_ID: i32 = 0x6279_6c6e;
const FORMAT: i32 = 1;
/// How long to wait for another process's write.
const BUSY_WAIT: Duration = Duration::from_secs(10);
/// The rest before a file that is being made or closed is opened again.
const BUSY_PAUSE: Duration = Duration::from_millis(5);

/// Makes the directory and the file where there are none. Both are for their owner alone: state is nobody else's business.
pub(super) fn prepare(directory: &Path) -> Result<PathBuf, StorageError> {
    let refused = |what: &str, error: std::io::Error| StorageError::Refused {
        reason: format!("{what} {}: {error}", directory.display()),
    };
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(|error| refused("cannot make the directory", error))?;
    let path = directory.join(FILE);
    let opened = std::fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
    opened.map_err(|error| refused("cannot write into", error))?;
    Ok(path)
}

/// Opens the file for the one thread that writes, and makes its table if there is none.
///
/// Where several processes make the file at once, or the last one closes it, the engine says at once that it is busy, whatever
/// it was told to wait for.
pub(super) fn connect_to_write(path: &Path) -> Result<Connection, StorageError> {
    let clock = SystemClock::new();
    let began = clock.elapsed();
    loop {
        match try_connect_to_write(path) {
            Err(StorageError::Throttled) if clock.elapsed().saturating_sub(began) < BUSY_WAIT => {
                std::thread::park_timeout(BUSY_PAUSE);
            }
            connected => return connected,
        }
    }
}

fn try_connect_to_write(path: &Path) -> Result<Connection, StorageError> {
    let open = || {
        let mut conn = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        conn.pragma_update(None, "journal_mode", "WAL")?;
        // Durable before it is answered: the log is synced by every commit.
        conn.pragma_update(None, "synchronous", "FULL")?;
        let setup = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let id: i32 = setup.query_row("PRAGMA application_id", [], |row| row.get(0))?;
        let format: i32 = setup.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        let tables: i64 = setup.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if tables == 0 && id == 0 {
            setup.execute_batch(
                "CREATE TABLE item (
                     key TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL, body BLOB NOT NULL
                 ) STRICT, WITHOUT ROWID;
                 -- Versions come from one number that only grows: a key that is made anew never has an old one.
                 CREATE TABLE written (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL) STRICT;
                 INSERT INTO written VALUES (1, 0);",
            )?;
            setup.pragma_update(None, "application_id", APPLICATION_ID)?;
            setup.pragma_update(None, "user_version", FORMAT)?;
        }
        setup.commit()?;
        let ours = (tables == 0 && id == 0) || (id == APPLICATION_ID && format == FORMAT);
        Ok::<_, rusqlite::Error>(ours.then_some(conn))
    };
    open().map_err(|error| failure(&error))?.ok_or_else(|| StorageError::Refused {
        reason: format!(
            "{} is not a lease store of this version: point the store at another directory",
            path.display()
        ),
    })
}

pub(super) fn connect_to_read(path: &Path) -> Result<Connection, StorageError> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(|error| failure(&error))
}

fn connect(path: &Path, mode: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(BUSY_WAIT)?;
    // There is one way to everything here. Otherwise each listing would be planned anew for the keys that it begins with.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(conn)
}

/// What an error of the engine means. Nothing was written: what failed to commit was rolled back.
pub(super) fn failure(error: &rusqlite::Error) -> StorageError {
    let reason = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StorageError::Throttled,
        Some(ErrorCode::SystemIoFailure | ErrorCode::OutOfMemory) => StorageError::Unavailable { reason },
        _ => StorageError::Refused { reason },
    }
}

pub(super) fn get(reader: &Connection, key: &str) -> rusqlite::Result<Option<Stored>> {
    let mut statement = reader.prepare_cached("SELECT version, body FROM item WHERE key = ?1")?;
    let stored = |row: &rusqlite::Row<'_>| {
        let (version, body): (i64, Vec<u8>) = (row.get(0)?, row.get(1)?);
        Ok(Stored { body: Bytes::from(body), version: Version::new(version.to_string()) })
    };
    statement.query_row([key], stored).optional()
}

pub(super) fn list(reader: &Connection, prefix: &str, after: Option<&str>, limit: usize) -> rusqlite::Result<Listing> {
    let from = after.filter(|after| *after >= prefix);
    let sql = match from {
        Some(_) => "SELECT key, version FROM item WHERE key > :from AND key < :end ORDER BY key LIMIT :limit",
        None => "SELECT key, version FROM item WHERE key >= :from AND key < :end ORDER BY key LIMIT :limit",
    };
    let mut statement = reader.prepare_cached(sql)?;
    // One more than asked for tells whether there are more. The end is beyond all text that begins with the prefix.
    let limit_and_one = i64::try_from(limit.saturating_add(1)).unwrap_or(i64::MAX);
    let (from, end) = (from.unwrap_or(prefix), format!("{prefix}{}", char::MAX));
    let rows = statement.query_map(named_params! { ":from": from, ":end": end, ":limit": limit_and_one }, |row| {
        let version: i64 = row.get(1)?;
        Ok(Listed { key: row.get(0)?, version: Some(Version::new(version.to_string())) })
    })?;
    let mut keys = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    let more = keys.len() > limit;
    keys.truncate(limit);
    Ok(Listing { keys, more })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Defect 16 of the original: an answer came before what it told of was on the disk.
    #[test]
    fn defect_16_every_commit_is_synced_before_it_is_answered() {
        let directory = tempfile::tempdir().unwrap();
        let path = prepare(directory.path()).unwrap();
        // Also by one who finds the file there.
        for _ in 0..2 {
            let writer = connect_to_write(&path).unwrap();
            let synchronous: i64 = writer.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
            let journal: String = writer.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
            assert_eq!((synchronous, journal.as_str()), (2, "wal"), "2 is FULL: a sync with every commit");
        }
    }
}
