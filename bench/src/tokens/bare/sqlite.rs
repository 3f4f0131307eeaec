//! rusqlite, each worker on a thread that may block. Who finds the file locked sleeps and looks again.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::{Connection, params};

use crate::failure::Failure;
use crate::tokens::case::{Case, Work};
use crate::tokens::credentials::{Times, digest, document};
use crate::tokens::series::{Worker, Workers};

/// How long a worker waits for the others.
const PATIENCE: Duration = Duration::from_secs(30);
/// As much memory for pages as the stores take, in KiB.
const CACHE_KIB: i64 = 14_336;

/// Opens the file for each of them, as durable as the stores have it.
pub(crate) fn workers(path: &Path, case: &Case) -> Result<Workers, Failure> {
    let mut workers = Workers::new();
    for _ in 0..case.workers {
        let connection = Connection::open(path)?;
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        connection.pragma_update(None, "synchronous", "full")?;
        connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
        let work = case.work;
        let document = document()?;
        workers.push(Box::new(Blocking { inner: Arc::new(Mutex::new(Inner { connection, work, document })) }));
    }
    Ok(workers)
}

struct Blocking {
    inner: Arc<Mutex<Inner>>,
}

#[async_trait]
impl Worker for Blocking {
    async fn work(&mut self, operations: u64) -> Result<(), Failure> {
        let inner = Arc::clone(&self.inner);
        let work = move || {
            let inner = inner.lock().unwrap_or_else(PoisonError::into_inner);
            (0..operations).try_for_each(|_| inner.once())
        };
        Ok(tokio::task::spawn_blocking(work).await??)
    }
}

struct Inner {
    connection: Connection,
    work: Work,
    document: String,
}

impl Inner {
    fn once(&self) -> rusqlite::Result<()> {
        match self.work {
            Work::IssueAndTake => {
                let code = digest();
                self.issue(&code)?;
                self.take(&code)
            }
            Work::Remember | Work::RememberAmong(_) => self.remember(),
        }
    }

    fn issue(&self, code: &[u8; 32]) -> rusqlite::Result<()> {
        let times = Times::of_code();
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO bare_authorization_codes (code, family, subject, inserted_at, expires_at, horizon, data)
             VALUES (?, ?, ?, ?, ?, ?, ?)",
        )?;
        insert.execute(params![code, digest(), digest(), times.now, times.expires_at, times.horizon, self.document])?;
        Ok(())
    }

    fn take(&self, code: &[u8; 32]) -> rusqlite::Result<()> {
        let now = Times::of_code().now;
        let mut update = self.connection.prepare_cached(
            "UPDATE bare_authorization_codes SET taken_at = ?1
             WHERE code = ?2 AND taken_at IS NULL AND expires_at > ?1 RETURNING data",
        )?;
        let mut rows = update.query(params![now, code])?;
        let _: String = rows.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?.get(0)?;
        // The statement is committed when it has come to its end.
        rows.next().map(drop)
    }

    fn remember(&self) -> rusqlite::Result<()> {
        let times = Times::of_jti();
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO bare_dpop_replays (jti, inserted_at, expires_at, horizon) VALUES (?, ?, ?, ?)",
        )?;
        insert.execute(params![digest(), times.now, times.expires_at, times.horizon])?;
        Ok(())
    }
}
