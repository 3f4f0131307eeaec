//! A plain connection to any of the three databases, as another user of it would have.

use std::time::Duration;

use sqlx::{AssertSqlSafe, MySqlConnection, PgConnection, Row as _};

use crate::wait::Wait;

/// One connection. Statements are text and answers are text: tests write SQL as a person would.
#[derive(Debug)]
pub enum Client {
    /// To a file.
    Sqlite(rusqlite::Connection),
    /// To a PostgreSQL server.
    Postgres(PgConnection),
    /// To a MariaDB server.
    MariaDb(MySqlConnection),
}

/// Why a statement was refused, in the database's own words.
#[derive(Debug)]
pub struct Refused(pub String);

impl Client {
    /// Runs one or more statements and says how many rows they changed.
    pub async fn try_run(&mut self, sql: &str) -> Result<u64, Refused> {
        let safe = AssertSqlSafe(sql.to_owned());
        match self {
            Self::Sqlite(connection) => tokio::task::block_in_place(|| {
                let before = connection.total_changes();
                connection.execute_batch(sql).map_err(|e| Refused(e.to_string()))?;
                Ok(connection.total_changes() - before)
            }),
            Self::Postgres(connection) => {
                sqlx::raw_sql(safe).execute(connection).await.map(|done| done.rows_affected()).map_err(|e| refused(&e))
            }
            Self::MariaDb(connection) => {
                sqlx::raw_sql(safe).execute(connection).await.map(|done| done.rows_affected()).map_err(|e| refused(&e))
            }
        }
    }

    /// Runs one or more statements that must succeed.
    ///
    /// # Panics
    /// If one is refused.
    #[track_caller]
    pub fn run<'a>(&'a mut self, sql: &'a str) -> impl Future<Output = u64> + Send + 'a {
        let place = std::panic::Location::caller();
        async move {
            match self.try_run(sql).await {
                Ok(changed) => changed,
                Err(Refused(why)) => panic!("at {place}: {why}\nin: {sql}"),
            }
        }
    }

    /// The rows that a query answers, each value as text.
    ///
    /// # Panics
    /// If it is refused.
    pub async fn rows(&mut self, sql: &str) -> Vec<Vec<Option<String>>> {
        let safe = AssertSqlSafe(sql.to_owned());
        match self {
            Self::Sqlite(connection) => tokio::task::block_in_place(|| sqlite_rows(connection, sql))
                .unwrap_or_else(|e| panic!("{e}\nin: {sql}")),
            Self::Postgres(connection) => {
                let rows = sqlx::raw_sql(safe).fetch_all(connection).await.unwrap_or_else(|e| panic!("{e}\nin: {sql}"));
                rows.iter().map(|row| (0..row.len()).map(|at| row.get_unchecked(at)).collect()).collect()
            }
            Self::MariaDb(connection) => {
                let rows = sqlx::raw_sql(safe).fetch_all(connection).await.unwrap_or_else(|e| panic!("{e}\nin: {sql}"));
                rows.iter().map(|row| (0..row.len()).map(|at| row.get_unchecked(at)).collect()).collect()
            }
        }
    }

    /// The first value of each row; NULL is left out.
    pub async fn texts(&mut self, sql: &str) -> Vec<String> {
        self.rows(sql).await.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect()
    }

    /// The one number that a query answers.
    ///
    /// # Panics
    /// If it answers none.
    pub async fn number(&mut self, sql: &str) -> i64 {
        let texts = self.texts(sql).await;
        texts.first().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("no number but {texts:?}\nin: {sql}"))
    }

    /// Asks again and again until a query answers something other than zero.
    ///
    /// # Panics
    /// If it does not within 30 seconds.
    pub async fn until(&mut self, sql: &str) {
        let mut wait = Wait::up_to(Duration::from_secs(30));
        while self.number(sql).await == 0 {
            assert!(wait.again().await, "not within {:?}: {sql}", wait.limit());
        }
    }
}

fn refused(error: &sqlx::Error) -> Refused {
    Refused(error.to_string())
}

fn sqlite_rows(connection: &rusqlite::Connection, sql: &str) -> rusqlite::Result<Vec<Vec<Option<String>>>> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let mut rows = statement.query([])?;
    let mut out = Vec::new();
    while let Some(row) = rows.next()? {
        out.push((0..columns).map(|at| row.get_ref(at).map(sqlite_text)).collect::<Result<_, _>>()?);
    }
    Ok(out)
}

fn sqlite_text(value: rusqlite::types::ValueRef<'_>) -> Option<String> {
    use rusqlite::types::ValueRef;
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(n) => Some(n.to_string()),
        ValueRef::Real(x) => Some(x.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
    }
}
