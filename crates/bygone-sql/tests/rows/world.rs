//! A database of a test's own on any of the three engines, and policies over it.

use bygone_core::{Boundary, Budget, PolicyReport, TargetError};
use bygone_sql::{Deadline, Engine, RowPolicy, RowTarget, SharedSource, Source, SourceOptions, SourceUrl};
use bygone_testkit::{AnyDatabase, Client, Kind, conformance};
use jiff::Timestamp;

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

/// A database that nobody else uses, and how bygone reaches it.
pub(crate) struct World(pub(crate) AnyDatabase);

impl World {
    pub(crate) async fn fresh(engine: Engine) -> Self {
        let kind = match engine {
            Engine::Sqlite => Kind::Sqlite,
            Engine::Postgres => Kind::Postgres,
            Engine::MySql => Kind::MariaDb,
        };
        Self(AnyDatabase::fresh(kind).await)
    }

    /// A database in which a script was run.
    pub(crate) async fn with(engine: Engine, script: &str) -> Self {
        let world = Self::fresh(engine).await;
        world.client().await.run(script).await;
        world
    }

    pub(crate) fn engine(&self) -> Engine {
        match self.0.kind() {
            Kind::Sqlite => Engine::Sqlite,
            Kind::Postgres => Engine::Postgres,
            Kind::MariaDb => Engine::MySql,
        }
    }

    /// A connection of another user of the database.
    pub(crate) async fn client(&self) -> Client {
        self.0.client().await
    }

    pub(crate) fn url(&self) -> String {
        self.0.url()
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
        let (role, url, make) = match &self.0 {
            AnyDatabase::Postgres(database) => {
                let role = format!("role_{}", database.name());
                let grant = format!("GRANT {rights} ON ALL TABLES IN SCHEMA public TO {role}");
                (
                    role.clone(),
                    database.url_as(&role, "sesame"),
                    format!("CREATE ROLE {role} LOGIN PASSWORD 'sesame'; {grant}"),
                )
            }
            AnyDatabase::MariaDb(database) => {
                let role = format!("role_{}", database.name());
                let grant = format!("GRANT {rights} ON {}.* TO {role}", database.name());
                (
                    role.clone(),
                    database.url_as(&role, "sesame"),
                    format!("CREATE USER {role} IDENTIFIED BY 'sesame'; {grant}"),
                )
            }
            AnyDatabase::Sqlite(_) => unreachable!("a file has no roles"),
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
