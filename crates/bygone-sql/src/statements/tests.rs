//! Every statement in every dialect, as it goes to the database.

mod conditions;
mod pages;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::bind::KeyColumn;
use crate::catalog::{Column, Storage, Table};
use crate::comparison::Kind;
use crate::family::Family;

fn cutoff() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().unwrap()
}

fn column(name: &str, type_name: &str) -> Column {
    Column { name: name.to_owned(), type_name: type_name.to_owned(), nullable: false, unsigned: false }
}

fn index(name: &str, column: &str, primary: bool) -> Index {
    let columns = vec![Some(column.to_owned())];
    Index { name: name.to_owned(), columns, unique: primary, primary, predicate: None }
}

/// A table `sessions` with a key `id` and an index on its deadline.
fn table(engine: Engine) -> Table {
    let heap = Storage::Heap { ranges: true, rows_per_block_max: 100, block_bytes: 8192 };
    let (schema, primary, storage) = match engine {
        Engine::Postgres => (Some("public"), "sessions_pkey", heap),
        Engine::MySql => (Some("app"), "PRIMARY", Storage::Key),
        Engine::Sqlite => (None, "sqlite_autoindex_sessions_1", Storage::Rowid("rowid".to_owned())),
    };
    Table {
        engine,
        quoted: engine.quote_in(schema, "sessions"),
        schema: schema.map(str::to_owned),
        name: "sessions".to_owned(),
        columns: vec![column("id", "bigint"), column("expires_at", "")],
        indexes: vec![index(primary, "id", true), index("by_expiry", "expires_at", false)],
        foreign_keys: Vec::new(),
        rows_estimate: None,
        storage,
        partitioned: false,
    }
}

/// A deadline in the column `expires_at`.
fn deadline(engine: Engine, kind: Kind, sql_type: &str) -> Comparison {
    Comparison { engine, column: "expires_at".to_owned(), kind, nullable: true, sql_type: sql_type.to_owned() }
}

fn key(engine: Engine, name: &str) -> KeyColumn {
    let quoted = engine.quote(name);
    match engine {
        Engine::Postgres => KeyColumn { selected: format!("{quoted}::text"), cast: Some("bigint".to_owned()), quoted },
        Engine::MySql | Engine::Sqlite => KeyColumn { selected: quoted.clone(), cast: None, quoted },
    }
}

/// What names a row when the policy does not say: in SQLite, its rowid.
fn natural_key(engine: Engine) -> KeyColumn {
    let rowid = "rowid".to_owned();
    match engine {
        Engine::Sqlite => KeyColumn { quoted: rowid.clone(), selected: rowid, cast: None },
        Engine::Postgres | Engine::MySql => key(engine, "id"),
    }
}

/// A policy over that table, whose deadline is of the engine's own type for time.
fn binding(engine: Engine) -> Binding {
    let kind = match engine {
        Engine::Postgres => deadline(engine, Kind::Instant, "timestamp with time zone"),
        Engine::MySql => deadline(engine, Kind::Local(TimeZone::UTC), "datetime"),
        Engine::Sqlite => deadline(engine, Kind::Text(TimeZone::UTC), "text"),
    };
    Binding {
        table: table(engine),
        deadline: vec![kind],
        null: NullMeaning::Ignored,
        filter: None,
        key: vec![natural_key(engine)],
        keep: SignedDuration::ZERO,
        newest: None,
        changes: Vec::new(),
        family: Family::default(),
    }
}

/// A statement with its values behind it.
fn shown(query: &Query) -> String {
    let value = |value: &Value| match value {
        Value::Null => "NULL".to_owned(),
        Value::Int(n) => n.to_string(),
        Value::Real(x) => x.to_string(),
        Value::Text(text) => format!("'{text}'"),
        Value::Blob(bytes) => format!("{} bytes", bytes.len()),
        Value::Instant(us) | Value::Local(us) => format!("{us} us"),
    };
    let values: Vec<String> = query.values().iter().map(value).collect();
    format!("{}\n-- {}", query.text(), values.join(", "))
}

fn all(queries: &[Query]) -> String {
    queries.iter().map(shown).collect::<Vec<_>>().join("\n\n")
}
