//! PostgreSQL: how it is set up, run and asked.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use sqlx::AssertSqlSafe;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgSslMode};
use tokio::sync::OnceCell;

use crate::access::{Access, HOST, USER};
use crate::engine::{self, Engine, Service, sealed};
use crate::error::KitError;
use crate::instance::{Instance, Invocation};
use crate::programs;
use crate::server::{Options, Server};

/// A PostgreSQL server.
pub type Postgres = Server<PostgresEngine>;

/// Marks what belongs to PostgreSQL.
#[derive(Debug, Clone, Copy)]
pub struct PostgresEngine;

static SHARED: OnceCell<Postgres> = OnceCell::const_new();

/// Each version has its own directory below, off the PATH.
const VERSIONS: &str = "/usr/lib/postgresql";
const PACKAGE: &str = "postgresql";

/// The socket lies in the data directory and is named relative to it, because the path of a
/// socket may not be longer than some hundred bytes, while a temporary directory's may. Parallel
/// workers' memory lies there too, so that none of it survives a killed server.
const SETTINGS: &[(&str, &str)] = &[
    ("listen_addresses", "127.0.0.1"),
    ("unix_socket_directories", "."),
    ("dynamic_shared_memory_type", "mmap"),
    ("max_connections", "200"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
];

impl sealed::Sealed for PostgresEngine {}

impl Service for PostgresEngine {
    const NAME: &'static str = "postgres";
    const ACCOUNTS: &'static [&'static str] = &["postgres"];
    // An "immediate" shutdown: the data is thrown away, or is to survive a crash.
    const STOP: Signal = Signal::QUIT;
    const QUICK: &'static [(&'static str, &'static str)] =
        &[("fsync", "off"), ("full_page_writes", "off"), ("synchronous_commit", "off")];

    fn initialise(instance: &Instance, access: &Access) -> Result<Option<Invocation>, KitError> {
        let password = instance.write_private("password", &access.password)?;
        let mut arguments: Vec<OsString> =
            ["--username", USER, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--pwfile"]
                .map(OsString::from)
                .into();
        arguments.push(password.into());
        arguments.push("--pgdata".into());
        arguments.push(instance.data().into());
        Ok(Some(Invocation { program: find("initdb")?, arguments, environment: Vec::new() }))
    }

    fn serve(instance: &Instance, access: &Access, settings: &[(String, String)]) -> Result<Invocation, KitError> {
        let mut arguments: Vec<OsString> =
            vec!["-D".into(), instance.data().into(), "-p".into(), access.port.to_string().into()];
        let given = settings.iter().map(|(k, v)| (k.as_str(), v.as_str()));
        for (name, value) in SETTINGS.iter().copied().chain(given) {
            arguments.push("-c".into());
            arguments.push(format!("{name}={value}").into());
        }
        Ok(Invocation { program: find("postgres")?, arguments, environment: Vec::new() })
    }

    async fn look(access: &Access, data: &Path) -> Result<(), String> {
        engine::look::<Self>(access, data).await
    }

    /// The segment of System V memory by which PostgreSQL notices that another server uses the
    /// data: the system keeps it until somebody frees it, and has room for few thousands.
    fn after_kill(instance: &Instance) {
        let Ok(lock) = fs::read_to_string(instance.data().join("postmaster.pid")) else {
            return;
        };
        // The seventh line holds its key and its id.
        if let Some(id) = lock.lines().nth(6).and_then(|line| line.split_ascii_whitespace().nth(1)) {
            // Without the program, the next restart frees it.
            let _ = Command::new("ipcrm").args(["-m", id]).stderr(Stdio::null()).status();
        }
    }

    fn shared_cell() -> &'static OnceCell<Postgres> {
        &SHARED
    }
}

impl Server<PostgresEngine> {
    /// A standby that follows this server, with the same users and databases, and may be asked but not written to.
    pub async fn start_standby(&self, options: Options) -> Result<Self, KitError> {
        let primary = self.access();
        let access = primary.clone().on_another_port()?;
        let make = |instance: &Instance| {
            let mut arguments: Vec<OsString> = vec!["--pgdata".into(), instance.data().into()];
            // It writes how to follow into the copy, the password too.
            let how =
                ["--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync", "--username", USER];
            arguments.extend(how.map(OsString::from));
            arguments.extend(["--host".into(), HOST.to_string().into()]);
            arguments.extend(["--port".into(), primary.port.to_string().into()]);
            let environment = vec![("PGPASSWORD", OsString::from(&primary.password))];
            Ok(Invocation { program: find("pg_basebackup")?, arguments, environment })
        };
        Self::start_over(options, access, make).await
    }
}

impl Engine for PostgresEngine {
    type Sqlx = sqlx::Postgres;

    const SCHEME: &'static str = "postgres";
    const MAINTENANCE: &'static str = "postgres";

    fn connect_options(access: &Access, database: &str) -> PgConnectOptions {
        PgConnectOptions::new_without_pgpass()
            .host(&HOST.to_string())
            .port(access.port)
            .username(USER)
            .password(&access.password)
            .database(database)
            .ssl_mode(PgSslMode::Disable)
    }

    async fn data_directory(connection: &mut PgConnection) -> Result<String, sqlx::Error> {
        sqlx::query_scalar("SELECT current_setting('data_directory')").fetch_one(connection).await
    }

    async fn create_database(connection: &mut PgConnection, name: &str) -> Result<(), sqlx::Error> {
        sqlx::raw_sql(AssertSqlSafe(format!("CREATE DATABASE {name}"))).execute(connection).await.map(drop)
    }
}

/// The program that loads a server with transactions and writes down how long each took.
pub fn pgbench() -> Result<PathBuf, KitError> {
    find("pgbench")
}

fn find(program: &'static str) -> Result<PathBuf, KitError> {
    programs::find(program, PACKAGE, &programs::versions(Path::new(VERSIONS)))
}
