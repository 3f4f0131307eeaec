//! One connection to a database, reduced to what the rest needs: run a statement, get rows of [`Value`]s.

mod metered;
mod mysql;
mod postgres;
mod sqlite;
mod sqlite_functions;

pub(crate) use metered::own_work;
pub(crate) use sqlite_functions::{TEXT_US, ULID_US, UUID7_US};

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::ErrorKind;

use crate::engine::Engine;
use crate::error::SqlError;
use crate::query::Query;
use crate::url::SourceUrl;
use crate::value::{Row, Value};

/// The longest that one statement may run.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest wait for a server to let us in.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// What a session may do, and how long it waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Session {
    /// The longest that one statement may run.
    pub(crate) statement_timeout: Duration,
    /// The longest wait for somebody else's lock.
    pub(crate) lock_timeout: Duration,
    /// What for.
    pub(crate) purpose: Purpose,
}

/// What a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To look: the database is told to refuse every write.
    Read,
    /// To sweep: a commit need not wait for the disk, since what is swept twice is swept; the end of a sweep waits.
    Sweep,
    /// To keep what somebody relies on: what is answered is as durable as the database makes it.
    Store,
}

impl Session {
    pub(crate) fn new(
        engine: Engine,
        statement_timeout: Option<Duration>,
        lock_timeout: Option<Duration>,
        purpose: Purpose,
    ) -> Self {
        // A swift page that waits holds its other rows meanwhile, so where locked rows can be skipped the wait is
        // short. SQLite has one lock for all, which is free again soon; and who keeps a store waits for their turn.
        let patience = match engine {
            Engine::Postgres if purpose != Purpose::Store => Duration::from_millis(100),
            Engine::MySql if purpose != Purpose::Store => Duration::from_secs(1),
            _ => Duration::from_secs(5),
        };
        Self {
            statement_timeout: statement_timeout.unwrap_or(STATEMENT_TIMEOUT),
            lock_timeout: lock_timeout.unwrap_or(patience),
            purpose,
        }
    }
}

/// A row by the names of its columns.
pub(crate) type NamedRow = BTreeMap<String, Value>;

/// An open connection with its session set up.
#[async_trait]
pub(crate) trait Connection: Send {
    /// Runs a statement and returns its rows.
    async fn query(&mut self, query: &Query) -> Result<Vec<Row>, SqlError>;
    /// The same, by the names of columns: for what a server shows in an order of its own. SQLite shows nothing.
    async fn show(&mut self, _query: &Query) -> Result<Vec<NamedRow>, SqlError> {
        Ok(Vec::new())
    }
    /// Runs a statement and returns how many rows it changed.
    async fn execute(&mut self, query: &Query) -> Result<u64, SqlError>;
    /// Runs a statement without values and without an answer: `BEGIN`, `SET`.
    async fn run(&mut self, text: &str) -> Result<(), SqlError>;
}

/// Connects and sets the session up. A server that takes the connection and then says nothing counts as one that is down.
pub(crate) async fn connect(url: &SourceUrl, session: Session) -> Result<Box<dyn Connection>, SqlError> {
    let silent = |_| {
        let seconds = CONNECT_TIMEOUT.as_secs();
        SqlError::new(ErrorKind::Unreachable, format!("{url} did not answer within {seconds} s"))
    };
    tokio::time::timeout(CONNECT_TIMEOUT, open(url, session)).await.map_err(silent)?
}

async fn open(url: &SourceUrl, session: Session) -> Result<Box<dyn Connection>, SqlError> {
    let connection: Box<dyn Connection> = match url.engine() {
        Engine::Postgres => Box::new(postgres::PostgresConnection::connect(url, session).await?),
        Engine::MySql => Box::new(mysql::MySqlConnection::connect(url, session).await?),
        Engine::Sqlite => return Ok(Box::new(sqlite::SqliteConnection::open(url, session).await?)),
    };
    // What a store does is its users' work, not a sweep's.
    Ok(match session.purpose {
        Purpose::Store => connection,
        Purpose::Read | Purpose::Sweep => Box::new(metered::Metered::new(connection, url)),
    })
}

/// Whole milliseconds, at least one: zero would mean "no limit" to a database.
fn millis(time: Duration) -> u128 {
    time.as_millis().max(1)
}
