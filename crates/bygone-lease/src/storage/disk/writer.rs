//! The one thread that writes.
//!
//! It takes what waits for it, at most so much, and commits it as one. Whoever comes while the disk is being synced waits
//! for the next commit, which he then shares: the busier the store, the more each sync is worth.
//!
//! When a group was answered, its clients come back with their next changes, one after the other. A writer that went off
//! with the first of them would sync the disk for him alone, and all others would wait for that and for their own. So it
//! carries out what has come, and waits for as many as it knows of before it commits, though never for longer than part of
//! what a commit takes: who is alone never waits, and who is waited for in vain costs little.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use bygone_core::{Clock, SystemClock};
use bytes::Bytes;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::file::failure;
use super::line::Line;
use crate::storage::StorageError;

/// The most changes that one commit takes: others wait for the next, which is soon.
const GROUP_MAX: usize = 1_024;
/// The part of a commit's time that the next one may wait for those who are expected.
const PATIENCE_PART: u32 = 2;
/// Those who are expected are taken in so many parts, so that the first are carried out while the last are on their way...
const PARTS: usize = 4;
/// ... but in none that is smaller: to be woken costs more than to carry out a change.
const PART_MIN: usize = 8;
/// The longest that it may be: a commit may have had to wait for another process.
const PATIENCE_MAX: Duration = Duration::from_millis(5);

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
    line: Arc<Line<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(conn: Connection) -> Result<Self, StorageError> {
        let line = Arc::new(Line::new());
        let waiting = Arc::clone(&line);
        let thread = std::thread::Builder::new().name("lease-writer".into()).spawn(move || write_all(&conn, &waiting));
        let thread = thread.map_err(|error| StorageError::Unavailable { reason: error.to_string() })?;
        Ok(Self { line, thread: Some(thread) })
    }

    /// Has a change carried out, and waits until it is on the disk.
    pub(super) async fn send(&self, change: Change) -> Answer {
        let (answer, answered) = oneshot::channel();
        self.line.join(Request { change, answer })?;
        let lost = |_| StorageError::Unknown { reason: "the writer ended before it answered".to_owned() };
        answered.await.map_err(lost)?
    }
}

impl Drop for Writer {
    /// What was sent is written before the file is closed.
    fn drop(&mut self) {
        self.line.close();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that writes the lease store has ended by a panic");
        }
    }
}

fn write_all(conn: &Connection, line: &Line<Request>) {
    // However it ends, nobody joins a line that is not served any more.
    let _closing = Closing(line);
    let clock = SystemClock::new();
    let (mut expected, mut patience) = (1_usize, Duration::ZERO);
    while let Some(first) = line.next_group(GROUP_MAX) {
        let (began, mut waited) = (clock.elapsed(), Duration::ZERO);
        let join = |so_far: usize| {
            let (missing, left) = (expected.saturating_sub(so_far), patience.saturating_sub(waited));
            if missing == 0 || left.is_zero() {
                return Vec::new();
            }
            let asked = clock.elapsed();
            let more = line.more(missing.min((expected / PARTS).max(PART_MIN)), left);
            waited += clock.elapsed().saturating_sub(asked);
            more
        };
        let answers = commit(conn, first, join);
        let took = clock.elapsed().saturating_sub(began).saturating_sub(waited);
        patience = (took / PATIENCE_PART).min(PATIENCE_MAX);
        // All who are answered now may come back, to those who wait already.
        expected = (answers.len() + line.length()).min(GROUP_MAX);
        for (answer, outcome) in answers {
            // Whoever went away does not want to know.
            let _ = answer.send(outcome);
        }
    }
}

/// Closes the line of a thread that has ended, even by a panic.
struct Closing<'a>(&'a Line<Request>);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
        // Whoever waits is told that his answer is lost.
        while self.0.next_group(GROUP_MAX).is_some() {}
    }
}

/// Carries out a group in one transaction, and whoever joins it until nobody does. When this is over, it is durable, and
/// everybody may have his answer.
fn commit(
    conn: &Connection,
    first: Vec<Request>,
    join: impl FnMut(usize) -> Vec<Request>,
) -> Vec<(oneshot::Sender<Answer>, Answer)> {
    let mut answers = Vec::with_capacity(first.len());
    let committed = carry_out(conn, first, join, &mut answers).map_err(|error| failure(&error)).and_then(|outcomes| {
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
        answers.iter().map(|_| Err(error.clone())).collect()
    });
    answers.into_iter().zip(outcomes).collect()
}

/// Who is to be answered stands in `answers`, also where this fails.
fn carry_out(
    conn: &Connection,
    first: Vec<Request>,
    mut join: impl FnMut(usize) -> Vec<Request>,
    answers: &mut Vec<oneshot::Sender<Answer>>,
) -> rusqlite::Result<Vec<Answer>> {
    let split = |requests: Vec<Request>| -> (Vec<Change>, Vec<oneshot::Sender<Answer>>) {
        requests.into_iter().map(|request| (request.change, request.answer)).unzip()
    };
    let (mut changes, senders) = split(first);
    answers.extend(senders);
    conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
    let written: i64 = conn.prepare_cached("SELECT version FROM written")?.query_row([], |row| row.get(0))?;
    let mut version = written;
    let mut outcomes = Vec::with_capacity(answers.len());
    while !changes.is_empty() {
        for change in &changes {
            outcomes.push(match apply(conn, change, version + 1)? {
                Some(of) => {
                    version = version.max(of);
                    Ok(of)
                }
                None => Err(StorageError::conflict()),
            });
        }
        let senders;
        (changes, senders) = split(join(outcomes.len()));
        answers.extend(senders);
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
