//! Every statement over a table of things that expire: one pure function each, all dialects.
//!
//! Each of them carries the test of the deadline against the caller's one `now`. None reads a clock of its own.

use bygone_sql::{Engine, Query, Value};

use super::shape::{EXPIRES_AT, HORIZON, Shape};
use super::{Alive, Change, NewRow, Only, Set};
use crate::secret::Digest;

/// A table of a database, by its quoted name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Statements<'a> {
    pub(crate) engine: Engine,
    pub(crate) table: &'a str,
    pub(crate) shape: &'static Shape,
}

/// Columns and the digests that they must hold.
pub(crate) type Key<'a> = &'a [(&'static str, Digest)];

impl Statements<'_> {
    fn query(self, text: &str) -> Query {
        Query::new(self.engine, text)
    }

    fn columns(self) -> String {
        self.shape.all().map(|column| column.name).collect::<Vec<_>>().join(", ")
    }

    /// Whether an `UPDATE` can say what became of its rows. MySQL cannot, and MariaDB can do so for others only.
    pub(crate) fn returns(self) -> bool {
        self.engine != Engine::MySql
    }

    /// A new row; a key that is there already is an error.
    pub(crate) fn insert(self, row: &NewRow) -> Query {
        let names: Vec<&str> = row.values().map(|(name, _)| name).collect();
        let held = if self.engine == Engine::MySql { "" } else { " AS held" };
        let query = self.query("INSERT INTO ").sql(self.table).sql(held);
        let query = query.sql(" (").sql(names.join(", ")).sql(") VALUES (");
        listed(query, row.values().map(|(_, value)| value)).sql(")")
    }

    /// A new row, also where the key's last row no longer counts (PostgreSQL and SQLite).
    pub(crate) fn insert_vacant(self, row: &NewRow, now: i64) -> Query {
        let vacated = self.shape.vacated.column();
        self.insert_over(row).sql(" WHERE held.").sql(vacated).sql(" <= ").bind(Value::Int(now), None)
    }

    /// The same in two steps: this is the second, where the first found the key taken (MySQL and MariaDB).
    pub(crate) fn reclaim(self, row: &NewRow, now: i64) -> Query {
        let mut query = self.query("UPDATE ").sql(self.table).sql(" SET ");
        for (at, column) in self.shape.all().filter(|column| !self.shape.key.contains(&column.name)).enumerate() {
            query = query.sql(if at == 0 { "" } else { ", " }).sql(column.name).sql(" = ");
            query = match row.get(column.name) {
                Some(value) => query.bind(value.clone(), None),
                None => query.sql("NULL"),
            };
        }
        let key: Vec<(&'static str, Value)> =
            self.shape.key.iter().filter_map(|name| Some((*name, row.get(name)?.clone()))).collect();
        for (at, (name, value)) in key.into_iter().enumerate() {
            query = query.sql(if at == 0 { " WHERE " } else { " AND " }).sql(name).sql(" = ").bind(value, None);
        }
        query.sql(" AND ").sql(self.shape.vacated.column()).sql(" <= ").bind(Value::Int(now), None)
    }

    /// A new row in place of whatever the key had.
    pub(crate) fn upsert(self, row: &NewRow) -> Query {
        if self.engine != Engine::MySql {
            return self.insert_over(row);
        }
        let set = self.all_but_key().map(|name| match row.get(name) {
            Some(_) => format!("{name} = VALUES({name})"),
            None => format!("{name} = NULL"),
        });
        let set: Vec<String> = set.collect();
        self.insert(row).sql(" ON DUPLICATE KEY UPDATE ").sql(set.join(", "))
    }

    fn insert_over(self, row: &NewRow) -> Query {
        let set = self.all_but_key().map(|name| match row.get(name) {
            Some(_) => format!("{name} = excluded.{name}"),
            None => format!("{name} = NULL"),
        });
        let set: Vec<String> = set.collect();
        let key = self.shape.key.join(", ");
        self.insert(row).sql(" ON CONFLICT (").sql(key).sql(") DO UPDATE SET ").sql(set.join(", "))
    }

    fn all_but_key(self) -> impl Iterator<Item = &'static str> {
        self.shape.all().map(|column| column.name).filter(move |name| !self.shape.key.contains(name))
    }

    /// Rows by digests.
    pub(crate) fn select(self, key: Key<'_>, only: &[Only], alive: Alive, now: i64) -> Query {
        let query = self.query("SELECT ").sql(self.columns()).sql(" FROM ").sql(self.table);
        conditions(query, key, only, alive, now)
    }

    /// Changes rows by digests, and says what became of them where the database can.
    pub(crate) fn change(self, key: Key<'_>, change: &Change, now: i64) -> Query {
        let mut query = self.query("UPDATE ").sql(self.table).sql(" SET ");
        for (at, (name, set)) in change.set.iter().enumerate() {
            query = query.sql(if at == 0 { "" } else { ", " }).sql(name).sql(" = ");
            query = match set {
                Set::To(value) => query.bind(value.clone(), None),
                Set::Null => query.sql("NULL"),
                Set::Plus(more) => query.sql(name).sql(" + ").bind(Value::Int(*more), None),
                Set::AtLeast(least) => {
                    let greatest = if self.engine == Engine::Sqlite { "MAX(" } else { "GREATEST(" };
                    query.sql(greatest).sql(name).sql(", ").bind(Value::Int(*least), None).sql(")")
                }
            };
        }
        let query = conditions(query, key, &change.only, change.alive, now);
        if self.returns() { query.sql(" RETURNING ").sql(self.columns()) } else { query }
    }

    /// Removes rows by digests, or all of them.
    pub(crate) fn remove(self, key: Key<'_>) -> Query {
        let mut query = self.query("DELETE FROM ").sql(self.table);
        for (at, (name, digest)) in key.iter().enumerate() {
            query = query.sql(if at == 0 { " WHERE " } else { " AND " }).sql(name).sql(" = ").bind(digest.into(), None);
        }
        query
    }
}

fn conditions(mut query: Query, key: Key<'_>, only: &[Only], alive: Alive, now: i64) -> Query {
    let deadline = match alive {
        Alive::Unexpired => EXPIRES_AT,
        Alive::Remembered => HORIZON,
    };
    query = query.sql(" WHERE ");
    for (name, digest) in key {
        query = query.sql(name).sql(" = ").bind(digest.into(), None).sql(" AND ");
    }
    for only in only {
        query = match only {
            Only::Null(name) => query.sql(name).sql(" IS NULL"),
            Only::Some(name) => query.sql(name).sql(" IS NOT NULL"),
            Only::Is(name, value) => query.sql(name).sql(" = ").bind(value.clone(), None),
            Only::After(name) => query.sql(name).sql(" > ").bind(Value::Int(now), None),
            Only::Rested { since, wait } => {
                query.sql(format!("({since} IS NULL OR {since} + {wait} <= ")).bind(Value::Int(now), None).sql(")")
            }
        };
        query = query.sql(" AND ");
    }
    query.sql(deadline).sql(" > ").bind(Value::Int(now), None)
}

fn listed<'v>(mut query: Query, values: impl Iterator<Item = &'v Value>) -> Query {
    for (at, value) in values.enumerate() {
        query = query.sql(if at == 0 { "" } else { ", " }).bind(value.clone(), None);
    }
    query
}

impl From<&Digest> for Value {
    fn from(digest: &Digest) -> Self {
        Self::Blob(digest.bytes().to_vec())
    }
}

impl From<Digest> for Value {
    fn from(digest: Digest) -> Self {
        Self::from(&digest)
    }
}
