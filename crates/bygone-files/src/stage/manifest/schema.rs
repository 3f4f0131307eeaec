//! The tables of the manifest, and whose file it is.

use rusqlite::Connection;

use crate::stage::error::StageError;

/// "bygS": marks the file as a manifest of a staging area.
const APPLICATION: i64 = 0x6279_6753;
/// The version that this program writes.
const VERSION: i64 = 1;

/// The totals follow the entries by triggers, in the very transaction that changes an entry, so that no statement can
/// forget them. `lasting` are those that do not expire though they are not persistent.
const TABLES: &str = "
CREATE TABLE entries (
  seq INTEGER PRIMARY KEY,
  id BLOB NOT NULL UNIQUE CHECK (length(id) = 32),
  name TEXT NOT NULL,
  size INTEGER NOT NULL CHECK (size >= 0),
  inserted_at INTEGER NOT NULL,
  ttl INTEGER CHECK (ttl >= 0),
  persist INTEGER NOT NULL CHECK (persist IN (0, 1)),
  deadline INTEGER
) STRICT;
CREATE INDEX entries_by_deadline ON entries (deadline) WHERE deadline IS NOT NULL;
CREATE TABLE totals (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  persistent_count INTEGER NOT NULL, persistent_bytes INTEGER NOT NULL,
  expirable_count INTEGER NOT NULL, expirable_bytes INTEGER NOT NULL,
  lasting_count INTEGER NOT NULL, lasting_bytes INTEGER NOT NULL
) STRICT;
INSERT INTO totals VALUES (1, 0, 0, 0, 0, 0, 0);
CREATE TRIGGER entry_comes AFTER INSERT ON entries BEGIN
  UPDATE totals SET
    persistent_count = persistent_count + NEW.persist,
    persistent_bytes = persistent_bytes + NEW.persist * NEW.size,
    expirable_count = expirable_count + (1 - NEW.persist),
    expirable_bytes = expirable_bytes + (1 - NEW.persist) * NEW.size,
    lasting_count = lasting_count + (NOT NEW.persist AND NEW.deadline IS NULL),
    lasting_bytes = lasting_bytes + (NOT NEW.persist AND NEW.deadline IS NULL) * NEW.size;
END;
CREATE TRIGGER entry_goes AFTER DELETE ON entries BEGIN
  UPDATE totals SET
    persistent_count = persistent_count - OLD.persist,
    persistent_bytes = persistent_bytes - OLD.persist * OLD.size,
    expirable_count = expirable_count - (1 - OLD.persist),
    expirable_bytes = expirable_bytes - (1 - OLD.persist) * OLD.size,
    lasting_count = lasting_count - (NOT OLD.persist AND OLD.deadline IS NULL),
    lasting_bytes = lasting_bytes - (NOT OLD.persist AND OLD.deadline IS NULL) * OLD.size;
END;
CREATE TRIGGER entry_changes AFTER UPDATE OF persist, deadline, size ON entries
WHEN OLD.persist <> NEW.persist OR (OLD.deadline IS NULL) <> (NEW.deadline IS NULL) OR OLD.size <> NEW.size BEGIN
  UPDATE totals SET
    persistent_count = persistent_count + NEW.persist - OLD.persist,
    persistent_bytes = persistent_bytes + NEW.persist * NEW.size - OLD.persist * OLD.size,
    expirable_count = expirable_count + OLD.persist - NEW.persist,
    expirable_bytes = expirable_bytes + (1 - NEW.persist) * NEW.size - (1 - OLD.persist) * OLD.size,
    lasting_count = lasting_count + (NOT NEW.persist AND NEW.deadline IS NULL)
      - (NOT OLD.persist AND OLD.deadline IS NULL),
    lasting_bytes = lasting_bytes + (NOT NEW.persist AND NEW.deadline IS NULL) * NEW.size
      - (NOT OLD.persist AND OLD.deadline IS NULL) * OLD.size;
END;
CREATE TABLE holds (
  id BLOB PRIMARY KEY,
  entry BLOB NOT NULL,
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX holds_by_entry ON holds (entry, until);
CREATE INDEX holds_by_until ON holds (until);
";

/// What the file says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing yet.
    Empty,
    /// Our tables.
    Ours,
}

/// Whose file it is; an error for one that is not ours or of a later version.
pub(super) fn look(conn: &Connection) -> Result<Found, StageError> {
    let pragma = |name: &str| conn.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let read = || -> rusqlite::Result<(i64, i64, i64)> {
        let tables = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        Ok((pragma("application_id")?, pragma("user_version")?, tables))
    };
    let (application, version, tables) = read().map_err(StageError::manifest("read"))?;
    match (application, version) {
        (0, 0) if tables == 0 => Ok(Found::Empty),
        (APPLICATION, version) if version > VERSION => Err(StageError::Newer { found: version, known: VERSION }),
        (APPLICATION, VERSION) => Ok(Found::Ours),
        _ => Err(StageError::Damaged { what: "it is a database of another program".into() }),
    }
}

/// Makes the tables in an empty file, all or nothing.
pub(super) fn create(conn: &Connection) -> Result<(), StageError> {
    let script = format!(
        "BEGIN IMMEDIATE; {TABLES} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT;"
    );
    conn.execute_batch(&script).map_err(StageError::manifest("create"))
}
