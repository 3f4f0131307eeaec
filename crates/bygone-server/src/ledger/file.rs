//! The file of the ledger: how it is opened, and every statement that it knows.

use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use bygone_core::Tally;
use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, TransactionBehavior, named_params};
use uuid::Uuid;

use super::{Cause, DayCount, Entry, LedgerError, Past, PastRun, Standing, Trouble, Wanted, holds};

/// Marks the file as ours, in its header: `bylg` in ASCII.
const APPLICATION_ID: i32 = 0x6279_6c67;
const FORMAT: i32 = 2;
/// A reader of the file, `sqlite3` for example, may hold it for a moment.
const BUSY_WAIT: Duration = Duration::from_secs(10);
/// What stands where a sweep has no outcome because its daemon was gone before its end.
const INTERRUPTED: &str = "interrupted";

const TABLES: &str = "
    CREATE TABLE sweep (
        id TEXT NOT NULL PRIMARY KEY,
        began_ms INTEGER NOT NULL,
        -- NULL while it runs.
        ended_ms INTEGER,
        cause TEXT NOT NULL,
        outcome TEXT,
        report TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE run (
        sweep TEXT NOT NULL REFERENCES sweep (id) ON DELETE CASCADE,
        policy TEXT NOT NULL,
        ended_ms INTEGER,
        outcome TEXT,
        removed INTEGER NOT NULL DEFAULT 0,
        cleared INTEGER NOT NULL DEFAULT 0,
        kept_back INTEGER NOT NULL DEFAULT 0,
        lag_seconds INTEGER,
        backlog INTEGER,
        -- What went wrong, in words, and in a word where that is worth an alarm.
        error TEXT,
        trouble TEXT,
        PRIMARY KEY (sweep, policy)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX run_of_policy ON run (policy, sweep);
    CREATE INDEX sweep_ended ON sweep (ended_ms, id);";

/// Opens the file, and makes it where there is none. It is for its owner alone: reports name tables and paths.
pub(super) fn open(path: &Path) -> Result<Connection, LedgerError> {
    let unusable = |error: std::io::Error| LedgerError::Unusable { path: path.into(), reason: error.to_string() };
    if let Some(directory) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(unusable)?;
    }
    let opened = std::fs::OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
    opened.map_err(unusable)?;
    let refused = |error: rusqlite::Error| LedgerError::Unusable { path: path.into(), reason: error.to_string() };
    let (conn, is_ours) = prepare(path).map_err(refused)?;
    if is_ours { Ok(conn) } else { Err(foreign(path)) }
}

/// Opens the file to read it, if there is one. Nothing is written.
pub(super) fn look(path: &Path) -> Result<Option<Connection>, LedgerError> {
    let unusable = |reason: String| LedgerError::Unusable { path: path.into(), reason };
    if !path.try_exists().map_err(|error| unusable(error.to_string()))? {
        return Ok(None);
    }
    let open = || {
        let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        conn.busy_timeout(BUSY_WAIT)?;
        let is_ours = marks(&conn)? == (APPLICATION_ID, FORMAT);
        Ok((conn, is_ours))
    };
    let (conn, is_ours) = open().map_err(|error: rusqlite::Error| unusable(error.to_string()))?;
    if is_ours { Ok(Some(conn)) } else { Err(foreign(path)) }
}

fn foreign(path: &Path) -> LedgerError {
    LedgerError::Unusable { path: path.into(), reason: "it is not a ledger of this version".to_owned() }
}

/// Whose file it is, and of which format, by its header.
fn marks(conn: &Connection) -> rusqlite::Result<(i32, i32)> {
    let number = |sql| conn.query_row(sql, [], |row| row.get::<_, i32>(0));
    Ok((number("PRAGMA application_id")?, number("PRAGMA user_version")?))
}

fn prepare(path: &Path) -> rusqlite::Result<(Connection, bool)> {
    let mut conn = Connection::open(path)?;
    conn.busy_timeout(BUSY_WAIT)?;
    conn.pragma_update(None, "journal_mode", "WAL")?;
    // What was said outlives the process; after a power failure the last moments may be missing.
    conn.pragma_update(None, "synchronous", "NORMAL")?;
    conn.pragma_update(None, "foreign_keys", true)?;
    let setup = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let marks = marks(&setup)?;
    let tables: i64 = setup.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let is_new = marks.0 == 0 && tables == 0;
    if is_new {
        setup.execute_batch(TABLES)?;
        setup.execute_batch(holds::TABLE)?;
        setup.pragma_update(None, "application_id", APPLICATION_ID)?;
        setup.pragma_update(None, "user_version", FORMAT)?;
    }
    setup.commit()?;
    Ok((conn, is_new || marks == (APPLICATION_ID, FORMAT)))
}

/// Ends what an earlier daemon began and did not come back to say more of.
pub(super) fn close_interrupted(conn: &mut Connection, now: Timestamp) -> rusqlite::Result<usize> {
    let change = conn.transaction()?;
    let now = now.as_millisecond();
    change.execute("UPDATE run SET outcome = ?1, ended_ms = ?2 WHERE ended_ms IS NULL", (INTERRUPTED, now))?;
    let closed =
        change.execute("UPDATE sweep SET outcome = ?1, ended_ms = ?2 WHERE ended_ms IS NULL", (INTERRUPTED, now))?;
    change.commit()?;
    Ok(closed)
}

pub(super) fn begin(
    conn: &mut Connection,
    sweep: Uuid,
    at: Timestamp,
    cause: Cause,
    policies: &[String],
) -> rusqlite::Result<()> {
    let change = conn.transaction()?;
    change.execute(
        "INSERT INTO sweep (id, began_ms, cause) VALUES (?1, ?2, ?3)",
        (sweep.to_string(), at.as_millisecond(), cause.as_str()),
    )?;
    for policy in policies {
        change.execute("INSERT INTO run (sweep, policy) VALUES (?1, ?2)", (sweep.to_string(), policy))?;
    }
    change.commit()
}

pub(super) fn progress(conn: &Connection, sweep: Uuid, policy: &str, so_far: &Tally) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "UPDATE run SET removed = :removed, cleared = :cleared, kept_back = :kept_back
         WHERE sweep = :sweep AND policy = :policy AND ended_ms IS NULL",
    )?
    .execute(named_params! {
        ":sweep": sweep.to_string(), ":policy": policy,
        ":removed": count(so_far.removed), ":cleared": count(so_far.cleared),
        ":kept_back": count(so_far.kept_back.total()),
    })?;
    Ok(())
}

/// A sweep ends once: what was said of its end stands.
pub(super) fn end(conn: &mut Connection, entry: &Entry, at: Timestamp) -> rusqlite::Result<bool> {
    let change = conn.transaction()?;
    let id = entry.sweep.to_string();
    let ended = change.execute(
        "UPDATE sweep SET outcome = ?2, ended_ms = ?3, report = ?4 WHERE id = ?1 AND ended_ms IS NULL",
        (&id, &entry.outcome, at.as_millisecond(), &entry.report),
    )?;
    if ended > 0 {
        let mut end_run = change.prepare(
            "UPDATE run SET outcome = :outcome, ended_ms = :at, removed = :removed, cleared = :cleared,
                            kept_back = :kept_back, lag_seconds = :lag, backlog = :backlog,
                            error = :error, trouble = :trouble
             WHERE sweep = :sweep AND policy = :policy",
        )?;
        for run in &entry.runs {
            end_run.execute(named_params! {
                ":sweep": &id, ":policy": run.policy, ":outcome": run.outcome.as_str(), ":at": at.as_millisecond(),
                ":removed": count(run.tally.removed), ":cleared": count(run.tally.cleared),
                ":kept_back": count(run.tally.kept_back.total()), ":lag": count(run.lag_seconds),
                ":backlog": entry.backlogs.get(&run.policy).copied().map(count),
                ":error": run.error, ":trouble": run.error_kind.and_then(Trouble::of).map(Trouble::as_str),
            })?;
        }
    }
    change.commit()?;
    Ok(ended > 0)
}

/// What is told of a sweep, in the order in which [`past`] reads it.
const PAST: &str = "SELECT id, began_ms, ended_ms, cause, outcome,
            (SELECT coalesce(sum(removed), 0) FROM run WHERE run.sweep = sweep.id),
            (SELECT json_group_array(policy) FROM run WHERE run.sweep = sweep.id)
     FROM sweep";

pub(super) fn sweep(conn: &Connection, sweep: Uuid) -> rusqlite::Result<Option<Past>> {
    conn.prepare_cached(&format!("{PAST} WHERE id = ?1"))?.query_row([sweep.to_string()], past).optional()
}

pub(super) fn list(conn: &Connection, wanted: &Wanted) -> rusqlite::Result<Vec<Past>> {
    let mut statement = conn.prepare_cached(&format!(
        "{PAST}
         WHERE (:before IS NULL OR id < :before)
           AND (:policy IS NULL OR EXISTS (SELECT 1 FROM run WHERE run.sweep = sweep.id AND run.policy = :policy))
         ORDER BY id DESC LIMIT :limit",
    ))?;
    let before = wanted.before.map(|before| before.to_string());
    let parameters = named_params! { ":before": before, ":policy": wanted.policy, ":limit": wanted.limit };
    statement.query_map(parameters, past)?.collect()
}

pub(super) fn runs(conn: &Connection, sweep: Uuid) -> rusqlite::Result<Vec<PastRun>> {
    let mut statement =
        conn.prepare_cached("SELECT policy, outcome, removed, cleared FROM run WHERE sweep = ?1 ORDER BY policy")?;
    let rows = statement.query_map([sweep.to_string()], |row| {
        Ok(PastRun {
            policy: row.get(0)?,
            outcome: row.get(1)?,
            removed: u64::try_from(row.get::<_, i64>(2)?).unwrap_or(0),
            cleared: u64::try_from(row.get::<_, i64>(3)?).unwrap_or(0),
        })
    })?;
    rows.collect()
}

fn past(row: &Row<'_>) -> rusqlite::Result<Past> {
    let policies: String = row.get(6)?;
    Ok(Past {
        sweep: id(row, 0)?,
        began: instant(row.get(1)?),
        ended: row.get::<_, Option<i64>>(2)?.map(instant),
        cause: row.get(3)?,
        outcome: row.get(4)?,
        removed: u64::try_from(row.get::<_, i64>(5)?).unwrap_or(0),
        policies: serde_json::from_str(&policies).unwrap_or_default(),
    })
}

pub(super) fn report(conn: &Connection, sweep: Uuid) -> rusqlite::Result<Option<String>> {
    let mut statement = conn.prepare_cached("SELECT report FROM sweep WHERE id = ?1")?;
    statement.query_row([sweep.to_string()], |row| row.get(0)).optional().map(Option::flatten)
}

/// The last run of a policy that ended, and the last that was complete.
pub(super) fn standing(conn: &Connection, policy: &str) -> rusqlite::Result<Standing> {
    let last = conn
        .prepare_cached(
            "SELECT sweep, ended_ms, outcome, removed, kept_back, lag_seconds, backlog FROM run
             WHERE policy = ?1 AND ended_ms IS NOT NULL ORDER BY sweep DESC LIMIT 1",
        )?
        .query_row([policy], |row| {
            Ok(Standing {
                sweep: Some(id(row, 0)?),
                ended: Some(instant(row.get(1)?)),
                outcome: row.get(2)?,
                removed: u64::try_from(row.get::<_, i64>(3)?).unwrap_or(0),
                kept_back: u64::try_from(row.get::<_, i64>(4)?).unwrap_or(0),
                lag_seconds: row.get::<_, Option<i64>>(5)?.and_then(|lag| u64::try_from(lag).ok()),
                backlog: row.get::<_, Option<i64>>(6)?.and_then(|backlog| u64::try_from(backlog).ok()),
                completed: None,
            })
        })
        .optional()?;
    let completed = conn
        .prepare_cached(
            "SELECT ended_ms FROM run WHERE policy = ?1 AND outcome = 'complete' ORDER BY sweep DESC LIMIT 1",
        )?
        .query_row([policy], |row| row.get(0))
        .optional()?;
    Ok(Standing { completed: completed.map(instant), ..last.unwrap_or_default() })
}

/// What a policy removed on each day, since a moment.
pub(super) fn days(conn: &Connection, policy: &str, since: Timestamp) -> rusqlite::Result<Vec<DayCount>> {
    let mut statement = conn.prepare_cached(
        "SELECT date(ended_ms / 1000, 'unixepoch') AS day, sum(removed + cleared) FROM run
         WHERE policy = ?1 AND ended_ms >= ?2 GROUP BY day ORDER BY day",
    )?;
    let rows = statement.query_map((policy, since.as_millisecond()), |row| {
        Ok(DayCount { day: row.get(0)?, done: u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0) })
    })?;
    rows.collect()
}

pub(super) fn id(row: &Row<'_>, at: usize) -> rusqlite::Result<Uuid> {
    let text: String = row.get(at)?;
    let unreadable =
        |error| rusqlite::Error::FromSqlConversionFailure(at, rusqlite::types::Type::Text, Box::new(error));
    Uuid::parse_str(&text).map_err(unreadable)
}

pub(super) fn instant(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX)
}

fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
