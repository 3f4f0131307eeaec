//! A database of a test's own on any of the three engines, and policies over it.

use bygone_core::{Boundary, Budget, PolicyReport, TargetError};
use bygone_sql::{Deadline, Engine, RowPolicy, RowTarget, SharedSource, Source, SourceOptions, SourceUrl};
use bygone_testkit::{Database, MariaDb, MariaDbEngine, Postgres, PostgresEngine, Sqlite, conformance};
use jiff::Timestamp;

use crate::client::Client;

/// Runs each of these functions as a test of its own on each engine.
macro_rules! on_each_engine {
    ($($(#[$meta:meta])* $test:ident),* $(,)?) => {
        on_each_engine!(@ sqlite Sqlite $($test)*);
        on_each_engine!(@ postgres Postgres $($test)*);
        on_each_engine!(@ mariadb MySql $($test)*);
    };
    (@ $module:ident $engine:ident $($test:ident)*) => {
        mod $module {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    super::$test(bygone_sql::Engine::$engine).await;
                }
            )*
        }
    };
}
pub(crate) use on_each_engine;

/// The instant that the sweeps of these tests compare with.
pub(crate) fn boundary() -> Boundary {
    Boundary::at(instant("2026-11-15T12:00:00Z"))
}

/// An instant, from text.
pub(crate) fn instant(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A database that nobody else uses.
pub(crate) enum World {
    Sqlite(Sqlite),
    Postgres(Database<PostgresEngine>),
    MariaDb(Database<MariaDbEngine>),
}

impl World {
    pub(crate) async fn fresh(engine: Engine) -> Self {
        match engine {
            Engine::Sqlite => Self::Sqlite(Sqlite::fresh()),
            Engine::Postgres => Self::Postgres(Postgres::shared().await.fresh_database().await),
            Engine::MySql => Self::MariaDb(MariaDb::shared().await.fresh_database().await),
        }
    }

    /// A database in which a script was run.
    pub(crate) async fn with(engine: Engine, script: &str) -> Self {
        let world = Self::fresh(engine).await;
        world.client().await.run(script).await;
        world
    }

    pub(crate) fn engine(&self) -> Engine {
        match self {
            Self::Sqlite(_) => Engine::Sqlite,
            Self::Postgres(_) => Engine::Postgres,
            Self::MariaDb(_) => Engine::MySql,
        }
    }

    /// A connection of another user of the database.
    pub(crate) async fn client(&self) -> Client {
        match self {
            Self::Sqlite(sqlite) => {
                let connection = sqlite.connect();
                connection.busy_timeout(std::time::Duration::from_secs(60)).unwrap();
                // Tests need no durability, and foreign keys are off unless somebody asks for them.
                connection.execute_batch("PRAGMA synchronous = off; PRAGMA foreign_keys = on").unwrap();
                Client::Sqlite(connection)
            }
            Self::Postgres(database) => Client::Postgres(database.connect().await),
            Self::MariaDb(database) => Client::MariaDb(database.connect().await),
        }
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Sqlite(sqlite) => sqlite.url(),
            Self::Postgres(database) => database.url(),
            Self::MariaDb(database) => database.url(),
        }
    }

    /// How the program would reach it.
    pub(crate) fn options(&self) -> SourceOptions {
        SourceOptions::new("world", SourceUrl::parse(&self.url()).unwrap())
    }

    /// A source with a connection of its own.
    pub(crate) async fn source(&self) -> SharedSource {
        open(self.options()).await
    }

    /// A policy bound over a connection of its own.
    pub(crate) async fn bind(&self, policy: &RowPolicy) -> Result<RowTarget, TargetError> {
        RowTarget::bind(&self.source().await, policy).await
    }

    /// Makes a role of a server with these rights on its tables and no others. Returns its name and how it gets in.
    pub(crate) async fn make_role(&self, rights: &str) -> (String, SourceOptions) {
        let (role, url, make) = match self {
            Self::Postgres(database) => {
                let role = format!("role_{}", database.name());
                let grant = format!("GRANT {rights} ON ALL TABLES IN SCHEMA public TO {role}");
                (
                    role.clone(),
                    database.url_as(&role, "sesame"),
                    format!("CREATE ROLE {role} LOGIN PASSWORD 'sesame'; {grant}"),
                )
            }
            Self::MariaDb(database) => {
                let role = format!("role_{}", database.name());
                let grant = format!("GRANT {rights} ON {}.* TO {role}", database.name());
                (
                    role.clone(),
                    database.url_as(&role, "sesame"),
                    format!("CREATE USER {role} IDENTIFIED BY 'sesame'; {grant}"),
                )
            }
            Self::Sqlite(_) => unreachable!("a file has no roles"),
        };
        self.client().await.run(&make).await;
        (role, SourceOptions { url: SourceUrl::parse(&url).unwrap(), ..self.options() })
    }

    /// Adds a table `stuck`: rows of `items` cannot be deleted while their number in this column stands there.
    pub(crate) async fn make_sticky(&self, column: &str) {
        let trigger = match self.engine() {
            Engine::Sqlite => {
                "CREATE TRIGGER sticks BEFORE DELETE ON items WHEN OLD.COLUMN IN (SELECT number FROM stuck) \
                 BEGIN SELECT RAISE(ABORT, 'stuck'); END"
            }
            Engine::Postgres => {
                "CREATE FUNCTION sticks() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                 IF OLD.COLUMN IN (SELECT number FROM stuck) THEN RAISE 'stuck'; END IF; RETURN OLD; END $$; \
                 CREATE TRIGGER sticks BEFORE DELETE ON items FOR EACH ROW EXECUTE FUNCTION sticks()"
            }
            Engine::MySql => {
                "CREATE TRIGGER sticks BEFORE DELETE ON items FOR EACH ROW BEGIN \
                 IF OLD.COLUMN IN (SELECT number FROM stuck) THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'stuck'; \
                 END IF; END"
            }
        };
        let mut client = self.client().await;
        client.run("CREATE TABLE stuck (number INT)").await;
        client.run(&trigger.replace("COLUMN", column)).await;
    }

    /// Sweeps what is bygone by a policy, at the boundary of these tests.
    pub(crate) async fn sweep(&self, policy: &RowPolicy) -> PolicyReport {
        let target = self.bind(policy).await.unwrap_or_else(|e| panic!("{}", e.full_message()));
        sweep(target, Budget::default()).await
    }
}

/// Opens a source.
pub(crate) async fn open(options: SourceOptions) -> SharedSource {
    Source::open(options).await.unwrap_or_else(|e| panic!("{e}")).shared()
}

/// Sweeps a bound policy, at the boundary of these tests.
pub(crate) async fn sweep(target: RowTarget, budget: Budget) -> PolicyReport {
    conformance::sweep(Box::new(target), boundary(), budget).await
}

/// A policy over a table whose deadline is a column.
pub(crate) fn policy(table: &str, deadline: Deadline) -> RowPolicy {
    RowPolicy::new("policy", table, deadline)
}

/// An instant as a literal of the engine's own type for instants: timestamptz, DATETIME(6) in UTC, ISO text.
pub(crate) fn literal(engine: Engine, at: Option<Timestamp>) -> String {
    match (engine, at) {
        (_, None) => "NULL".to_owned(),
        (Engine::MySql, Some(at)) => format!("'{}'", at.strftime("%Y-%m-%d %H:%M:%S%.6f")),
        (_, Some(at)) => format!("'{at:.6}'"),
    }
}

/// A column of that type as text that [`instant`] reads.
pub(crate) fn readable(engine: Engine, column: &str) -> String {
    match engine {
        Engine::Sqlite => column.to_owned(),
        Engine::Postgres => format!("to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"),
        Engine::MySql => format!("DATE_FORMAT({column}, '%Y-%m-%dT%H:%i:%s.%fZ')"),
    }
}
