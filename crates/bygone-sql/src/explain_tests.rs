//! EXPLAIN of every statement of a page, in the very session that runs it: each is led by the index, the key or the
//! blocks that its walk is meant to go by, and reads no more than its page.

mod mariadb;
mod postgres;
mod sqlite;

use bygone_core::{Boundary, Target};
use jiff::Timestamp;

use crate::engine::Engine;
use crate::policy::{Deadline, Format, RowPolicy};
use crate::query::Query;
use crate::source::{SharedSource, Source, SourceOptions};
use crate::target::RowTarget;
use crate::url::SourceUrl;
use crate::value::{Row, Value};
use crate::walk::{Choice, Position, Upper, Walk};

/// The rows of every table here.
const ROWS: u32 = 50_000;
/// 2026-11-15T12:00:00Z. Row n of a table has its deadline n - 20,000 seconds later.
const BOUNDARY_S: i64 = 1_794_744_000;

fn cutoff() -> Timestamp {
    Timestamp::from_second(BOUNDARY_S).unwrap()
}

/// A policy over a filled table, surveyed.
struct Stage {
    source: SharedSource,
    target: RowTarget,
}

impl Stage {
    /// Runs the scripts, then binds and surveys a policy over the table `items`.
    async fn set(url: &str, scripts: &[&str], deadline: Deadline) -> Self {
        Self::set_with(url, scripts, deadline, None).await
    }

    /// The same, with a condition beside the deadline.
    async fn set_with(url: &str, scripts: &[&str], deadline: Deadline, filter: Option<&str>) -> Self {
        let options = SourceOptions::new("stage", SourceUrl::parse(url).unwrap());
        let source = Source::open(options).await.unwrap().shared();
        for script in scripts {
            source.lock().await.run(script).await.unwrap();
        }
        let policy = RowPolicy { filter: filter.map(str::to_owned), ..RowPolicy::new("policy", "items", deadline) };
        let mut target = RowTarget::bind(&source, &policy).await.unwrap();
        target.survey(Boundary::at(cutoff())).await.unwrap();
        Self { source, target }
    }

    fn choice(&self) -> &Choice {
        self.target.choice().unwrap()
    }

    fn walks(&self, walk: Walk) -> &Self {
        assert_eq!(self.choice().walk, walk, "{}", self.choice().why);
        self
    }

    async fn query(&self, query: &Query) -> Vec<Row> {
        self.source.lock().await.query(query).await.unwrap_or_else(|e| panic!("{e}\nin: {}", query.text()))
    }

    async fn run(&self, text: &str) {
        self.source.lock().await.run(text).await.unwrap_or_else(|e| panic!("{e}\nin: {text}"));
    }

    /// How the database would run a statement, in its own words, a line each.
    async fn explain(&self, query: &Query) -> String {
        let line = |row: Row| row.iter().map(shown).collect::<Vec<_>>().join(" | ");
        self.query(&query.explained()).await.into_iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Some rows in the middle of what is due: where they are along the walk, their ties, their keys.
    async fn middle(&self) -> Middle {
        let (binding, axis) = (&self.target.binding, &self.choice().axis);
        let start = axis.beginning();
        let value_at = async |rows: u64| {
            let found = self.query(&binding.bound(axis, &start, rows, None)).await;
            found.into_iter().next().and_then(|row| row.into_iter().next()).unwrap()
        };
        let (from, to) = match self.choice().walk {
            Walk::Heap => (Value::from("(100,0)"), Value::from("(103,0)")),
            _ => (value_at(5_000).await, value_at(5_200).await),
        };
        let found = binding.candidates(axis, &Position::From(from.clone()), &Upper::Below(to.clone()), cutoff(), 100);
        let rows = self.query(&found).await;
        let ties = rows[0][1..=axis.ties.len()].to_vec();
        let keys = rows.iter().map(|row| row[1 + axis.ties.len()..].to_vec()).collect();
        Middle { from, to, ties, keys }
    }

    /// Every statement of a page, with what should lead it.
    async fn statements<'a>(&self, along: &'a str, by_key: &'a str) -> Vec<(Query, &'a str)> {
        let walking = self.along().await.into_iter().map(|statement| (statement, along));
        walking.chain(self.by_key().await.into_iter().map(|statement| (statement, by_key))).collect()
    }

    /// Every statement of a page that is led along the walk.
    async fn along(&self) -> Vec<Query> {
        let (binding, axis) = (&self.target.binding, &self.choice().axis);
        let Middle { from, to, ties, .. } = self.middle().await;
        let lead = (self.choice().walk == Walk::Slices).then(|| binding.lead()).flatten();
        let end = lead.and_then(|(column, _)| column.cutoff(cutoff()));
        let mut statements = Vec::new();
        for begin in [Position::From(from.clone()), Position::After(from.clone(), ties), Position::Past(from.clone())] {
            statements.push(binding.candidates(axis, &begin, &Upper::Below(to.clone()), cutoff(), 100));
            // Blocks are counted, not looked for.
            if self.choice().walk != Walk::Heap {
                statements.push(binding.bound(axis, &begin, 200, end.as_ref()));
            }
            // Where several rows may be equal along the walk, they have pages of their own.
            if !axis.ties.is_empty() && begin.first().is_some() {
                statements.push(binding.candidates(axis, &begin, &Upper::At(from.clone()), cutoff(), 100));
            }
            statements.push(binding.remove_range(axis, &begin, &Upper::Below(to.clone()), cutoff()));
        }
        statements
    }

    /// The statement that takes a hundred rows of one value.
    fn some_of(&self, value: &Value) -> Query {
        self.target.binding.remove_some(&self.choice().axis, value, cutoff(), 100).unwrap()
    }

    /// Every statement of a page that finds rows by their keys, for one row and for many.
    async fn by_key(&self) -> Vec<Query> {
        let binding = &self.target.binding;
        let keys = self.middle().await.keys;
        let lists = [&keys[..1], &keys[..]];
        let each = |keys: &&[Row]| {
            let lock = (binding.table.engine != Engine::Sqlite).then(|| binding.lock(keys, cutoff()));
            lock.into_iter().chain([binding.still_due(keys, cutoff()), binding.remove_rows(keys, cutoff())])
        };
        lists.iter().flat_map(each).collect()
    }
}

struct Middle {
    from: Value,
    to: Value,
    ties: Vec<Value>,
    keys: Vec<Row>,
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Int(n) => n.to_string(),
        Value::Real(x) => x.to_string(),
        Value::Text(text) => text.clone(),
        Value::Blob(bytes) => format!("{bytes:?}"),
        Value::Instant(us) | Value::Local(us) => format!("{us} us"),
    }
}

/// The beginning of a text that may name a hundred keys.
fn short(text: &str) -> String {
    text.chars().take(1_500).collect()
}

fn seconds() -> Deadline {
    Deadline::in_format("deadline", Format::EpochSeconds)
}
