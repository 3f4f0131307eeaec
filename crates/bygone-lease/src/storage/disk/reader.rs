//! The threads that read.
//!
//! A read may have to wait for the disk, so it is not done where tasks run. A thread takes what waits for it and answers
//! all of that from one look at the file: where many ask at once, waking a thread and finding the end of the log is shared
//! by many.

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::file;
use super::line::Line;
use crate::storage::StorageError;

/// Reads that wait for the disk at the same time.
const THREADS: usize = 4;
/// The most that one thread takes at once: what is left is for the others.
const BATCH_MAX: usize = 64;

/// One read, with where its answer goes.
type Look = Box<dyn FnOnce(Result<&Connection, StorageError>) + Send>;

/// The way to the threads that read.
#[derive(Debug)]
pub(super) struct Readers {
    line: Arc<Line<Look>>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    pub(super) fn start(path: &Path) -> Result<Self, StorageError> {
        let mut readers = Self { line: Arc::new(Line::new()), threads: Vec::new() };
        for _ in 0..THREADS {
            let (path, line) = (path.to_owned(), Arc::clone(&readers.line));
            let thread = std::thread::Builder::new().name("lease-reader".into());
            let started = thread.spawn(move || read_all(&path, &line));
            readers.threads.push(started.map_err(|error| StorageError::Unavailable { reason: error.to_string() })?);
        }
        Ok(readers)
    }

    /// Has something read from the file.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StorageError> {
        let (answer, answered) = oneshot::channel();
        let look: Look = Box::new(move |reader| {
            let found = reader.and_then(|reader| work(reader).map_err(|error| file::failure(&error)));
            // Whoever went away does not want to know.
            let _ = answer.send(found);
        });
        self.line.join(look)?;
        let lost = |_| StorageError::Unavailable { reason: "the reader ended before it answered".to_owned() };
        answered.await.map_err(lost)?
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.line.close();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread that reads the lease store has ended by a panic");
            }
        }
    }
}

fn read_all(path: &Path, line: &Line<Look>) {
    let mut idle = None;
    while let Some(batch) = line.next_group(BATCH_MAX) {
        match idle.take().map_or_else(|| file::connect_to_read(path), Ok) {
            Ok(reader) => idle = answer(reader, batch),
            Err(error) => batch.into_iter().for_each(|look| look(Err(error.clone()))),
        }
    }
}

/// Answers all from one look, which begins after the last of them was asked, so none is told what was true before. Gives
/// the reader back unless it is stuck in that look: the next one would be told what is true now.
fn answer(reader: Connection, batch: Vec<Look>) -> Option<Connection> {
    let run = |sql| reader.prepare_cached(sql).and_then(|mut statement| statement.execute([]));
    let is_shared = batch.len() > 1 && run("BEGIN").is_ok();
    for look in batch {
        look(Ok(&reader));
    }
    if is_shared && let Err(error) = run("COMMIT") {
        tracing::warn!(%error, "a reader of the lease store is opened anew");
    }
    reader.is_autocommit().then_some(reader)
}
