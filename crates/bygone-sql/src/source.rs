//! A database that policies sweep: one connection, opened when first needed and again when it was lost.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Clock, ClockReading, ErrorKind};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tokio::sync::Mutex;

use crate::connection::{self, Connection, Purpose, Session};
use crate::engine::Engine;
use crate::error::SqlError;
use crate::query::Query;
use crate::text_time;
use crate::url::SourceUrl;
use crate::value::{Row, Value};

/// How to reach a database, and how to behave there.
#[derive(Clone, Debug)]
pub struct SourceOptions {
    /// The source's name in the configuration.
    pub name: String,
    /// Where it is.
    pub url: SourceUrl,
    /// The schema that its tables are in.
    pub schema: Option<String>,
    /// What every table's name begins with.
    pub table_prefix: Option<String>,
    /// The longest that one statement may run.
    pub statement_timeout: Option<Duration>,
    /// The longest wait for somebody else's lock.
    pub lock_timeout: Option<Duration>,
    /// Whether the database is told to refuse every write.
    pub read_only: bool,
}

impl SourceOptions {
    /// A source of this name at this address, with everything else left to itself.
    pub fn new(name: impl Into<String>, url: SourceUrl) -> Self {
        Self {
            name: name.into(),
            url,
            schema: None,
            table_prefix: None,
            statement_timeout: None,
            lock_timeout: None,
            read_only: false,
        }
    }
}

/// A source shared by its policies, which run one after another.
pub type SharedSource = Arc<Mutex<Source>>;

/// An open database.
pub struct Source {
    options: SourceOptions,
    session: Session,
    connection: Option<Box<dyn Connection>>,
    requests: u64,
}

impl Source {
    /// Connects.
    pub async fn open(options: SourceOptions) -> Result<Self, SqlError> {
        let purpose = if options.read_only { Purpose::Read } else { Purpose::Sweep };
        let session = Session::new(options.url.engine(), options.statement_timeout, options.lock_timeout, purpose);
        let mut source = Self { options, session, connection: None, requests: 0 };
        source.connected().await?;
        Ok(source)
    }

    /// How to open another connection to the same database.
    pub(crate) fn options(&self) -> SourceOptions {
        self.options.clone()
    }

    /// For several policies to share.
    pub fn shared(self) -> SharedSource {
        Arc::new(Mutex::new(self))
    }

    /// The source's name.
    pub fn name(&self) -> &str {
        &self.options.name
    }

    /// Which database it is.
    pub fn engine(&self) -> Engine {
        self.options.url.engine()
    }

    pub(crate) fn url(&self) -> &SourceUrl {
        &self.options.url
    }

    pub(crate) fn schema(&self) -> Option<&str> {
        self.options.schema.as_deref()
    }

    pub(crate) fn table_prefix(&self) -> Option<&str> {
        self.options.table_prefix.as_deref()
    }

    /// Statements sent so far.
    pub(crate) fn requests(&self) -> u64 {
        self.requests
    }

    /// Reads the database's clock, between two readings of ours. SQLite has no clock but ours.
    pub async fn read_clock(&mut self, clock: &dyn Clock) -> Result<ClockReading, SqlError> {
        let engine = self.engine();
        let text = match engine {
            Engine::Sqlite => {
                let now = clock.now();
                return Ok(ClockReading { before: now, source: now, after: now });
            }
            Engine::Postgres => "SELECT clock_timestamp()::text",
            Engine::MySql => "SELECT CAST(UTC_TIMESTAMP(6) AS CHAR)",
        };
        let before = clock.now();
        let rows = self.query(&Query::new(engine, text)).await?;
        let after = clock.now();
        let source = rows.first().and_then(parse_now);
        let source = source.ok_or_else(|| SqlError::new(ErrorKind::Failed, "the database's clock cannot be read"))?;
        Ok(ClockReading { before, source, after })
    }

    pub(crate) async fn query(&mut self, query: &Query) -> Result<Vec<Row>, SqlError> {
        let answer = self.connected().await?.query(query).await;
        self.noted(answer)
    }

    pub(crate) async fn execute(&mut self, query: &Query) -> Result<u64, SqlError> {
        let answer = self.connected().await?.execute(query).await;
        self.noted(answer)
    }

    pub(crate) async fn run(&mut self, text: &str) -> Result<(), SqlError> {
        let answer = self.connected().await?.run(text).await;
        self.noted(answer)
    }

    async fn connected(&mut self) -> Result<&mut Box<dyn Connection>, SqlError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => connection::connect(&self.options.url, self.session).await?,
        };
        Ok(self.connection.insert(connection))
    }

    /// Counts a request, and forgets a connection that is gone so that the next request makes a new one.
    fn noted<T>(&mut self, answer: Result<T, SqlError>) -> Result<T, SqlError> {
        self.requests += 1;
        if answer.as_ref().is_err_and(|error| error.kind() == ErrorKind::Lost) {
            self.connection = None;
        }
        answer
    }
}

fn parse_now(row: &Row) -> Option<Timestamp> {
    row.first().and_then(Value::text).and_then(|text| text_time::parse(text, &TimeZone::UTC))
}
