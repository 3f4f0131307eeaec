//! Several connections to one database, for those who keep a store in it and have many callers at once.
//!
//! A sweep is one connection that takes its time; see [`Source`](crate::Source). A store answers requests: each takes a
//! connection, runs a statement or a short transaction, and gives it back. A connection on which a caller gave up half-way
//! is thrown away, since nobody knows what it is still waiting for.

use std::time::Duration;

use bygone_core::ErrorKind;
use deadpool::Runtime;
use deadpool::managed::{Manager, Metrics, Object, Pool, PoolError, RecycleResult};

use crate::connection::{self, Connection, Purpose, Session};
use crate::engine::Engine;
use crate::error::SqlError;
use crate::query::Query;
use crate::url::SourceUrl;
use crate::value::Row;

/// A connection that was idle for longer is asked whether it is still there.
const IDLE: Duration = Duration::from_secs(5);
/// The longest wait for a connection to come free.
const TURN: Duration = Duration::from_secs(30);
/// How often work is tried that the database undid for the sake of another's.
const ATTEMPTS_MAX: usize = 8;

/// How to reach a database, and with how many connections.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Where it is.
    pub url: SourceUrl,
    /// The most connections at once.
    pub connections_max: usize,
    /// The longest that one statement may run.
    pub statement_timeout: Option<Duration>,
    /// The longest wait for somebody else's lock.
    pub lock_timeout: Option<Duration>,
}

impl ClientOptions {
    /// A database at this address, with everything else left to itself.
    pub fn new(url: SourceUrl) -> Self {
        Self { url, connections_max: 8, statement_timeout: None, lock_timeout: None }
    }
}

/// A database with several connections. Cloning it shares them.
#[derive(Clone)]
pub struct Client {
    engine: Engine,
    readers: Pool<Connector>,
    /// SQLite has one writer, and who waits for it in line here does not wait for it by polling there.
    writers: Pool<Connector>,
}

impl Client {
    /// Connects once, to see that it can; an SQLite file is made if it is missing.
    pub async fn open(options: ClientOptions) -> Result<Self, SqlError> {
        let ClientOptions { url, connections_max, statement_timeout, lock_timeout } = options;
        let engine = url.engine();
        let session = Session::new(engine, statement_timeout, lock_timeout, Purpose::Store);
        let connector = Connector { url, session };
        let readers = pool(connector.clone(), connections_max)?;
        let writers = if engine == Engine::Sqlite { pool(connector, 1)? } else { readers.clone() };
        drop(writers.get().await.map_err(no_turn)?);
        Ok(Self { engine, readers, writers })
    }

    /// Which database it is.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// Runs a statement that only reads.
    pub async fn read(&self, query: &Query) -> Result<Vec<Row>, SqlError> {
        Lease::of(&self.readers).await?.query(query).await
    }

    /// Runs a statement that writes, and returns the rows that it returns. Where the database undid it for the sake of
    /// another it has done nothing, and is run again.
    pub async fn write(&self, query: &Query) -> Result<Vec<Row>, SqlError> {
        let mut lease = Lease::of(&self.writers).await?;
        let mut attempts = Attempts::default();
        loop {
            match lease.query(query).await {
                Err(error) if error.is_passing() && attempts.one_more() => {}
                answer => return answer,
            }
        }
    }

    /// The same, and returns how many rows it changed.
    pub async fn execute(&self, query: &Query) -> Result<u64, SqlError> {
        let mut lease = Lease::of(&self.writers).await?;
        let mut attempts = Attempts::default();
        loop {
            match lease.execute(query).await {
                Err(error) if error.is_passing() && attempts.one_more() => {}
                answer => return answer,
            }
        }
    }

    /// Begins a transaction that will write.
    pub async fn begin(&self) -> Result<Transaction, SqlError> {
        let mut lease = Lease::of(&self.writers).await?;
        lease.run(self.engine.begin()).await?;
        lease.whole = false;
        Ok(Transaction { lease })
    }
}

/// Bounds how often work is tried anew that the database undid for the sake of another's.
#[derive(Debug, Default)]
pub struct Attempts(usize);

impl Attempts {
    /// Whether it may be tried once more.
    pub fn one_more(&mut self) -> bool {
        self.0 += 1;
        self.0 < ATTEMPTS_MAX
    }
}

/// Statements that are committed together or not at all. Dropped without [`commit`](Self::commit), it takes the connection
/// with it, and the database undoes what was done.
pub struct Transaction {
    lease: Lease,
}

impl Transaction {
    /// Runs a statement and returns its rows.
    pub async fn query(&mut self, query: &Query) -> Result<Vec<Row>, SqlError> {
        let answer = self.lease.query(query).await;
        self.lease.whole = false;
        answer
    }

    /// Runs a statement and returns how many rows it changed.
    pub async fn execute(&mut self, query: &Query) -> Result<u64, SqlError> {
        let answer = self.lease.execute(query).await;
        self.lease.whole = false;
        answer
    }

    /// Runs a statement without values and without an answer.
    pub async fn run(&mut self, text: &str) -> Result<(), SqlError> {
        let answer = self.lease.run(text).await;
        self.lease.whole = false;
        answer
    }

    /// Makes it all true. Where that fails the transaction may still be open, and whoever had the connection next would be
    /// inside of it: so it is thrown away.
    pub async fn commit(mut self) -> Result<(), SqlError> {
        let done = self.lease.run("COMMIT").await;
        self.lease.whole = done.is_ok();
        done
    }
}

/// A connection in use.
struct Lease {
    connection: Option<Object<Connector>>,
    /// Whether the connection waits for nothing and has nothing open. It is given back only then.
    whole: bool,
}

impl Lease {
    async fn of(pool: &Pool<Connector>) -> Result<Self, SqlError> {
        Ok(Self { connection: Some(pool.get().await.map_err(no_turn)?), whole: true })
    }

    async fn query(&mut self, query: &Query) -> Result<Vec<Row>, SqlError> {
        let answer = self.busy()?.query(query).await;
        self.noted(answer)
    }

    async fn execute(&mut self, query: &Query) -> Result<u64, SqlError> {
        let answer = self.busy()?.execute(query).await;
        self.noted(answer)
    }

    async fn run(&mut self, text: &str) -> Result<(), SqlError> {
        let answer = self.busy()?.run(text).await;
        self.noted(answer)
    }

    /// The connection, which counts as broken until its answer is here.
    fn busy(&mut self) -> Result<&mut Box<dyn Connection>, SqlError> {
        self.whole = false;
        let taken = || SqlError::new(ErrorKind::Lost, "the connection was given back already");
        self.connection.as_deref_mut().ok_or_else(taken)
    }

    fn noted<T>(&mut self, answer: Result<T, SqlError>) -> Result<T, SqlError> {
        self.whole = !answer.as_ref().is_err_and(|error| error.kind() == ErrorKind::Lost);
        answer
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take().filter(|_| !self.whole) {
            drop(Object::take(connection));
        }
    }
}

/// Makes connections.
#[derive(Clone)]
struct Connector {
    url: SourceUrl,
    session: Session,
}

impl Manager for Connector {
    type Type = Box<dyn Connection>;
    type Error = SqlError;

    async fn create(&self) -> Result<Self::Type, SqlError> {
        // Boxed, or every caller's future would be as large as three drivers.
        Box::pin(connection::connect(&self.url, self.session)).await
    }

    /// A statement that fails because the server had closed the connection long ago may not simply be run again: it could
    /// have been the one that closed it. So it is looked at first.
    async fn recycle(&self, connection: &mut Self::Type, metrics: &Metrics) -> RecycleResult<SqlError> {
        if metrics.last_used() >= IDLE {
            connection.run("SELECT 1").await?;
        }
        Ok(())
    }
}

fn pool(connector: Connector, connections_max: usize) -> Result<Pool<Connector>, SqlError> {
    Pool::builder(connector)
        .max_size(connections_max.max(1))
        .wait_timeout(Some(TURN))
        .runtime(Runtime::Tokio1)
        .build()
        .map_err(|error| SqlError::new(ErrorKind::Failed, error.to_string()))
}

fn no_turn(error: PoolError<SqlError>) -> SqlError {
    match error {
        PoolError::Backend(error) => error,
        other => SqlError::new(ErrorKind::Unreachable, format!("no connection to the database came free: {other}")),
    }
}
