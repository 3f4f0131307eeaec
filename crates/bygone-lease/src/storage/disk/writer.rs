//! The one thread that writes.
//!
//! It takes what waits for it, at most so much, and commits it as one. Whoever comes while the disk is being synced waits
//! for the next commit, which he then shares: the busier the store, the more each sync is worth.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use bytes::Bytes;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::file::failure;
use crate::storage::StorageError;

/// The most changes that one commit takes: others wait for the next, which is soon.
const GROUP_MAX: usize = 1_024;
/// Changes that wait; beyond, the store says that it has too much to do.
const WAITING_MAX: usize = 16_384;

/// A change of one key, under its condition.
#[derive(Debug)]
pub(super) enum Change {
    Put { key: String, body: Bytes, expected: Option<i64> },
    Delete { key: String, version: i64 },
}

/// The version that a change wrote, or took away.
type Answer = Result<i64, StorageError>;

#[derive(Debug)]
struct Request {
    change: Change,
    answer: oneshot::Sender<Answer>,
}

/// The way to the thread that writes.
#[derive(Debug)]
pub(super) struct Writer {
    requests: Option<SyncSender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(conn: Connection) -> Result<Self, StorageError> {
        let (requests, waiting) = sync_channel(WAITING_MAX);
        let thread = std::thread::Builder::new().name("lease-writer".into()).spawn(move || write_all(&conn, &waiting));
        let thread = thread.map_err(|error| StorageError::Unavailable { reason: error.to_string() })?;
        Ok(Self { requests: Some(requests), thread: Some(thread) })
    }

    /// Has a change carried out, and waits until it is on the disk.
    pub(super) async fn send(&self, change: Change) -> Answer {
        let gone = || StorageError::Unavailable { reason: "the writer has ended".to_owned() };
        let (answer, answered) = oneshot::channel();
        let requests = self.requests.as_ref().ok_or_else(gone)?;
        match requests.try_send(Request { change, answer }) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => return Err(StorageError::Throttled),
            Err(TrySendError::Disconnected(_)) => return Err(gone()),
        }
        let lost = |_| StorageError::Unknown { reason: "the writer ended before it answered".to_owned() };
        answered.await.map_err(lost)?
    }
}

impl Drop for Writer {
    /// What was sent is written before the file is closed.
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that writes the lease store has ended by a panic");
        }
    }
}

fn write_all(conn: &Connection, waiting: &Receiver<Request>) {
    while let Ok(first) = waiting.recv() {
        let mut group = vec![first];
        group.extend(waiting.try_iter().take(GROUP_MAX - 1));
        commit(conn, group);
    }
}

/// Carries out a group in one transaction, and answers when it is durable.
fn commit(conn: &Connection, group: Vec<Request>) {
    let (changes, answers): (Vec<_>, Vec<_>) =
        group.into_iter().map(|request| (request.change, request.answer)).unzip();
    let committed = carry_out(conn, &changes).map_err(|error| failure(&error)).and_then(|outcomes| {
        // Where the disk fails in the middle of this, the group may be there after a restart, or not.
        let unknown = |error: rusqlite::Error| StorageError::Unknown { reason: error.to_string() };
        conn.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([])).map_err(unknown)?;
        Ok(outcomes)
    });
    let outcomes = committed.unwrap_or_else(|error| {
        if !conn.is_autocommit()
            && let Err(error) = conn.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "a group of changes could not be rolled back");
        }
        changes.iter().map(|_| Err(error.clone())).collect()
    });
    for (answer, outcome) in answers.into_iter().zip(outcomes) {
        // Whoever went away does not want to know.
        let _ = answer.send(outcome);
    }
}

fn carry_out(conn: &Connection, changes: &[Change]) -> rusqlite::Result<Vec<Answer>> {
    conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let written: i64 = conn.prepare_cached("SELECT version FROM written")?.query_row([], |row| row.get(0))?;
    let mut version = written;
    let mut outcomes = Vec::with_capacity(changes.len());
    for change in changes {
        outcomes.push(match apply(conn, change, version + 1)? {
            Some(of) => {
                version = version.max(of);
                Ok(of)
            }
            None => Err(StorageError::conflict()),
        });
    }
    if version != written {
        conn.prepare_cached("UPDATE written SET version = ?1")?.execute([version])?;
    }
    Ok(outcomes)
}

/// Carries out one change; `None` when its condition is not met.
fn apply(conn: &Connection, change: &Change, version: i64) -> rusqlite::Result<Option<i64>> {
    let changed = match change {
        Change::Put { key, body, expected: None } => conn
            .prepare_cached("INSERT INTO item (key, version, body) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING")?
            .execute((key, version, &body[..]))?,
        Change::Put { key, body, expected: Some(expected) } => conn
            .prepare_cached("UPDATE item SET version = ?2, body = ?3 WHERE key = ?1 AND version = ?4")?
            .execute((key, version, &body[..], expected))?,
        Change::Delete { key, version } => {
            let deleted =
                conn.prepare_cached("DELETE FROM item WHERE key = ?1 AND version = ?2")?.execute((key, version))?;
            return Ok((deleted > 0).then_some(*version));
        }
    };
    Ok((changed > 0).then_some(version))
}
