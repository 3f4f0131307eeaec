//! The turn to sweep a database, by the database's own means: an advisory lock of PostgreSQL, `GET_LOCK` of MySQL, a locked
//! file beside that of SQLite.
//!
//! A lock of a server belongs to a session, so the turn has a connection of its own: when that is lost, so is the turn.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::{Clock, Closed, ErrorKind, Gate, Hindrance, Turn};
use tokio::sync::Mutex;

use crate::connection::{self, Connection, Purpose, Session};
use crate::engine::Engine;
use crate::error::SqlError;
use crate::query::Query;
use crate::source::SourceOptions;
use crate::value::Value;

/// How long the word of the server is taken for true.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// The turn to sweep one source.
pub struct SourceTurn {
    clock: Arc<dyn Clock>,
    held: Mutex<Option<Held>>,
}

/// What it is held by; `None` in its place when it was lost or given back.
enum Held {
    Session { engine: Engine, name: String, connection: Box<dyn Connection>, asked: Duration },
    File { _locked: File },
}

impl fmt::Debug for SourceTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceTurn").finish_non_exhaustive()
    }
}

impl SourceTurn {
    /// Takes the turn, if nobody has it.
    pub async fn take(options: &SourceOptions, clock: &Arc<dyn Clock>) -> Result<Option<Arc<Self>>, SqlError> {
        let held = match options.url.engine() {
            Engine::Sqlite => lock_file(options.url.as_str())?,
            engine => lock_in_session(engine, options, &**clock).await?,
        };
        Ok(held.map(|held| Arc::new(Self { clock: Arc::clone(clock), held: Mutex::new(Some(held)) })))
    }
}

async fn lock_in_session(engine: Engine, options: &SourceOptions, clock: &dyn Clock) -> Result<Option<Held>, SqlError> {
    let session = Session::new(engine, options.statement_timeout, options.lock_timeout, Purpose::Sweep);
    let mut connection = connection::connect(&options.url, session).await?;
    let name = lock_name(options);
    let rows = connection.query(&try_lock(engine, &name)).await?;
    let is_ours = rows.first().and_then(|row| row.first()).is_some_and(Value::truth);
    let asked = clock.elapsed();
    Ok(is_ours.then_some(Held::Session { engine, name, connection, asked }))
}

/// The file stays where it is: whoever took it away could take away another's lock.
fn lock_file(database: &str) -> Result<Option<Held>, SqlError> {
    let path = format!("{database}-bygone-turn");
    let failed = |error: std::io::Error| {
        SqlError::new(ErrorKind::Failed, format!("the turn to sweep cannot be taken by {path}: {error}"))
    };
    let mut options = OpenOptions::new();
    let locked = options.write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(failed)?;
    match locked.try_lock() {
        Ok(()) => Ok(Some(Held::File { _locked: locked })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Locks of PostgreSQL are of a database, those of MySQL of a server. Sources that differ in their tables only by a schema
/// or a prefix have turns of their own.
fn lock_name(options: &SourceOptions) -> String {
    let database = options.url.database().unwrap_or_default();
    let parts = [Some(database.as_str()), options.schema.as_deref(), options.table_prefix.as_deref()];
    let named: Vec<&str> = parts.into_iter().map(Option::unwrap_or_default).collect();
    format!("bygone {}", named.join("/"))
}

fn try_lock(engine: Engine, name: &str) -> Query {
    match engine {
        Engine::Postgres => Query::new(engine, "SELECT CASE WHEN pg_try_advisory_lock(hashtextextended(")
            .bind(Value::from(name), Some("text"))
            .sql(", 0)) THEN 1 ELSE 0 END::bigint"),
        // A name may have 64 characters there.
        _ => Query::new(engine, "SELECT GET_LOCK(MD5(").bind(Value::from(name), None).sql("), 0)"),
    }
}

/// Whether the session still has the lock.
fn ask(engine: Engine, name: &str) -> Query {
    match engine {
        // It has, for as long as it lives.
        Engine::Postgres => Query::new(engine, "SELECT 1::bigint"),
        _ => Query::new(engine, "SELECT IS_USED_LOCK(MD5(").bind(Value::from(name), None).sql(")) = CONNECTION_ID()"),
    }
}

fn unlock(engine: Engine, name: &str) -> Query {
    match engine {
        Engine::Postgres => Query::new(engine, "SELECT pg_advisory_unlock_all()"),
        _ => Query::new(engine, "SELECT RELEASE_LOCK(MD5(").bind(Value::from(name), None).sql("))"),
    }
}

#[async_trait]
impl Gate for SourceTurn {
    async fn closed(&self) -> Option<Closed> {
        let mut held = self.held.lock().await;
        if let Some(Held::Session { engine, name, connection, asked }) = held.as_mut()
            && self.clock.elapsed().saturating_sub(*asked) >= ASK_AGAIN
        {
            let rows = connection.query(&ask(*engine, name)).await.unwrap_or_default();
            *asked = self.clock.elapsed();
            if !rows.first().and_then(|row| row.first()).is_some_and(Value::truth) {
                *held = None;
            }
        }
        let is_lost = held.is_none();
        is_lost.then(|| Closed { by: Hindrance::Held, reason: "the turn to sweep was lost".to_owned() })
    }
}

#[async_trait]
impl Turn for SourceTurn {
    async fn give_back(&self) {
        if let Some(Held::Session { engine, name, mut connection, .. }) = self.held.lock().await.take()
            && let Err(error) = connection.query(&unlock(engine, &name)).await
        {
            // The server misses the session before long.
            tracing::debug!(%error, "the turn to sweep could not be given back");
        }
    }
}
