//! MySQL and MariaDB.

use std::str::FromStr;

use async_trait::async_trait;
use bygone_core::ErrorKind;
use sqlx::mysql::{MySqlArguments, MySqlConnectOptions, MySqlDatabaseError, MySqlRow};
use sqlx::{AssertSqlSafe, Column, ConnectOptions, Connection as _, Executor, Row as _, TypeInfo, ValueRef};

use super::{Connection, NamedRow, Purpose, Session, millis};
use crate::error::{SqlError, mysql_kind};
use crate::query::Query;
use crate::url::SourceUrl;
use crate::value::{Row, Value};

pub(super) struct MySqlConnection {
    inner: sqlx::MySqlConnection,
}

impl MySqlConnection {
    pub(super) async fn connect(url: &SourceUrl, session: Session) -> Result<Self, SqlError> {
        let options = MySqlConnectOptions::from_str(url.as_str())
            .map_err(|e| SqlError::new(ErrorKind::Unreachable, format!("the url cannot be used: {e}")))?
            .pipes_as_concat(false)
            .no_engine_substitution(false)
            .disable_statement_logging();
        let inner = sqlx::MySqlConnection::connect_with(&options)
            .await
            .map_err(|e| SqlError::new(ErrorKind::Unreachable, format!("cannot connect to {url}: {}", plain(&e))))?;
        let mut connection = Self { inner };
        let version = connection.query(&Query::new(url.engine(), "SELECT VERSION()")).await?;
        let maria = version.first().and_then(|row| row.first()?.text()).is_some_and(|v| v.contains("MariaDB"));
        for setting in session_settings(session, maria) {
            connection.run(&setting).await?;
        }
        Ok(connection)
    }
}

/// The session: nothing that a server or a user has set may change what a statement means.
fn session_settings(session: Session, maria: bool) -> Vec<String> {
    // A second is MySQL's least. MariaDB takes zero, but then fails instead of skipping what is locked.
    let lock = session.lock_timeout.as_secs().max(1);
    let statement = millis(session.statement_timeout);
    let mut settings = vec![
        // Without the first of them a page would never be committed; with the others statements see less than there is.
        "SET SESSION autocommit = 1, completion_type = 'NO_CHAIN', foreign_key_checks = 1, sql_auto_is_null = 0, \
         sql_select_limit = 18446744073709551615"
            .to_owned(),
        "SET SESSION sql_mode = 'STRICT_ALL_TABLES', time_zone = '+00:00', sql_safe_updates = 0".to_owned(),
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED".to_owned(),
        format!("SET SESSION innodb_lock_wait_timeout = {lock}, lock_wait_timeout = {lock}"),
        // MariaDB bounds every statement; MySQL only reads, its writes are bounded by the page.
        if maria {
            format!("SET SESSION max_statement_time = {}.{:03}", statement / 1000, statement % 1000)
        } else {
            format!("SET SESSION max_execution_time = {statement}")
        },
    ];
    if session.purpose == Purpose::Read {
        settings.push("SET SESSION TRANSACTION READ ONLY".to_owned());
    }
    settings
}

#[async_trait]
impl Connection for MySqlConnection {
    async fn query(&mut self, query: &Query) -> Result<Vec<Row>, SqlError> {
        let rows = prepare(query).fetch_all(&mut self.inner).await.map_err(|e| classify(&e))?;
        rows.iter().map(decode).collect()
    }

    async fn show(&mut self, query: &Query) -> Result<Vec<NamedRow>, SqlError> {
        let rows = prepare(query).fetch_all(&mut self.inner).await.map_err(|e| classify(&e))?;
        rows.iter().map(decode_named).collect()
    }

    async fn execute(&mut self, query: &Query) -> Result<u64, SqlError> {
        let done = prepare(query).execute(&mut self.inner).await.map_err(|e| classify(&e))?;
        Ok(done.rows_affected())
    }

    async fn run(&mut self, text: &str) -> Result<(), SqlError> {
        self.inner.execute(AssertSqlSafe(text.to_owned())).await.map_err(|e| classify(&e))?;
        Ok(())
    }
}

fn prepare(query: &Query) -> sqlx::query::Query<'static, sqlx::MySql, MySqlArguments> {
    let mut out = sqlx::query(AssertSqlSafe(query.text().to_owned())).persistent(query.is_repeated());
    for value in query.values() {
        out = match value {
            Value::Null => out.bind(None::<String>),
            // The last two are PostgreSQL's alone.
            Value::Int(n) | Value::Instant(n) | Value::Local(n) => out.bind(*n),
            Value::Real(x) => out.bind(*x),
            Value::Text(text) => out.bind(text.clone()),
            Value::Blob(bytes) => out.bind(bytes.clone()),
        };
    }
    out
}

fn decode(row: &MySqlRow) -> Result<Row, SqlError> {
    row.columns().iter().map(|column| decode_column(row, column.ordinal())).collect()
}

fn decode_named(row: &MySqlRow) -> Result<NamedRow, SqlError> {
    row.columns().iter().map(|column| Ok((column.name().to_owned(), decode_column(row, column.ordinal())?))).collect()
}

fn decode_column(row: &MySqlRow, at: usize) -> Result<Value, SqlError> {
    let raw = row.try_get_raw(at).map_err(|e| classify(&e))?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    let type_info = raw.type_info();
    let name = type_info.name();
    let decoded = if <String as sqlx::Type<sqlx::MySql>>::compatible(&type_info) {
        // Text with a binary collation calls itself binary, too; bytes are what has no character set at all.
        row.try_get_unchecked::<String, _>(at).map(Value::Text)
    } else if name.ends_with("INT UNSIGNED") {
        // A count over 2^63 is none; it stays readable as text.
        row.try_get_unchecked::<u64, _>(at)
            .map(|n| i64::try_from(n).map_or_else(|_| Value::Text(n.to_string()), Value::Int))
    } else if name.ends_with("INT") || name == "BOOLEAN" {
        row.try_get_unchecked::<i64, _>(at).map(Value::Int)
    } else if name == "DOUBLE" || name == "FLOAT" {
        row.try_get_unchecked::<f64, _>(at).map(Value::Real)
    } else if name.ends_with("BINARY") || name.ends_with("BLOB") {
        row.try_get_unchecked::<Vec<u8>, _>(at).map(Value::Blob)
    } else {
        row.try_get_unchecked::<String, _>(at).map(Value::Text)
    };
    decoded.map_err(|e| classify(&e))
}

fn classify(error: &sqlx::Error) -> SqlError {
    let kind = match error {
        sqlx::Error::Database(e) => {
            e.try_downcast_ref::<MySqlDatabaseError>().map_or(ErrorKind::Failed, |e| mysql_kind(e.number()))
        }
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::Tls(_) => ErrorKind::Lost,
        _ => ErrorKind::Failed,
    };
    SqlError::new(kind, plain(error))
}

/// The server's words, without the driver's.
fn plain(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(e) => e.message().to_owned(),
        other => other.to_string(),
    }
}
