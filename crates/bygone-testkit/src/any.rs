//! A database of a test's own on any of the three engines, for tests that say the same of all.

use std::time::Duration;

use crate::client::Client;
use crate::database::Database;
use crate::error::{KitError, must};
use crate::mariadb::{MariaDb, MariaDbEngine};
use crate::postgres::{Postgres, PostgresEngine};
use crate::sqlite::Sqlite;

/// Runs each of these functions as a test of its own on each engine, with the [`Kind`] of its database.
#[macro_export]
macro_rules! on_each_engine {
    ($($test:ident),* $(,)?) => {
        $crate::on_each_engine!(@ sqlite Sqlite $($test)*);
        $crate::on_each_engine!(@ postgres Postgres $($test)*);
        $crate::on_each_engine!(@ mariadb MariaDb $($test)*);
    };
    (@ $module:ident $kind:ident $($test:ident)*) => {
        mod $module {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    super::$test($crate::Kind::$kind).await;
                }
            )*
        }
    };
}

/// Which database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    Sqlite,
    /// A PostgreSQL server.
    Postgres,
    /// A MariaDB server.
    MariaDb,
}

/// A database that nobody else uses.
#[derive(Debug)]
pub enum AnyDatabase {
    /// A file.
    Sqlite(Sqlite),
    /// On the shared PostgreSQL server.
    Postgres(Database<PostgresEngine>),
    /// On the shared MariaDB server.
    MariaDb(Database<MariaDbEngine>),
}

impl AnyDatabase {
    /// Makes one.
    pub async fn fresh(kind: Kind) -> Self {
        match kind {
            Kind::Sqlite => Self::Sqlite(Sqlite::fresh()),
            Kind::Postgres => Self::Postgres(Postgres::shared().await.fresh_database().await),
            Kind::MariaDb => Self::MariaDb(MariaDb::shared().await.fresh_database().await),
        }
    }

    /// Which it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Sqlite(_) => Kind::Sqlite,
            Self::Postgres(_) => Kind::Postgres,
            Self::MariaDb(_) => Kind::MariaDb,
        }
    }

    /// Its URL, for the user with all rights.
    pub fn url(&self) -> String {
        match self {
            Self::Sqlite(sqlite) => sqlite.url(),
            Self::Postgres(database) => database.url(),
            Self::MariaDb(database) => database.url(),
        }
    }

    /// The same by way of another port of this machine: that of a proxy.
    ///
    /// # Panics
    /// If it is a file.
    pub fn url_through(&self, port: u16) -> String {
        match self {
            Self::Sqlite(_) => panic!("no way leads to a file through a port"),
            Self::Postgres(database) => database.url_through(port),
            Self::MariaDb(database) => database.url_through(port),
        }
    }

    /// A connection of another user of the database.
    ///
    /// # Panics
    /// If it is not let in.
    pub async fn client(&self) -> Client {
        match self {
            Self::Sqlite(sqlite) => {
                let connection = sqlite.connect();
                // Tests need no durability, and foreign keys are off unless somebody asks for them.
                let settings = "PRAGMA synchronous = off; PRAGMA foreign_keys = on";
                let set =
                    connection.busy_timeout(Duration::from_secs(60)).and_then(|()| connection.execute_batch(settings));
                must(set.map_err(|source| KitError::Sqlite { path: sqlite.path(), source }));
                Client::Sqlite(connection)
            }
            Self::Postgres(database) => Client::Postgres(database.connect().await),
            Self::MariaDb(database) => Client::MariaDb(database.connect().await),
        }
    }
}
