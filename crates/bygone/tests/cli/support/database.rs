//! A database of a test's own on any of the three engines, asked by plain SQL that shares nothing with the program.

use std::time::Duration;

use bygone_testkit::wait::Wait;
use bygone_testkit::{MariaDb, MariaDbEngine, Postgres, PostgresEngine, Sqlite};
use rusqlite::types::ValueRef;
use sqlx::{AssertSqlSafe, Connection as _, MySqlConnection, PgConnection, Row as _};

/// Runs each of these functions as a test of its own on each engine.
macro_rules! on_each_engine {
    ($($test:ident),* $(,)?) => {
        $(
            mod $test {
                #[tokio::test]
                async fn sqlite() {
                    super::$test(crate::support::Engine::Sqlite).await;
                }

                crate::support::on_each_server!(@ $test);
            }
        )*
    };
}
pub(crate) use on_each_engine;

/// The same on each engine that is a server, and so has users.
macro_rules! on_each_server {
    (@ $test:ident) => {
        #[tokio::test]
        async fn postgres() {
            super::$test(crate::support::Engine::Postgres).await;
        }

        #[tokio::test]
        async fn mariadb() {
            super::$test(crate::support::Engine::MariaDb).await;
        }
    };
    ($($test:ident),* $(,)?) => {
        $(
            mod $test {
                crate::support::on_each_server!(@ $test);
            }
        )*
    };
}
pub(crate) use on_each_server;

/// Which database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    Postgres,
    MariaDb,
}

impl Engine {
    /// The type of a column that holds an instant.
    pub(crate) fn instant_type(self) -> &'static str {
        match self {
            Self::Sqlite => "TEXT",
            Self::Postgres => "timestamptz",
            Self::MariaDb => "DATETIME(6)",
        }
    }

    /// Rows `(id, expires_at)` for the ids of a range that meet a condition on `n`, each ending its own number of
    /// seconds after midnight UTC of `day`.
    pub(crate) fn rows(self, first: u32, last: u32, condition: &str, day: &str) -> String {
        match self {
            Self::Sqlite => format!(
                "WITH RECURSIVE numbers (n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM numbers WHERE n < {last}) \
                 SELECT n, strftime('%Y-%m-%d %H:%M:%S', '{day}', '+' || n || ' seconds') FROM numbers \
                 WHERE {condition}"
            ),
            Self::Postgres => format!(
                "SELECT n, timestamptz '{day} 00:00:00Z' + n * interval '1 second' \
                 FROM generate_series({first}, {last}) AS n WHERE {condition}"
            ),
            Self::MariaDb => format!(
                "SELECT n, TIMESTAMP('{day}') + INTERVAL n SECOND \
                 FROM (SELECT seq AS n FROM seq_{first}_to_{last}) AS numbers WHERE {condition}"
            ),
        }
    }
}

/// A database that nobody else uses.
pub(crate) enum Database {
    Sqlite(Sqlite),
    Postgres(bygone_testkit::Database<PostgresEngine>),
    MariaDb(bygone_testkit::Database<MariaDbEngine>),
}

impl Database {
    pub(crate) async fn fresh(engine: Engine) -> Self {
        match engine {
            Engine::Sqlite => Self::Sqlite(Sqlite::fresh()),
            Engine::Postgres => Self::Postgres(Postgres::shared().await.fresh_database().await),
            Engine::MariaDb => Self::MariaDb(MariaDb::shared().await.fresh_database().await),
        }
    }

    pub(crate) fn engine(&self) -> Engine {
        match self {
            Self::Sqlite(_) => Engine::Sqlite,
            Self::Postgres(_) => Engine::Postgres,
            Self::MariaDb(_) => Engine::MariaDb,
        }
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Sqlite(database) => database.url(),
            Self::Postgres(database) => database.url(),
            Self::MariaDb(database) => database.url(),
        }
    }

    /// The URL of another user, on an engine that has users.
    pub(crate) fn url_as(&self, user: &str, password: &str) -> String {
        match self {
            Self::Sqlite(_) => panic!("SQLite has no users"),
            Self::Postgres(database) => database.url_as(user, password),
            Self::MariaDb(database) => database.url_as(user, password),
        }
    }

    /// The name of a user that no other test has, on an engine that has users.
    pub(crate) fn user(&self, name: &str) -> String {
        match self {
            Self::Sqlite(_) => panic!("SQLite has no users"),
            Self::Postgres(database) => format!("{name}_{}", database.name()),
            Self::MariaDb(database) => format!("{name}_{}", database.name()),
        }
    }

    /// Makes a user that may read every table and write none, and returns its URL.
    pub(crate) async fn reader_url(&self) -> String {
        let (user, password) = (self.user("reader"), "geheim");
        let script = match self {
            Self::MariaDb(database) => format!(
                "CREATE USER {user}@'%' IDENTIFIED BY '{password}'; GRANT SELECT ON {}.* TO {user}@'%'",
                database.name()
            ),
            _ => format!(
                "CREATE ROLE {user} LOGIN PASSWORD '{password}'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {user}"
            ),
        };
        self.client().await.run(&script).await;
        self.url_as(&user, password)
    }

    /// A connection with all rights.
    pub(crate) async fn client(&self) -> Client {
        match self {
            Self::Sqlite(database) => {
                let connection = database.connect();
                connection.busy_timeout(Duration::from_mins(1)).unwrap();
                Client::Sqlite(connection)
            }
            Self::Postgres(database) => Client::Postgres(database.connect().await),
            Self::MariaDb(database) => Client::MariaDb(database.connect().await),
        }
    }
}

/// One connection, as another user of the database has it. Answers are text, as a person would read them.
pub(crate) enum Client {
    Sqlite(rusqlite::Connection),
    Postgres(PgConnection),
    MariaDb(MySqlConnection),
}

impl Client {
    /// A connection of whoever the URL names, to an engine that has users.
    pub(crate) async fn connect(url: &str) -> Self {
        if url.starts_with("postgres") {
            Self::Postgres(PgConnection::connect(url).await.unwrap())
        } else {
            Self::MariaDb(MySqlConnection::connect(url).await.unwrap())
        }
    }

    /// Runs statements that must succeed.
    pub(crate) async fn run(&mut self, sql: &str) {
        self.try_run(sql).await.unwrap_or_else(|error| panic!("{error}\nin: {sql}"));
    }

    /// Runs statements, or says in the database's words why it does not.
    pub(crate) async fn try_run(&mut self, sql: &str) -> Result<(), String> {
        let safe = AssertSqlSafe(sql.to_owned());
        match self {
            Self::Sqlite(connection) => connection.execute_batch(sql).map_err(|e| e.to_string()),
            Self::Postgres(connection) => {
                sqlx::raw_sql(safe).execute(connection).await.map(drop).map_err(|e| e.to_string())
            }
            Self::MariaDb(connection) => {
                sqlx::raw_sql(safe).execute(connection).await.map(drop).map_err(|e| e.to_string())
            }
        }
    }

    /// The first column of a query's answer; NULL reads as the word.
    pub(crate) async fn texts(&mut self, sql: &str) -> Vec<String> {
        let safe = AssertSqlSafe(sql.to_owned());
        let texts = match self {
            Self::Sqlite(connection) => sqlite_texts(connection, sql).map_err(|e| e.to_string()),
            Self::Postgres(connection) => sqlx::raw_sql(safe)
                .fetch_all(connection)
                .await
                .map(|rows| rows.iter().map(|row| row.get_unchecked::<Option<String>, _>(0)).map(or_null).collect())
                .map_err(|e| e.to_string()),
            Self::MariaDb(connection) => sqlx::raw_sql(safe)
                .fetch_all(connection)
                .await
                .map(|rows| rows.iter().map(|row| row.get_unchecked::<Option<String>, _>(0)).map(or_null).collect())
                .map_err(|e| e.to_string()),
        };
        texts.unwrap_or_else(|error| panic!("{error}\nin: {sql}"))
    }

    /// The one number that a query answers.
    pub(crate) async fn number(&mut self, sql: &str) -> u64 {
        let texts = self.texts(sql).await;
        texts.first().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{texts:?} is no number\nin: {sql}"))
    }

    /// Asks again and again until a query answers something other than zero.
    pub(crate) async fn until(&mut self, sql: &str) {
        let mut wait = Wait::up_to(Duration::from_mins(1));
        while self.number(sql).await == 0 {
            assert!(wait.again().await, "not within {:?}: {sql}", wait.limit());
        }
    }
}

fn or_null(text: Option<String>) -> String {
    text.unwrap_or_else(|| "NULL".to_owned())
}

fn sqlite_texts(connection: &rusqlite::Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(sql)?;
    let texts = statement.query_map([], |row| {
        Ok(match row.get_ref(0)? {
            ValueRef::Null => or_null(None),
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Real(number) => number.to_string(),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        })
    })?;
    texts.collect()
}
