//! Every statement over the entries and holds of a manifest, in one place.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, named_params, params};

use crate::stage::error::StageError;
use crate::stage::id::AttachmentId;
use crate::stage::name::Name;
use crate::stage::ttl::Ttl;

/// What the manifest knows of an attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) seq: i64,
    pub(crate) id: AttachmentId,
    pub(crate) name: Name,
    pub(crate) size: u64,
    /// Milliseconds.
    pub(crate) inserted_at: i64,
    pub(crate) ttl: Ttl,
    pub(crate) persist: bool,
    /// Microseconds; `None` for one that does not expire.
    pub(crate) deadline: Option<i64>,
}

impl Entry {
    /// The one comparison: past its time iff `deadline < cutoff`, strictly.
    pub(crate) fn is_expired(&self, cutoff: i64) -> bool {
        self.deadline.is_some_and(|deadline| deadline < cutoff)
    }

    pub(crate) fn deadline_instant(&self) -> Option<Timestamp> {
        self.deadline.and_then(|micros| Timestamp::from_microsecond(micros).ok())
    }
}

/// An entry that is due, and whether somebody holds it.
#[derive(Debug)]
pub(crate) struct Due {
    pub(crate) entry: Entry,
    pub(crate) held: bool,
}

/// Where a walk in the order of deadlines goes on: behind this deadline and number.
pub(crate) type Place = (i64, i64);

/// The totals, kept by triggers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) persistent: Amount,
    pub(crate) expirable: Amount,
    pub(crate) lasting: Amount,
}

/// So many attachments of so many bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
}

const COLUMNS: &str = "e.seq, e.id, e.name, e.size, e.inserted_at, e.ttl, e.persist, e.deadline";
const HELD: &str = "EXISTS (SELECT 1 FROM holds h WHERE h.entry = e.id AND h.until >= :held_at)";

/// A number of the manifest that cannot be negative.
fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    unsigned(column, row.get(column)?)
}

fn unsigned(column: usize, value: i64) -> rusqlite::Result<u64> {
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}

/// What SQLite can hold; no file and no page is larger.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn amount(row: &Row<'_>, column: usize) -> rusqlite::Result<Amount> {
    Ok(Amount { count: count(row, column)?, bytes: count(row, column + 1)? })
}

/// The raw row, before its name is looked at.
fn raw(row: &Row<'_>) -> rusqlite::Result<(Entry, String)> {
    let ttl: Option<i64> = row.get(5)?;
    let name: String = row.get(2)?;
    let entry = Entry {
        seq: row.get(0)?,
        id: row.get(1)?,
        name: Name::sanitised(&name),
        size: count(row, 3)?,
        inserted_at: row.get(4)?,
        ttl: Ttl::of_micros(ttl.map(|micros| unsigned(5, micros)).transpose()?),
        persist: row.get(6)?,
        deadline: row.get(7)?,
    };
    Ok((entry, name))
}

/// A name that is not safe was not written by us: following it could leave the area.
fn checked((entry, name): (Entry, String)) -> Result<Entry, StageError> {
    if entry.name.as_str() == name {
        Ok(entry)
    } else {
        Err(StageError::Damaged { what: format!("entry {} has the unsafe name {name:?}", entry.id) })
    }
}

pub(crate) fn find(conn: &Connection, id: &AttachmentId) -> Result<Option<Entry>, StageError> {
    let sql = format!("SELECT {COLUMNS} FROM entries e WHERE e.id = ?1");
    let mut statement = conn.prepare_cached(&sql).map_err(StageError::manifest("read"))?;
    let row = statement.query_row([id], raw).optional().map_err(StageError::manifest("read"))?;
    row.map(checked).transpose()
}

pub(crate) fn exists(conn: &Connection, id: &AttachmentId) -> Result<bool, StageError> {
    let read = || conn.prepare_cached("SELECT 1 FROM entries WHERE id = ?1")?.exists([id]);
    read().map_err(StageError::manifest("read"))
}

pub(crate) fn insert(conn: &Connection, entry: &Entry) -> Result<(), StageError> {
    let ttl = entry.ttl.micros()?;
    let write = || {
        conn.prepare_cached(
            "INSERT INTO entries (id, name, size, inserted_at, ttl, persist, deadline) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            entry.id,
            entry.name.as_str(),
            signed(entry.size),
            entry.inserted_at,
            ttl,
            entry.persist,
            entry.deadline
        ])
    };
    write().map(|_| ()).map_err(StageError::manifest("write"))
}

/// Records what a restage or a touch changes.
pub(crate) fn refresh(conn: &Connection, entry: &Entry) -> Result<(), StageError> {
    let ttl = entry.ttl.micros()?;
    let write = || {
        conn.prepare_cached("UPDATE entries SET inserted_at = ?2, ttl = ?3, persist = ?4, deadline = ?5 WHERE id = ?1")?
            .execute(params![entry.id, entry.inserted_at, ttl, entry.persist, entry.deadline])
    };
    write().map(|_| ()).map_err(StageError::manifest("write"))
}

pub(crate) fn delete(conn: &Connection, entry: &Entry) -> Result<(), StageError> {
    let write =
        || conn.prepare_cached("DELETE FROM entries WHERE seq = ?1 AND id = ?2")?.execute(params![entry.seq, entry.id]);
    write().map(|_| ()).map_err(StageError::manifest("write"))
}

/// At most `limit` entries whose deadline lies strictly before `cutoff`, soonest first, behind `after`.
pub(crate) fn due(
    conn: &Connection,
    cutoff: i64,
    held_at: i64,
    after: Option<Place>,
    limit: u64,
) -> Result<Vec<Due>, StageError> {
    let (deadline, seq) = after.unwrap_or((i64::MIN, i64::MIN));
    let sql = format!(
        "SELECT {COLUMNS}, {HELD} FROM entries e WHERE e.deadline < :cutoff AND e.deadline >= :deadline \
         AND (e.deadline > :deadline OR e.seq > :seq) ORDER BY e.deadline, e.seq LIMIT :limit"
    );
    let named = named_params! {
        ":held_at": held_at, ":cutoff": cutoff, ":deadline": deadline, ":seq": seq, ":limit": signed(limit),
    };
    let read = || -> rusqlite::Result<Vec<((Entry, String), bool)>> {
        let mut statement = conn.prepare_cached(&sql)?;
        statement.query_map(named, |row| Ok((raw(row)?, row.get(8)?)))?.collect()
    };
    let rows = read().map_err(StageError::manifest("read"))?;
    rows.into_iter().map(|(row, held)| Ok(Due { entry: checked(row)?, held })).collect()
}

/// At most `limit` entries in the order of their ids, behind `after`; without those expired at `living_at`, if given.
pub(crate) fn by_id(
    conn: &Connection,
    after: Option<&AttachmentId>,
    living_at: Option<i64>,
    limit: usize,
) -> Result<Vec<Entry>, StageError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM entries e WHERE e.id > ?1 AND (?2 IS NULL OR e.deadline IS NULL OR e.deadline >= ?2) \
         ORDER BY e.id LIMIT ?3"
    );
    let after = after.map_or(&[][..], |id| id.as_bytes());
    let read = || -> rusqlite::Result<Vec<(Entry, String)>> {
        conn.prepare_cached(&sql)?.query_map(params![after, living_at, signed(limit as u64)], raw)?.collect()
    };
    read().map_err(StageError::manifest("read"))?.into_iter().map(checked).collect()
}

/// At most `limit` entries that are not persistent, whatever their deadline, behind the number `after`.
pub(crate) fn expirable(conn: &Connection, held_at: i64, after: i64, limit: u64) -> Result<Vec<Due>, StageError> {
    let sql = format!(
        "SELECT {COLUMNS}, {HELD} FROM entries e WHERE e.seq > :after AND e.persist = 0 ORDER BY e.seq LIMIT :limit"
    );
    let named = named_params! { ":held_at": held_at, ":after": after, ":limit": signed(limit) };
    let read = || -> rusqlite::Result<Vec<((Entry, String), bool)>> {
        conn.prepare_cached(&sql)?.query_map(named, |row| Ok((raw(row)?, row.get(8)?)))?.collect()
    };
    let rows = read().map_err(StageError::manifest("read"))?;
    rows.into_iter().map(|(row, held)| Ok(Due { entry: checked(row)?, held })).collect()
}

pub(crate) fn totals(conn: &Connection) -> Result<Totals, StageError> {
    let read = || {
        conn.prepare_cached(
            "SELECT persistent_count, persistent_bytes, expirable_count, expirable_bytes, lasting_count, lasting_bytes \
             FROM totals",
        )?
        .query_row([], |row| {
            Ok(Totals { persistent: amount(row, 0)?, expirable: amount(row, 2)?, lasting: amount(row, 4)? })
        })
    };
    read().map_err(StageError::manifest("read"))
}

/// How much is past `cutoff`, and its earliest deadline.
pub(crate) fn survey(conn: &Connection, cutoff: i64) -> Result<(Amount, Option<i64>), StageError> {
    let read = || {
        conn.prepare_cached("SELECT count(*), coalesce(sum(size), 0), min(deadline) FROM entries WHERE deadline < ?1")?
            .query_row([cutoff], |row| Ok((amount(row, 0)?, row.get(2)?)))
    };
    read().map_err(StageError::manifest("read"))
}

/// The earliest deadline strictly before `cutoff`.
pub(crate) fn oldest(conn: &Connection, cutoff: i64) -> Result<Option<i64>, StageError> {
    let read = || {
        conn.prepare_cached("SELECT min(deadline) FROM entries WHERE deadline < ?1")?
            .query_row([cutoff], |row| row.get(0))
    };
    read().map_err(StageError::manifest("read"))
}

/// How much is held, among what has a deadline strictly before `cutoff` (or any, without one).
pub(crate) fn held(conn: &Connection, held_at: i64, cutoff: Option<i64>) -> Result<Amount, StageError> {
    let read = || {
        conn.prepare_cached(
            "SELECT count(*), coalesce(sum(size), 0) FROM entries WHERE deadline IS NOT NULL AND (?2 IS NULL OR deadline < ?2) \
             AND id IN (SELECT entry FROM holds WHERE until >= ?1)",
        )?
        .query_row(params![held_at, cutoff], |row| amount(row, 0))
    };
    read().map_err(StageError::manifest("read"))
}

pub(crate) fn is_held(conn: &Connection, id: &AttachmentId, held_at: i64) -> Result<bool, StageError> {
    let read =
        || conn.prepare_cached("SELECT 1 FROM holds WHERE entry = ?1 AND until >= ?2")?.exists(params![id, held_at]);
    read().map_err(StageError::manifest("read"))
}

/// A hold, or the same one with another end.
pub(crate) fn put_hold(conn: &Connection, hold: &[u8; 16], id: &AttachmentId, until: i64) -> Result<(), StageError> {
    let write = || {
        conn.prepare_cached("INSERT INTO holds (id, entry, until) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO UPDATE SET until = max(until, excluded.until)")?
            .execute(params![hold, id, until])
    };
    write().map(|_| ()).map_err(StageError::manifest("write"))
}

pub(crate) fn hold_until(conn: &Connection, hold: &[u8; 16]) -> Result<Option<i64>, StageError> {
    let read =
        || conn.prepare_cached("SELECT until FROM holds WHERE id = ?1")?.query_row([hold], |row| row.get(0)).optional();
    read().map_err(StageError::manifest("read"))
}

pub(crate) fn delete_hold(conn: &Connection, hold: &[u8; 16]) -> Result<(), StageError> {
    let write = || conn.prepare_cached("DELETE FROM holds WHERE id = ?1")?.execute([hold]);
    write().map(|_| ()).map_err(StageError::manifest("write"))
}

/// Forgets holds that ended before `held_at`: a few at a time, since whoever asks has other work.
pub(crate) fn forget_holds(conn: &Connection, held_at: i64) -> Result<(), StageError> {
    let write = || {
        conn.prepare_cached(
            "DELETE FROM holds WHERE id IN (SELECT id FROM holds WHERE until < ?1 ORDER BY until LIMIT 100)",
        )?
        .execute([held_at])
    };
    write().map(|_| ()).map_err(StageError::manifest("write"))
}
