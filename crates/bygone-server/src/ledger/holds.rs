//! What people hold back: it outlives the daemon.

use jiff::Timestamp;
use rusqlite::Connection;

pub(super) const TABLE: &str = "
    -- The empty name stands for all policies.
    CREATE TABLE hold (
        policy TEXT NOT NULL PRIMARY KEY,
        since_ms INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;";

/// What is held; `None` stands for everything.
pub(super) fn all(conn: &Connection) -> rusqlite::Result<Vec<Option<String>>> {
    let mut statement = conn.prepare_cached("SELECT nullif(policy, '') FROM hold ORDER BY policy")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

pub(super) fn set(conn: &Connection, policy: Option<&str>, is_held: bool, now: Timestamp) -> rusqlite::Result<()> {
    let policy = policy.unwrap_or_default();
    if is_held {
        let sql = "INSERT INTO hold (policy, since_ms) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        conn.execute(sql, (policy, now.as_millisecond()))?;
    } else {
        conn.execute("DELETE FROM hold WHERE policy = ?1", [policy])?;
    }
    Ok(())
}
