//! Every kind of deadline, around the boundary: what is before it goes, to the last microsecond, and what is on it,
//! behind it, absent or unreadable stays.

mod epoch;
mod ids;
mod local;
mod native;
mod several;
mod sqlite_text;

use bygone_core::{Boundary, ErrorKind, Outcome, TargetError};
use bygone_sql::{Deadline, Engine, Format, GuardForm, RowPolicy, RowTarget};
use bygone_testkit::Client;
use bygone_testkit::conformance;
use jiff::SignedDuration;
use jiff::tz::TimeZone;

use crate::world::{World, instant, policy};

/// SQLite's clock as a guard reads it. It counts milliseconds; boundaries of these tests may be finer.
const SQLITE_CLOCK: &str = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000";

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// It is bygone, and removed.
    Goes,
    /// It has a deadline that has not passed.
    Stays,
    /// Its deadline is absent or no deadline: it stays, and is counted.
    Unreadable,
}
use Fate::{Goes, Stays, Unreadable};

/// A column that holds deadlines, and the sweep that looks at it.
#[derive(Clone, Copy)]
struct Column {
    engine: Engine,
    sql_type: &'static str,
    format: Format,
    zone: Option<&'static str>,
    boundary: &'static str,
    keep: SignedDuration,
}

impl Column {
    const fn new(engine: Engine, sql_type: &'static str) -> Self {
        Self {
            engine,
            sql_type,
            format: Format::Native,
            zone: None,
            boundary: "2026-11-15T12:00:00Z",
            keep: SignedDuration::ZERO,
        }
    }

    fn policy(&self) -> RowPolicy {
        let zone = self.zone.map(|name| TimeZone::get(name).unwrap());
        RowPolicy { keep: self.keep, zone, ..policy("items", Deadline::in_format("deadline", self.format)) }
    }

    /// A table with these values, each in a row whose name is the value's own text.
    async fn filled(&self, values: impl IntoIterator<Item = &str>) -> (World, Client) {
        let create = format!("CREATE TABLE items (name VARCHAR(100) PRIMARY KEY, deadline {} NULL)", self.sql_type);
        let world = World::with(self.engine, &create).await;
        let mut client = world.client().await;
        if self.engine == Engine::MySql {
            client.run("SET SESSION sql_mode = ''").await;
        }
        for value in values {
            let name = value.replace('\'', "''");
            client.run(&format!("INSERT INTO items VALUES ('{name}', {value})")).await;
        }
        (world, client)
    }

    /// Sweeps a table with these values, once without an index and once with one, and compares what is left with
    /// what should be.
    async fn judges(&self, rows: &[(&str, Fate)]) {
        for index in ["SELECT 1", "CREATE INDEX by_deadline ON items (deadline)"] {
            let (world, mut client) = self.filled(rows.iter().map(|(value, _)| *value)).await;
            client.rows(index).await;
            let target = world.bind(&self.policy()).await.unwrap_or_else(|e| panic!("{}", e.full_message()));
            self.guards(&target, &mut client, rows).await;
            let boundary = Boundary::at(instant(self.boundary));
            let report = conformance::sweep(Box::new(target), boundary, bygone_core::Budget::default()).await;
            assert_eq!(report.outcome, Outcome::Complete, "{report:?}");

            let context = format!("{} {:?}, {index}", self.sql_type, self.format);
            let mut left = client.texts("SELECT name FROM items").await;
            let mut expected: Vec<&str> =
                rows.iter().filter(|(_, fate)| *fate != Goes).map(|(value, _)| *value).collect();
            left.sort_unstable();
            expected.sort_unstable();
            assert_eq!(left, expected, "{context}: the survivors");
            let unreadable = rows.iter().filter(|(_, fate)| *fate == Unreadable).count();
            assert_eq!(report.tally.kept_back.unreadable, unreadable as u64, "{context}: {report:?}");
            assert_eq!(report.tally.removed, (rows.len() - expected.len()) as u64, "{context}: {report:?}");
        }
    }

    /// Asks the guard's condition, with the boundary in the place of the database's clock and from a session in another
    /// time zone: it shows what the sweep is going to leave. Only zones and identifiers may be refused.
    async fn guards(&self, target: &RowTarget, client: &mut Client, rows: &[(&str, Fate)]) {
        let Ok(guard) = target.guard(GuardForm::View) else {
            let reaches_far = self.keep > SignedDuration::from_hours(24 * 366 * 1000);
            let locked_in =
                self.format == Format::Ulid || (self.format, self.engine) == (Format::Uuid7, Engine::Sqlite);
            let refusable = reaches_far || self.zone.is_some() || locked_in;
            return assert!(refusable, "{} {:?}", self.sql_type, self.format);
        };
        let boundary = instant(self.boundary);
        let (clock, literal, away, home) = match self.engine {
            Engine::Postgres => {
                ("now()", format!("timestamptz '{boundary}'"), "SET TIME ZONE '-05:45'", "RESET TIME ZONE")
            }
            Engine::MySql => (
                "UTC_TIMESTAMP(6)",
                format!("TIMESTAMP '{}'", boundary.strftime("%Y-%m-%d %H:%M:%S%.6f")),
                "SET SESSION time_zone = '+05:45'",
                "SET SESSION time_zone = DEFAULT",
            ),
            Engine::Sqlite => (SQLITE_CLOCK, boundary.as_microsecond().to_string(), "", ""),
        };
        assert!(guard.condition.contains(clock), "{}", guard.condition);
        client.run(away).await;
        let condition = guard.condition.replace(clock, &literal);
        let mut seen = client.texts(&format!("SELECT name FROM items WHERE {condition}")).await;
        client.run(home).await;
        let mut expected: Vec<&str> = rows.iter().filter(|(_, fate)| *fate != Goes).map(|(value, _)| *value).collect();
        seen.sort_unstable();
        expected.sort_unstable();
        assert_eq!(seen, expected, "{} {:?}: what the guard shows by {condition}", self.sql_type, self.format);
    }

    /// Binds a policy to a table with these values, which must be refused as unfit; nothing is removed.
    async fn refuses(&self, values: &[&str]) -> TargetError {
        let (world, mut client) = self.filled(values.iter().copied()).await;
        let Err(error) = world.bind(&self.policy()).await else { panic!("{} was taken", self.sql_type) };
        assert_eq!(error.kind(), ErrorKind::Unfit, "{error:?}");
        assert_eq!(client.texts("SELECT name FROM items").await.len(), values.len());
        error
    }
}
