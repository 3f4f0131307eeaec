//! PostgreSQL.

use std::str::FromStr;

use async_trait::async_trait;
use bygone_core::ErrorKind;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgArguments, PgConnectOptions, PgConnection, PgRow, PgTypeInfo};
use sqlx::{AssertSqlSafe, Column, ConnectOptions, Connection as _, Executor, Row as _, TypeInfo, ValueRef};

use super::{Connection, NamedRow, Purpose, Session, millis};
use crate::error::{SqlError, postgres_kind};
use crate::query::Query;
use crate::url::SourceUrl;
use crate::value::{Row, Value};

pub(super) struct PostgresConnection {
    inner: PgConnection,
}

impl PostgresConnection {
    pub(super) async fn connect(url: &SourceUrl, session: Session) -> Result<Self, SqlError> {
        let options = PgConnectOptions::from_str(url.as_str())
            .map_err(|e| SqlError::new(ErrorKind::Unreachable, format!("the url cannot be used: {e}")))?
            .application_name("bygone")
            .disable_statement_logging();
        let inner = PgConnection::connect_with(&options).await.map_err(|e| refused(&e, url))?;
        let mut connection = Self { inner };
        connection.run(&session_settings(session)).await?;
        Ok(connection)
    }
}

fn refused(error: &sqlx::Error, url: &SourceUrl) -> SqlError {
    SqlError::new(ErrorKind::Unreachable, format!("cannot connect to {url}: {}", plain(error)))
}

/// The session: nothing that a server, a database or a role has set may change what a statement means.
fn session_settings(session: Session) -> String {
    let mut text = format!(
        "SET TIME ZONE 'UTC'; SET datestyle = 'ISO, YMD'; SET client_encoding = 'UTF8'; SET bytea_output = 'hex'; \
         SET intervalstyle = 'postgres'; SET quote_all_identifiers = off; SET standard_conforming_strings = on; \
         SET transform_null_equals = off; SET enable_tidscan = on; SET enable_indexscan = on; \
         SET default_transaction_isolation = 'read committed'; SET default_transaction_deferrable = off; \
         SET statement_timeout = {}; SET lock_timeout = {}; SET idle_in_transaction_session_timeout = '60s'; \
         SET enable_seqscan = off; SET plan_cache_mode = auto; SET jit = off; SET extra_float_digits = 3",
        millis(session.statement_timeout),
        millis(session.lock_timeout),
    );
    text.push_str(match session.purpose {
        Purpose::Read => "; SET default_transaction_read_only = on; SET synchronous_commit = off",
        Purpose::Sweep => "; SET synchronous_commit = off",
        // As the server is set to.
        Purpose::Store => "",
    });
    text
}

#[async_trait]
impl Connection for PostgresConnection {
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

fn prepare(query: &Query) -> sqlx::query::Query<'static, sqlx::Postgres, PgArguments> {
    let mut out = sqlx::query(AssertSqlSafe(query.text().to_owned())).persistent(query.is_repeated());
    for value in query.values() {
        out = match value {
            Value::Null => out.bind(None::<String>),
            Value::Int(n) => out.bind(*n),
            Value::Real(x) => out.bind(*x),
            Value::Text(text) => out.bind(text.clone()),
            Value::Blob(bytes) => out.bind(bytes.clone()),
            Value::Instant(micros) => out.bind(Time { micros: *micros, type_oid: TIMESTAMPTZ }),
            Value::Local(micros) => out.bind(Time { micros: *micros, type_oid: TIMESTAMP }),
        };
    }
    out
}

/// PostgreSQL's own numbers for its types, the same everywhere.
const TIMESTAMP: Oid = Oid(1114);
const TIMESTAMPTZ: Oid = Oid(1184);
/// PostgreSQL counts from the beginning of 2000.
const EPOCH_2000_US: i64 = 946_684_800_000_000;

/// A time in PostgreSQL's own form.
struct Time {
    micros: i64,
    type_oid: Oid,
}

impl sqlx::Type<sqlx::Postgres> for Time {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(TIMESTAMPTZ)
    }
}

impl sqlx::Encode<'_, sqlx::Postgres> for Time {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        sqlx::Encode::<sqlx::Postgres>::encode(self.micros.saturating_sub(EPOCH_2000_US), buffer)
    }

    fn produces(&self) -> Option<PgTypeInfo> {
        Some(PgTypeInfo::with_oid(self.type_oid))
    }
}

fn decode(row: &PgRow) -> Result<Row, SqlError> {
    row.columns().iter().map(|column| decode_column(row, column.ordinal())).collect()
}

fn decode_named(row: &PgRow) -> Result<NamedRow, SqlError> {
    row.columns().iter().map(|column| Ok((column.name().to_owned(), decode_column(row, column.ordinal())?))).collect()
}

fn decode_column(row: &PgRow, at: usize) -> Result<Value, SqlError> {
    let raw = row.try_get_raw(at).map_err(|e| classify(&e))?;
    if raw.is_null() {
        return Ok(Value::Null);
    }
    let decoded = match raw.type_info().name() {
        "BOOL" => row.try_get::<bool, _>(at).map(|b| Value::Int(i64::from(b))),
        "INT2" => row.try_get::<i16, _>(at).map(|n| Value::Int(n.into())),
        "INT4" => row.try_get::<i32, _>(at).map(|n| Value::Int(n.into())),
        "INT8" => row.try_get::<i64, _>(at).map(Value::Int),
        "FLOAT4" => row.try_get::<f32, _>(at).map(|x| Value::Real(x.into())),
        "FLOAT8" => row.try_get::<f64, _>(at).map(Value::Real),
        "BYTEA" => row.try_get::<Vec<u8>, _>(at).map(Value::Blob),
        _ => row.try_get_unchecked::<String, _>(at).map(Value::Text),
    };
    decoded.map_err(|e| classify(&e))
}

fn classify(error: &sqlx::Error) -> SqlError {
    let kind = match error {
        sqlx::Error::Database(e) => e.code().map_or(ErrorKind::Failed, |code| postgres_kind(&code)),
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
