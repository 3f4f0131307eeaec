//! What the database itself says about a table: columns, keys, indexes, references, statistics.
//!
//! Nothing of a policy becomes SQL before it was found here. A name that is not there is an error that says which
//! one is nearest.

mod foreign_key;
mod mysql;
mod postgres;
mod sqlite;

use bygone_core::{ErrorKind, TargetError};

pub use self::foreign_key::Reference;
pub(crate) use self::foreign_key::{ForeignKey, OnDelete, TableName};
use crate::engine::Engine;
use crate::error::SqlError;
use crate::query::Query;
use crate::source::Source;
use crate::value::{Row, Value};

/// What stands for the index of SQLite's rowid, which is the table itself and has no name.
pub(crate) const ROWID_INDEX: &str = "the primary key";

/// A table as the catalogue knows it.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) engine: Engine,
    /// The quoted name, with its schema.
    pub(crate) quoted: String,
    /// The schema it is in; SQLite has none.
    pub(crate) schema: Option<String>,
    /// The name for people.
    pub(crate) name: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) indexes: Vec<Index>,
    /// The foreign keys from here and to here.
    pub(crate) foreign_keys: Vec<ForeignKey>,
    /// How many rows it holds, as the statistics say; `None` when nobody ever counted.
    pub(crate) rows_estimate: Option<u64>,
    pub(crate) storage: Storage,
    /// Whether its rows are in partitions.
    pub(crate) partitioned: bool,
}

/// How rows lie in the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// PostgreSQL: a heap of blocks.
    Heap {
        /// Whether ranges of blocks can be scanned (from PostgreSQL 14 on).
        ranges: bool,
        /// No block can hold more rows than this.
        rows_per_block_max: u64,
        /// The size of a block.
        block_bytes: u64,
    },
    /// SQLite: by a hidden number, under this name.
    Rowid(String),
    /// By the primary key: InnoDB, SQLite without rowid. Also whatever has no place of its own, such as a
    /// partitioned table.
    Key,
}

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// The type's own name, in lower case, without length.
    pub(crate) type_name: String,
    pub(crate) nullable: bool,
    pub(crate) unsigned: bool,
}

/// An index.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    pub(crate) name: String,
    /// Its columns; an expression has none.
    pub(crate) columns: Vec<Option<String>>,
    pub(crate) unique: bool,
    pub(crate) primary: bool,
    /// The condition of a partial index.
    pub(crate) predicate: Option<String>,
}

impl Table {
    /// Reads a table out of the catalogue.
    pub(crate) async fn read(source: &mut Source, table: &str) -> Result<Self, TargetError> {
        let name = format!("{}{table}", source.table_prefix().unwrap_or_default());
        match source.engine() {
            Engine::Postgres => postgres::read(source, &name).await,
            Engine::MySql => mysql::read(source, &name).await,
            Engine::Sqlite => sqlite::read(source, &name).await,
        }
    }

    /// The names of all tables, in order.
    pub(crate) async fn names(source: &mut Source) -> Result<Vec<String>, TargetError> {
        match source.engine() {
            Engine::Postgres => postgres::names(source).await,
            Engine::MySql => mysql::names(source).await,
            Engine::Sqlite => sqlite::names(source).await,
        }
    }

    /// Reads a table that another one names.
    pub(crate) async fn read_named(source: &mut Source, name: &TableName) -> Result<Self, TargetError> {
        match source.engine() {
            Engine::Postgres => postgres::read_in(source, name.schema.as_deref(), &name.name).await,
            Engine::MySql => mysql::read_in(source, name.schema.as_deref(), &name.name).await,
            Engine::Sqlite => sqlite::read(source, &name.name).await,
        }
    }

    /// What changes when somebody changes the table: its columns and their types. Cheap enough to ask between pages.
    pub(crate) async fn fingerprint(&self, source: &mut Source) -> Result<String, SqlError> {
        let schema = self.schema.as_deref().unwrap_or_default();
        let rows = match self.engine {
            Engine::Postgres => ask(source, postgres::FINGERPRINT, &[&self.quoted]).await?,
            Engine::MySql => ask(source, mysql::FINGERPRINT, &[schema, &self.name]).await?,
            Engine::Sqlite => ask(source, sqlite::FINGERPRINT, &[&self.name]).await?,
        };
        Ok(rows.first().map(|row| text(row, 0)).unwrap_or_default())
    }

    /// How far the order of a column's values follows the order of rows on disk, from 0 to 1, where the database knows.
    pub(crate) async fn order_of(&self, source: &mut Source, column: &str) -> Result<Option<f64>, SqlError> {
        match self.engine {
            Engine::Postgres => postgres::order_of(source, self, column).await,
            Engine::MySql | Engine::Sqlite => Ok(None),
        }
    }

    /// A column by name; where the engine ignores case, so does this.
    pub(crate) fn column(&self, name: &str) -> Result<&Column, TargetError> {
        let exact = self.columns.iter().find(|column| column.name == name);
        let loose = || {
            let folds = self.engine != Engine::Postgres;
            self.columns.iter().find(|column| folds && column.name.eq_ignore_ascii_case(name))
        };
        exact.or_else(loose).ok_or_else(|| {
            let known: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
            TargetError::new(ErrorKind::Unfit, format!("table `{}` has no column `{name}`", self.name))
                .with_help(nearest(name, &known, "its columns are"))
        })
    }

    /// The columns of a unique, complete, never-null index that names each row: the primary key before others.
    pub(crate) fn natural_key(&self) -> Option<Vec<String>> {
        let mut candidates: Vec<&Index> = self.keys().collect();
        candidates.sort_by_key(|index| (!index.primary, index.columns.len()));
        candidates.first().and_then(|index| index.columns.iter().cloned().collect())
    }

    /// The indexes that name each row.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Index> {
        self.indexes.iter().filter(|index| self.names_each_row(index))
    }

    fn names_each_row(&self, index: &Index) -> bool {
        let never_null = |name: &Option<String>| {
            name.as_ref().is_some_and(|name| self.columns.iter().any(|c| &c.name == name && !c.nullable))
        };
        index.unique && index.predicate.is_none() && index.columns.iter().all(never_null)
    }

    /// Whether these columns name each row.
    pub(crate) fn is_key(&self, columns: &[String]) -> bool {
        self.keys().any(|index| {
            index.columns.iter().all(|column| column.as_ref().is_some_and(|column| columns.contains(column)))
        })
    }
}

/// A table that is not there, with the one that may have been meant.
fn no_table(name: &str, known: &[String], place: &str) -> TargetError {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let help = nearest(name, &known, "the tables there are");
    TargetError::new(ErrorKind::Unfit, format!("there is no table `{name}` in {place}")).with_help(help).about("table")
}

/// Something of that name that is no table.
fn not_a_table(name: &str, what: &str) -> TargetError {
    TargetError::new(ErrorKind::Unfit, format!("`{name}` is {what}, not a table"))
        .with_help("point the policy at the table underneath it")
        .about("table")
}

/// Which name was probably meant, or all that there are.
fn nearest(name: &str, known: &[&str], all: &str) -> String {
    let folded = name.to_lowercase();
    let best = known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(&folded, &candidate.to_lowercase()), *candidate))
        .min_by_key(|(distance, _)| *distance);
    match best {
        Some((distance, candidate)) if distance <= 1 + name.chars().count() / 3 => {
            format!("did you mean `{candidate}`?")
        }
        Some(_) => {
            let mut listed: Vec<&str> = known.iter().copied().take(12).collect();
            if known.len() > listed.len() {
                listed.push("…");
            }
            format!("{all}: {}", listed.join(", "))
        }
        None => "there are none: check the url and the schema of the source".to_owned(),
    }
}

/// Runs a catalogue query that binds texts.
async fn ask(source: &mut Source, text: &str, values: &[&str]) -> Result<Vec<Row>, SqlError> {
    // Catalogue queries are written with `{}` where a value is bound, so that one text serves every engine.
    let engine = source.engine();
    let mut pieces = text.split("{}");
    let mut query = Query::new(engine, pieces.next().unwrap_or_default());
    for (piece, value) in pieces.zip(values) {
        query = query.bind(Value::from(*value), (engine == Engine::Postgres).then_some("text")).sql(piece);
    }
    source.query(&query).await
}

/// The text of a column, or nothing.
fn text(row: &Row, at: usize) -> String {
    row.get(at).and_then(Value::text).unwrap_or_default().to_owned()
}

/// The text of a column that may be NULL.
fn maybe_text(row: &Row, at: usize) -> Option<String> {
    row.get(at).and_then(Value::text).map(str::to_owned)
}

/// A boolean column.
fn truth(row: &Row, at: usize) -> bool {
    row.get(at).is_some_and(Value::truth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered_when_it_is_near() {
        let known = ["sessions", "tokens", "users"];
        assert_eq!(nearest("sesions", &known, "tables"), "did you mean `sessions`?");
        assert_eq!(nearest("TOKENS", &known, "tables"), "did you mean `tokens`?");
        assert_eq!(nearest("invoices_archive", &known, "tables"), "tables: sessions, tokens, users");
        assert_eq!(nearest("x", &[], "tables"), "there are none: check the url and the schema of the source");
    }
}
