//! SQLite: a file for each contender, since a file's log and its checkpoints are those of everyone who writes to it.

use std::path::PathBuf;

use bygone_testkit::Sqlite;
use rusqlite::{Connection, params};

use super::Done;
use super::bare;
use super::case::Case;
use super::credentials::{LIVE_FROM_US, Times};
use super::series::{self, Bed, Tables, Workers};
use crate::failure::Failure;
use crate::noise::noise;

/// Runs the cases.
pub(crate) async fn run(cases: &[Case], runs: usize) -> Result<Done, Failure> {
    let mut bed = SqliteBed { files: Sqlite::fresh() };
    let results = series::measure_all(&mut bed, cases, runs).await?;
    Ok(Done { version: format!("SQLite {}", rusqlite::version()), results })
}

struct SqliteBed {
    files: Sqlite,
}

impl SqliteBed {
    fn path(&self, tables: Tables) -> PathBuf {
        self.files.directory().join(format!("{}tokens.db", tables.prefix()))
    }
}

impl Bed for SqliteBed {
    const BARE: &'static str = "bare rusqlite";

    fn url(&self, tables: Tables) -> String {
        format!("sqlite:{}", self.path(tables).display())
    }

    async fn bare(&self, case: &Case) -> Result<Workers, Failure> {
        bare::sqlite::workers(&self.path(Tables::Bare), case)
    }

    /// In the order of the keys, which lie evenly apart.
    async fn fill(&mut self, tables: Tables, rows: u64) -> Result<(), Failure> {
        let mut connection = Connection::open(self.path(tables))?;
        connection.pragma_update(None, "journal_mode", "off")?;
        connection.pragma_update(None, "synchronous", "off")?;
        let transaction = connection.transaction()?;
        let table = format!("{}dpop_replays", tables.prefix());
        let text = format!("INSERT INTO {table} (jti, inserted_at, expires_at, horizon) VALUES (?, ?, ?, ?)");
        let Times { now, .. } = Times::of_jti();
        let mut insert = transaction.prepare(&text)?;
        for row in 0..rows {
            let live = now + LIVE_FROM_US + i64::try_from(row)?;
            insert.execute(params![key(row, rows)?, now, live, live])?;
        }
        drop(insert);
        transaction.commit()?;
        connection.execute_batch("ANALYZE")?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        Ok(())
    }

    /// A log that nobody else reads is written back, and the file is on the disk.
    async fn come_to_rest(&mut self) -> Result<(), Failure> {
        for tables in Tables::ALL {
            let connection = Connection::open(self.path(tables))?;
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            std::fs::File::open(self.path(tables))?.sync_all()?;
        }
        Ok(())
    }
}

/// Four bytes that grow with the row, and noise.
fn key(row: u64, rows: u64) -> Result<[u8; 32], Failure> {
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&u32::try_from((row << 32) / rows)?.to_be_bytes());
    bytes[4..16].copy_from_slice(&noise(row).to_be_bytes()[..12]);
    bytes[16..].copy_from_slice(&noise(row + rows).to_be_bytes());
    Ok(bytes)
}
