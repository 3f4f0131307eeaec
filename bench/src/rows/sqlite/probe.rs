//! How long a second writer waits while a sweep runs.
//!
//! SQLite has one lock for all writers, so what a sweep does to its neighbours is exactly how long they wait for it.
//! The page times of the sweep hold more than that: a page also looks for its end, without the lock.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bygone_core::{Clock, SystemClock};
use rusqlite::Connection;
use tokio::task::JoinHandle;

use crate::failure::Failure;
use crate::statistics::{longest_ms, percentile_ms};

/// Between two tries for the lock: much shorter than a page.
const TRY_PAUSE: Duration = Duration::from_micros(500);
/// Between two writes of the neighbour, so that it does not become the main load.
const REST: Duration = Duration::from_millis(5);

/// A neighbour that takes the writer's lock again and again, and gives it back at once.
pub(super) struct Probe {
    done: Arc<AtomicBool>,
    task: JoinHandle<Result<Vec<Duration>, rusqlite::Error>>,
}

impl Probe {
    /// Begins.
    pub(super) fn start(path: &Path) -> Result<Self, Failure> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::ZERO)?;
        let done = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(write_until(Arc::clone(&done), connection));
        Ok(Self { done, task })
    }

    /// Ends, and says how long it waited for the lock.
    pub(super) async fn stop(self) -> Result<String, Failure> {
        self.done.store(true, Ordering::Relaxed);
        let waits = self.task.await??;
        let (p50, p99) = (percentile_ms(&waits, 50), percentile_ms(&waits, 99));
        match (p50, p99, longest_ms(&waits)) {
            (Some(p50), Some(p99), Some(longest)) => Ok(format!(
                "a second writer beside it got the lock {} times, after {p50:.1} / {p99:.1} / {longest:.1} ms (p50 / p99 / max)",
                waits.len()
            )),
            _ => Ok("a second writer beside it never got the lock".to_owned()),
        }
    }
}

async fn write_until(done: Arc<AtomicBool>, connection: Connection) -> Result<Vec<Duration>, rusqlite::Error> {
    let clock = SystemClock::new();
    let mut waits = Vec::new();
    while !done.load(Ordering::Relaxed) {
        let before = clock.elapsed();
        while let Err(error) = connection.execute_batch("BEGIN IMMEDIATE") {
            if error.sqlite_error_code() != Some(rusqlite::ErrorCode::DatabaseBusy) {
                return Err(error);
            }
            clock.sleep(TRY_PAUSE).await;
        }
        waits.push(clock.elapsed().saturating_sub(before));
        connection.execute_batch("ROLLBACK")?;
        clock.sleep(REST).await;
    }
    Ok(waits)
}
