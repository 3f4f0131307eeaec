//! The ground of a run: real servers and files, all of our own.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use bygone_testkit::{Database, Postgres, PostgresEngine};
use rusqlite::Connection;
use sqlx::AssertSqlSafe;
use tempfile::TempDir;
use tokio::sync::Mutex;

use super::configuration::{self, Wording};
use super::pace::Pace;
use crate::disk;
use crate::failure::Failure;

const SHOP: &str = "
    CREATE TABLE tokens (id bigint PRIMARY KEY, expires_at timestamptz);
    CREATE INDEX tokens_expires_at ON tokens (expires_at) WHERE expires_at IS NOT NULL;
    CREATE TABLE logins (id bigint PRIMARY KEY, finished_at timestamptz);
    CREATE INDEX logins_finished_at ON logins (finished_at) WHERE finished_at IS NOT NULL;
    CREATE TABLE login_events (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, login_id bigint NOT NULL REFERENCES logins);
    CREATE INDEX login_events_login_id ON login_events (login_id);";
const TILL: &str = "
    PRAGMA journal_mode = wal;
    CREATE TABLE codes (id INTEGER PRIMARY KEY, expires_ms INTEGER);
    CREATE INDEX codes_expires_ms ON codes (expires_ms) WHERE expires_ms IS NOT NULL;";

/// Servers, files and directories. They go away with it.
pub(super) struct Site {
    directory: TempDir,
    /// The server may be restarted by a fault.
    pub(super) server: Mutex<Postgres>,
    pub(super) database: Database<PostgresEngine>,
    pub(super) port: u16,
    pace: Pace,
}

impl Site {
    pub(super) async fn new(pace: Pace) -> Result<Self, Failure> {
        let directory = disk::directory()?;
        let options = bygone_testkit::Options::default().set("shared_buffers", "64MB");
        let server = Postgres::start(options).await?;
        let database = server.fresh_database().await;
        sqlx::raw_sql(AssertSqlSafe(SHOP)).execute(&mut database.connect().await).await?;
        // Somebody else may take the port before the daemon does, which is then told by it.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let site = Self { directory, server: Mutex::new(server), database, port, pace };
        Connection::open(site.till())?.execute_batch(TILL)?;
        for directory in [site.uploads(), site.area(), site.jobs()] {
            fs::create_dir(directory)?;
        }
        site.configure(Wording::First)?;
        Ok(site)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The file of the configuration.
    pub(super) fn config(&self) -> PathBuf {
        self.path("bygone.toml")
    }

    /// The directory of the daemon's state.
    pub(super) fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// The daemon's history.
    pub(super) fn ledger(&self) -> PathBuf {
        self.state().join("ledger.db")
    }

    /// What all daemons said.
    pub(super) fn log(&self) -> PathBuf {
        self.path("daemon.log")
    }

    /// While it exists, nothing is swept.
    pub(super) fn hold_file(&self) -> PathBuf {
        self.path("hold")
    }

    /// The SQLite file.
    pub(super) fn till(&self) -> PathBuf {
        self.path("till.db")
    }

    /// The lease store.
    pub(super) fn jobs(&self) -> PathBuf {
        self.path("jobs")
    }

    /// The lease store's file.
    pub(super) fn jobs_file(&self) -> PathBuf {
        self.jobs().join("leases.db")
    }

    /// The staging area.
    pub(super) fn area(&self) -> PathBuf {
        self.path("area")
    }

    /// The directory tree.
    pub(super) fn uploads(&self) -> PathBuf {
        self.path("uploads")
    }

    /// Puts a configuration in place, as a whole.
    pub(super) fn configure(&self, wording: Wording) -> Result<(), Failure> {
        let next = self.path("bygone.toml.next");
        fs::write(&next, configuration::text(self, self.pace, wording))?;
        fs::rename(next, self.config())?;
        Ok(())
    }

    /// A copy of what tells most of a run that went wrong, beside the temporary directory that goes.
    pub(super) fn save_evidence(&self, to: &Path) -> Result<(), Failure> {
        fs::create_dir_all(to)?;
        for file in [self.log(), self.ledger(), self.config()] {
            if let Some(name) = file.file_name().filter(|_| file.exists()) {
                fs::copy(&file, to.join(name))?;
            }
        }
        Ok(())
    }
}
