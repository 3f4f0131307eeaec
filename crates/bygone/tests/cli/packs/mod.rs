//! Packs over tables like those they are for: filled around every bound, swept by the program, survivors compared.

mod attesto;
mod django;
mod hydra;
mod keycloak;
mod mas;
mod oban;
mod pg_boss;
mod river;
mod solid_queue;
mod tokens;

use jiff::{SignedDuration, Timestamp};

use crate::support::{Engine, World};

/// The moment that the sweeps compare with.
const NOW: &str = "2026-11-10T12:00:00Z";

/// A pack over a schema filled with rows. In both texts `@30d` is the instant 30 days before now, which is the last
/// that stays with `keep = "30d"`; `@30d-` and `@30d+` are a microsecond to either side of it. `@sec:`, `@epoch_s:` and
/// `@epoch_ms:` say that the column holds whole seconds, or a number; the sides are then one of those away.
struct Case<'a> {
    pack: &'a str,
    /// More lines for the use of the pack.
    more: &'a str,
    /// More lines for the source.
    source: &'a str,
    schema: &'a str,
    rows: &'a str,
}

impl<'a> Case<'a> {
    fn of(pack: &'a str, schema: &'a str, rows: &'a str) -> Self {
        Self { pack, more: "", source: "", schema, rows }
    }

    /// The database, filled, and the file that uses the pack.
    async fn world(&self, engine: Engine) -> World {
        let world = World::empty(engine).await;
        let Self { pack, more, source, .. } = self;
        world.configure(&format!(
            "[source.db]\nurl = \"${{DATABASE_URL}}\"\n{source}\n[brake]\nfraction = 1.0\n\n\
             [[use]]\npack = \"{pack}\"\nsource = \"db\"\n{more}\n"
        ));
        world.run_sql(&dated(engine, self.schema)).await;
        world.run_sql(&dated(engine, self.rows)).await;
        world
    }

    /// One sweep finds work for every policy and leaves these values of `table.column`; another finds nothing.
    async fn leaves(&self, engine: Engine, survivors: &[(&str, &[&str])]) {
        let world = self.world(engine).await;
        world.run(&["check"]).ends(0);
        let report = world.run(&["sweep", "--format", "json", "--now", NOW]).ends(0).json();
        assert_eq!(report["outcome"], "complete", "{report:#}");
        are_left(&world, survivors).await;
        let policies = report["policies"].as_array().unwrap();
        let shown = world.run(&["packs", "show", self.pack]).ends(0).stdout;
        assert_eq!(policies.len(), shown.lines().filter(|line| *line == "[[policy]]").count(), "all are switched on");
        for policy in policies {
            assert_ne!(policy["removed"], 0, "the rows have nothing for it: {policy:#}");
            assert_eq!(policy["kept_back"]["conflict"], 0, "it ran into a foreign key: {policy:#}");
        }
        let again = world.run(&["sweep", "--format", "json", "--now", NOW]).ends(0).json();
        for policy in again["policies"].as_array().unwrap() {
            assert_eq!(policy["removed"], 0, "{policy:#}");
        }
        are_left(&world, survivors).await;
    }
}

async fn are_left(world: &World, survivors: &[(&str, &[&str])]) {
    let mut client = world.client().await;
    for (place, expected) in survivors {
        let (table, column) = place.rsplit_once('.').unwrap();
        let mut found = client.texts(&format!("SELECT {column} FROM {table}")).await;
        let mut expected = expected.to_vec();
        found.sort();
        expected.sort_unstable();
        assert_eq!(found, expected, "{place}");
    }
}

/// Rows around the bound of a policy: only `before` goes.
fn around(table: &str, key: &str, deadline: &str, bound: &str) -> String {
    format!(
        "INSERT INTO {table} ({key}, {deadline}) VALUES ('before', {bound}-), ('at', {bound}), ('after', {bound}+);\n"
    )
}

/// The same where the deadline may be absent.
fn around_or_never(table: &str, key: &str, deadline: &str, bound: &str) -> String {
    around(table, key, deadline, bound) + &format!("INSERT INTO {table} ({key}, {deadline}) VALUES ('never', NULL);\n")
}

/// What is left of those.
const AROUND: &[&str] = &["at", "after"];
const AROUND_OR_NEVER: &[&str] = &["at", "after", "never"];

/// Puts instants where the text has `@`.
fn dated(engine: Engine, text: &str) -> String {
    let now: Timestamp = NOW.parse().unwrap();
    let mut pieces = text.split('@');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (word, rest) = piece.split_at(piece.find(|c: char| c != ':' && c != '_' && !c.is_alphanumeric()).unwrap());
        let (unit, ago) = word.split_once(':').unwrap_or(("", word));
        let step = match unit {
            "" => SignedDuration::from_micros(1),
            "epoch_ms" => SignedDuration::from_millis(1),
            "sec" | "epoch_s" => SignedDuration::from_secs(1),
            _ => panic!("no unit: {unit}"),
        };
        let (number, length) = ago.split_at(ago.len() - 1);
        let seconds = if length == "d" { 86_400 } else { 60 };
        let at = now - SignedDuration::from_secs(number.parse::<i64>().unwrap() * seconds);
        let (at, rest) = match rest.split_at(1) {
            ("-", rest) => (at - step, rest),
            ("+", rest) => (at + step, rest),
            _ => (at, rest),
        };
        out += &written(engine, unit, at);
        out += rest;
    }
    out
}

fn written(engine: Engine, unit: &str, at: Timestamp) -> String {
    let zone = if engine == Engine::Postgres { "Z" } else { "" };
    match unit {
        "epoch_s" => at.as_second().to_string(),
        "epoch_ms" => at.as_millisecond().to_string(),
        _ => format!("'{}{zone}'", at.strftime("%Y-%m-%d %H:%M:%S.%6f")),
    }
}
