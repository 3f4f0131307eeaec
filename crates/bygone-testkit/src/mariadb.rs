//! MariaDB: how it is set up, run and asked.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use sqlx::AssertSqlSafe;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlSslMode};
use tokio::sync::OnceCell;

use crate::access::{Access, HOST, USER};
use crate::engine::{self, Engine, Service, sealed};
use crate::error::KitError;
use crate::instance::{Instance, Invocation};
use crate::programs;
use crate::server::Server;

/// A MariaDB server.
pub type MariaDb = Server<MariaDbEngine>;

/// Marks what belongs to MariaDB.
#[derive(Debug, Clone, Copy)]
pub struct MariaDbEngine;

static SHARED: OnceCell<MariaDb> = OnceCell::const_new();

const PACKAGE: &str = "mariadb-server";

/// The socket is named relative to the data directory, because its path may not be longer than
/// some hundred bytes. Without name resolution a client is `127.0.0.1`, on every machine. A
/// shutdown does not tidy up the data, which is thrown away, or is to survive a crash.
const SETTINGS: &[(&str, &str)] = &[
    ("bind-address", "127.0.0.1"),
    ("skip-name-resolve", "1"),
    ("socket", "mariadb.sock"),
    ("max-connections", "300"),
    ("character-set-server", "utf8mb4"),
    ("default-time-zone", "+00:00"),
    ("innodb-fast-shutdown", "2"),
];

impl sealed::Sealed for MariaDbEngine {}

impl Service for MariaDbEngine {
    const NAME: &'static str = "mariadb";
    const ACCOUNTS: &'static [&'static str] = &["mysql"];
    const STOP: Signal = Signal::TERM;
    const QUICK: &'static [(&'static str, &'static str)] =
        &[("innodb-flush-log-at-trx-commit", "0"), ("innodb-flush-method", "nosync"), ("innodb-doublewrite", "0")];

    fn initialise(instance: &Instance, _access: &Access) -> Result<Option<Invocation>, KitError> {
        Ok(Some(Invocation {
            program: find("mariadb-install-db")?,
            arguments: vec![
                "--no-defaults".into(),
                argument("datadir", instance.data()),
                "--skip-test-db".into(),
                "--auth-root-authentication-method=normal".into(),
                argument("innodb-flush-method", "nosync"),
            ],
            environment: Vec::new(),
        }))
    }

    /// The user is made by the server itself as it starts, which needs no other client.
    fn serve(instance: &Instance, access: &Access, settings: &[(String, String)]) -> Result<Invocation, KitError> {
        let password = &access.password;
        let users = instance.write_private(
            "users.sql",
            &format!(
                "CREATE USER IF NOT EXISTS {USER}@'%' IDENTIFIED BY '{password}';\n\
                 GRANT ALL PRIVILEGES ON *.* TO {USER}@'%' WITH GRANT OPTION;\n"
            ),
        )?;
        let mut arguments = vec![
            // The machine's own my.cnf is for the machine's own server.
            "--no-defaults".into(),
            argument("datadir", instance.data()),
            argument("port", access.port.to_string()),
            argument("init-file", users),
        ];
        let given = settings.iter().map(|(k, v)| (k.as_str(), v.as_str()));
        for (name, value) in SETTINGS.iter().copied().chain(given) {
            arguments.push(argument(name, value));
        }
        Ok(Invocation { program: find("mariadbd")?, arguments, environment: Vec::new() })
    }

    async fn look(access: &Access, data: &Path) -> Result<(), String> {
        engine::look::<Self>(access, data).await
    }

    fn shared_cell() -> &'static OnceCell<MariaDb> {
        &SHARED
    }
}

impl Engine for MariaDbEngine {
    type Sqlx = sqlx::MySql;

    const SCHEME: &'static str = "mysql";
    const MAINTENANCE: &'static str = "mysql";

    fn connect_options(access: &Access, database: &str) -> MySqlConnectOptions {
        MySqlConnectOptions::new()
            .host(&HOST.to_string())
            .port(access.port)
            .username(USER)
            .password(&access.password)
            .database(database)
            .ssl_mode(MySqlSslMode::Disabled)
    }

    async fn data_directory(connection: &mut MySqlConnection) -> Result<String, sqlx::Error> {
        sqlx::query_scalar("SELECT @@datadir").fetch_one(connection).await
    }

    async fn create_database(connection: &mut MySqlConnection, name: &str) -> Result<(), sqlx::Error> {
        sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {name}"))).execute(connection).await.map(drop)
    }
}

fn find(program: &'static str) -> Result<PathBuf, KitError> {
    programs::find(program, PACKAGE, &[])
}

fn argument(name: &str, value: impl Into<OsString>) -> OsString {
    let mut argument = OsString::from(format!("--{name}="));
    argument.push(value.into());
    argument
}
