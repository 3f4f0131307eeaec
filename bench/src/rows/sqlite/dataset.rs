//! Tokens in SQLite: rows in the order of their making, keys that follow it or do not.

use bygone_core::{Clock, SystemClock};
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, params};

use crate::failure::Failure;
use crate::noise::noise;
use crate::rows::case::{Case, Layout};

const TABLE: &str = "CREATE TABLE tokens (
    id BLOB PRIMARY KEY NOT NULL,
    session_id BLOB NOT NULL,
    token TEXT NOT NULL UNIQUE,
    created_at TEXT NOT NULL,
    expires_at TEXT,
    revoked_at TEXT
)";
const INDEX: &str = "CREATE INDEX tokens_expires_at ON tokens (expires_at)";

/// Fills a database and leaves it in WAL mode, checkpointed.
pub(super) fn build(connection: &mut Connection, case: &Case) -> Result<(), Failure> {
    connection.pragma_update(None, "journal_mode", "off")?;
    connection.pragma_update(None, "synchronous", "off")?;
    // Keys at random touch every leaf: all of them stay in memory while the table is filled.
    connection.pragma_update(None, "cache_size", -1_000_000)?;
    connection.execute_batch(TABLE)?;
    let transaction = connection.transaction()?;
    fill(&transaction, case)?;
    transaction.commit()?;
    connection.execute_batch(INDEX)?;
    connection.execute_batch("ANALYZE")?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    Ok(())
}

fn fill(connection: &Connection, case: &Case) -> Result<(), Failure> {
    let now = SystemClock::new().now();
    let mut insert = connection.prepare("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, NULL)")?;
    for row in 0..case.rows {
        let seconds = SignedDuration::from_secs(i64::try_from(row)?);
        let created = now - SignedDuration::from_hours(60 * 24) + seconds;
        let expires = if row < case.expired {
            now - SignedDuration::from_secs(3600 + i64::try_from(case.expired - row)?)
        } else {
            now + SignedDuration::from_hours(24) + seconds
        };
        let id = key(case.layout, created, row);
        let token = hex(&key(case.layout, created, row.wrapping_add(case.rows)));
        let session = noise(row / 10).to_be_bytes();
        insert.execute(params![id.as_slice(), session.as_slice(), token, text(created), text(expires)])?;
    }
    Ok(())
}

/// Sixteen bytes: milliseconds and noise, or noise alone.
fn key(layout: Layout, created: Timestamp, seed: u64) -> [u8; 16] {
    let mut bytes = noise(seed).to_be_bytes();
    if layout == Layout::Ordered {
        bytes[..6].copy_from_slice(&created.as_millisecond().to_be_bytes()[2..]);
    }
    bytes
}

fn hex(bytes: &[u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(*bytes))
}

fn text(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_differ_and_follow_time_only_when_they_should() {
        let at = |row: i64| Timestamp::from_second(1_800_000_000 + row).unwrap();
        let keys = |layout| (0..2_000).map(move |row| key(layout, at(row), row.unsigned_abs())).collect::<Vec<_>>();
        for layout in [Layout::Ordered, Layout::Mixed] {
            assert_eq!(keys(layout).iter().collect::<HashSet<_>>().len(), 2_000);
        }
        assert!(keys(Layout::Ordered).is_sorted());
        assert!(!keys(Layout::Mixed).is_sorted());
    }
}
