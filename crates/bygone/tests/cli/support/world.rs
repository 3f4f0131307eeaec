//! A database with a table of tokens, and a directory with the `bygone.toml` over it.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use super::database::{Client, Database, Engine};
use super::program::{Run, bygone};

/// One policy over the table of tokens.
pub(crate) const TOKENS: &str = r#"[source.db]
url = "${DATABASE_URL}"

[[policy]]
name = "tokens"
source = "db"
table = "tokens"
deadline = "expires_at"
keep = "0s"
"#;

/// The rows that are past their time by any clock: 1 to 60. They end in the first hours of 2020.
pub(crate) const BYGONE_LAST: u32 = 60;
/// The rows that live for a long time to come: 61 to 100. They end in the first hours of 2200.
pub(crate) const LAST: u32 = 100;
/// When those rows end.
pub(crate) const PAST: &str = "2020-01-01";
pub(crate) const FUTURE: &str = "2200-01-01";

/// The ids of the rows that no sweep may ever remove.
pub(crate) fn living() -> Vec<u32> {
    (BYGONE_LAST + 1..=LAST).collect()
}

/// The ids of all rows.
pub(crate) fn everyone() -> Vec<u32> {
    (1..=LAST).collect()
}

/// A test's own surroundings.
pub(crate) struct World {
    pub(crate) database: Database,
    directory: TempDir,
}

impl World {
    /// A database without tables, and the policy over its tokens.
    pub(crate) async fn empty(engine: Engine) -> Self {
        Self::over(Database::fresh(engine).await)
    }

    /// The same over a database that is there already.
    pub(crate) fn over(database: Database) -> Self {
        let directory = tempfile::Builder::new().prefix("bygone-cli-").tempdir().unwrap();
        let world = Self { database, directory };
        world.configure(TOKENS);
        world
    }

    /// The same with the table of tokens in it, and filled.
    pub(crate) async fn with_tokens(engine: Engine) -> Self {
        let world = Self::empty(engine).await;
        world.make_table("tokens").await;
        world.fill().await;
        world
    }

    /// Fills the table of tokens, 60 of them bygone and 40 alive.
    pub(crate) async fn fill(&self) {
        self.add("tokens", 1, BYGONE_LAST, PAST).await;
        self.add("tokens", BYGONE_LAST + 1, LAST, FUTURE).await;
    }

    /// Makes a table like that of the tokens, with an index on the deadline.
    pub(crate) async fn make_table(&self, table: &str) {
        let kind = self.database.engine().instant_type();
        self.run_sql(&format!(
            "CREATE TABLE {table} (id INTEGER PRIMARY KEY, expires_at {kind}); \
             CREATE INDEX {table}_expires_at ON {table} (expires_at)"
        ))
        .await;
    }

    /// Adds rows that end seconds after midnight of a day.
    pub(crate) async fn add(&self, table: &str, first: u32, last: u32, day: &str) {
        let rows = self.database.engine().rows(first, last, "1 = 1", day);
        self.run_sql(&format!("INSERT INTO {table} (id, expires_at) {rows}")).await;
    }

    /// Adds one row with a deadline of its own, written as the engines read it, in UTC.
    pub(crate) async fn add_at(&self, id: u32, deadline: &str) {
        let zone = if self.database.engine() == Engine::Postgres { "Z" } else { "" };
        self.run_sql(&format!("INSERT INTO tokens (id, expires_at) VALUES ({id}, '{deadline}{zone}')")).await;
    }

    pub(crate) async fn client(&self) -> Client {
        self.database.client().await
    }

    pub(crate) async fn run_sql(&self, sql: &str) {
        self.client().await.run(sql).await;
    }

    /// The ids that are left in a table.
    pub(crate) async fn ids(&self, table: &str) -> Vec<u32> {
        let texts = self.client().await.texts(&format!("SELECT id FROM {table} ORDER BY id")).await;
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// The ids that are left of the tokens.
    pub(crate) async fn survivors(&self) -> Vec<u32> {
        self.ids("tokens").await
    }

    /// A file next to the configuration.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes the configuration.
    pub(crate) fn configure(&self, text: &str) {
        std::fs::write(self.path("bygone.toml"), text).unwrap();
    }

    /// Writes the policy over the tokens with something else in a place of it.
    pub(crate) fn alter(&self, from: &str, to: &str) {
        self.configure(&altered(from, to));
    }

    /// Writes the policy over the tokens with further lines.
    pub(crate) fn add_lines(&self, lines: &str) {
        self.configure(&format!("{TOKENS}{lines}\n"));
    }

    /// A call of the program in the directory of the configuration, ready to run.
    pub(crate) fn bygone(&self, arguments: &[&str]) -> Command {
        let mut command = bygone(arguments);
        command.current_dir(self.directory.path()).env("DATABASE_URL", self.database.url());
        // Several daemons of several tests run at once: each gets a port of its own.
        command.env("BYGONE_LISTEN", "127.0.0.1:0");
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&mut self.bygone(arguments))
    }

    /// Runs the program, which must end with this code and leave every token where it was.
    pub(crate) async fn refuses(&self, code: i32, arguments: &[&str]) -> Run {
        let before = self.survivors().await;
        assert!(before.starts_with(&everyone()), "the tokens are there to be removed: {before:?}");
        let run = self.run(arguments).ends(code);
        assert_eq!(self.survivors().await, before, "something was removed: {run:#?}");
        run
    }
}

/// The policy over the tokens with something else in a place of it.
pub(crate) fn altered(from: &str, to: &str) -> String {
    assert!(TOKENS.contains(from), "{from:?} does not stand in the policy");
    TOKENS.replace(from, to)
}

/// A policy like that over the tokens, over another table.
pub(crate) fn policy_over(table: &str) -> String {
    let (_, policy) = TOKENS.split_once("\n\n").expect("the source stands before the policy");
    policy.replace("\"tokens\"", &format!("\"{table}\""))
}
