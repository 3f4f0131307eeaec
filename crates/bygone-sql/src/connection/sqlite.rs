//! SQLite, in this process, on a thread that may block.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bygone_core::ErrorKind;
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{InterruptHandle, OpenFlags, Statement, params_from_iter};

use super::{Connection, Purpose, Session, sqlite_functions};
use crate::error::{SqlError, sqlite_kind};
use crate::query::Query;
use crate::url::SourceUrl;
use crate::value::{Row, Value};

/// Memory for pages, in KiB: enough that a page of the sweep seldom spills into the log before its commit, and little
/// enough that a large backlog takes no more memory than a small one.
const CACHE_KIB: u32 = 14_336;

/// Statements that a store keeps prepared: a handful for each of its tables.
const STORE_STATEMENTS: usize = 128;

pub(super) struct SqliteConnection {
    inner: Arc<Mutex<rusqlite::Connection>>,
    interrupt: Arc<InterruptHandle>,
    session: Session,
}

impl SqliteConnection {
    pub(super) async fn open(url: &SourceUrl, session: Session) -> Result<Self, SqlError> {
        let path = url.as_str().to_owned();
        let opened = tokio::task::spawn_blocking(move || open(&path, session)).await.map_err(|e| died(&e))?;
        let inner =
            opened.map_err(|e| SqlError::new(ErrorKind::Unreachable, format!("cannot open {url}: {}", plain(&e))))?;
        let interrupt = Arc::new(inner.get_interrupt_handle());
        let inner = Arc::new(Mutex::new(inner));
        Ok(Self { inner, interrupt, session })
    }

    /// Runs `work` where it may block, and interrupts it when it takes too long or when nobody waits any more.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, SqlError> {
        let inner = Arc::clone(&self.inner);
        let mut task = tokio::task::spawn_blocking(move || {
            let connection = inner.lock().unwrap_or_else(PoisonError::into_inner);
            work(&connection)
        });
        let finished = if let Ok(finished) = tokio::time::timeout(self.session.statement_timeout, &mut task).await {
            finished
        } else {
            self.interrupt.interrupt();
            task.await
        };
        finished.map_err(|e| died(&e))?.map_err(|e| SqlError::new(sqlite_kind(&e), plain(&e)))
    }
}

fn open(path: &str, session: Session) -> rusqlite::Result<rusqlite::Connection> {
    // A sweep never creates a database: a misspelt path is an error, not an empty table. A plan opens it for reading
    // only, so that not even a checkpoint at the end can change the file.
    let access = match session.purpose {
        Purpose::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        Purpose::Sweep => OpenFlags::SQLITE_OPEN_READ_WRITE,
        Purpose::Store => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
    };
    let connection = rusqlite::Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(session.lock_timeout)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "cache_size", -i64::from(CACHE_KIB))?;
    match session.purpose {
        Purpose::Read => connection.pragma_update(None, "query_only", true)?,
        Purpose::Sweep => sweep_settings(&connection)?,
        Purpose::Store => store_settings(&connection)?,
    }
    // A quoted name that no column has is otherwise read as a text, and a misspelt `where` then means something else. Who
    // keeps a store has no such `where`.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, session.purpose == Purpose::Store)?;
    sqlite_functions::register(&connection)?;
    Ok(connection)
}

fn sweep_settings(connection: &rusqlite::Connection) -> rusqlite::Result<()> {
    let journal: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if journal.eq_ignore_ascii_case("wal") {
        // In the log a commit need not wait for the disk to be safe against corruption; `settle` waits, once.
        connection.pragma_update(None, "synchronous", "normal")?;
        // A commit that checkpoints takes ten times its own time. Sweeps do that between pages.
        connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    }
    Ok(())
}

fn store_settings(connection: &rusqlite::Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(STORE_STATEMENTS);
    let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
    if pages == 0 {
        // A file that is new has nobody else's settings: with a log, readers and the writer do not wait for each other.
        connection.pragma_update(None, "journal_mode", "wal")?;
    }
    // What was used once must not come back after a loss of power.
    connection.pragma_update(None, "synchronous", "full")
}

#[async_trait]
impl Connection for SqliteConnection {
    async fn query(&mut self, query: &Query) -> Result<Vec<Row>, SqlError> {
        let query = query.clone();
        self.blocking(move |connection| {
            with_statement(connection, &query, |statement| {
                let columns = statement.column_count();
                let mut rows = statement.query(params_from_iter(query.values().iter().map(to_sqlite)))?;
                let mut out = Vec::new();
                while let Some(row) = rows.next()? {
                    out.push((0..columns).map(|at| row.get_ref(at).map(from_sqlite)).collect::<Result<_, _>>()?);
                }
                Ok(out)
            })
        })
        .await
    }

    async fn execute(&mut self, query: &Query) -> Result<u64, SqlError> {
        let query = query.clone();
        // Each change of the setting makes SQLite prepare every statement anew, so a store has it once and for all.
        let set_apart = self.session.purpose != Purpose::Store;
        self.blocking(move |connection| {
            // Triggers were written by others, who may have quoted their texts like names.
            if set_apart {
                connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, true)?;
            }
            let rows = with_statement(connection, &query, |statement| {
                statement.execute(params_from_iter(query.values().iter().map(to_sqlite)))
            });
            if set_apart {
                connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
            }
            rows
        })
        .await
        .map(|rows| rows as u64)
    }

    async fn run(&mut self, text: &str) -> Result<(), SqlError> {
        let text = text.to_owned();
        self.blocking(move |connection| connection.execute_batch(&text)).await
    }
}

fn with_statement<T>(
    connection: &rusqlite::Connection,
    query: &Query,
    work: impl FnOnce(&mut Statement<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    if query.is_repeated() {
        work(&mut *connection.prepare_cached(query.text())?)
    } else {
        work(&mut connection.prepare(query.text())?)
    }
}

fn to_sqlite(value: &Value) -> rusqlite::types::Value {
    match value {
        Value::Null => rusqlite::types::Value::Null,
        // The last two are PostgreSQL's alone.
        Value::Int(n) | Value::Instant(n) | Value::Local(n) => rusqlite::types::Value::Integer(*n),
        Value::Real(x) => rusqlite::types::Value::Real(*x),
        Value::Text(text) => rusqlite::types::Value::Text(text.clone()),
        Value::Blob(bytes) => rusqlite::types::Value::Blob(bytes.clone()),
    }
}

fn from_sqlite(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(n) => Value::Int(n),
        ValueRef::Real(x) => Value::Real(x),
        // Text that is no UTF-8 travels as bytes: nothing is guessed.
        ValueRef::Text(bytes) => match str::from_utf8(bytes) {
            Ok(text) => Value::Text(text.to_owned()),
            Err(_) => Value::Blob(bytes.to_vec()),
        },
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}

fn plain(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        other => other.to_string(),
    }
}

fn died(error: &tokio::task::JoinError) -> SqlError {
    SqlError::new(ErrorKind::Failed, format!("the SQLite thread died: {error}"))
}
