//! PostgreSQL's catalogue.

use bygone_core::TargetError;

use super::{Column, ForeignKey, Index, Storage, Table, ask, maybe_text, no_table, not_a_table, text, truth};
use crate::engine::Engine;
use crate::error::SqlError;
use crate::source::Source;
use crate::value::{Row, Value};

/// The header that every row carries, and the slot that points at it.
const ROW_HEADER_BYTES: u64 = 24;
const ROW_SLOT_BYTES: u64 = 4;
const BLOCK_HEADER_BYTES: u64 = 24;
/// The first version that scans ranges of a heap.
const TID_RANGE_VERSION: i64 = 140_000;

const TABLE: &str = "SELECT c.oid::int8, n.nspname::text, c.relname::text, c.relkind::text, c.reltuples::float8, \
     c.relhassubclass, current_setting('server_version_num')::int8, current_setting('block_size')::int8 \
     FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relname = {} AND ";
const TABLES: &str = "SELECT c.relname::text FROM pg_catalog.pg_class c \
     JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p') \
     AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND ";
const IN_SCHEMA: &str = "n.nspname = {}";
const VISIBLE: &str = "pg_catalog.pg_table_is_visible(c.oid)";
const COLUMNS: &str = "SELECT a.attname::text, \
     pg_catalog.format_type(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END, NULL), a.attnotnull, \
     (CASE WHEN a.atthasmissing OR a.attgenerated = 'v' THEN 0 ELSE a.attlen END)::int8 \
     FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid \
     WHERE a.attrelid = {}::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum";
/// The names are bound rather than joined: by a join the statistics of every table there is would be read.
const ORDER: &str = "SELECT s.correlation::float8 FROM pg_catalog.pg_stats s \
     WHERE s.schemaname = {} AND s.tablename = {} AND s.attname = {} AND NOT s.inherited";
const INDEXES: &str = "SELECT x.relname::text, i.indisunique AND i.indimmediate, i.indisprimary, \
     pg_catalog.pg_get_expr(i.indpred, i.indrelid), \
     (SELECT json_agg(a.attname ORDER BY k.place)::text FROM unnest(i.indkey) WITH ORDINALITY AS k(number, place) \
     LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number \
     WHERE k.place <= i.indnkeyatts) \
     FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid \
     JOIN pg_catalog.pg_am m ON m.oid = x.relam \
     WHERE i.indrelid = {}::oid AND i.indisvalid AND m.amname = 'btree' ORDER BY x.relname";
const FOREIGN_KEYS: &str = "SELECT hn.nspname::text, hc.relname::text, \
     (SELECT json_agg(a.attname ORDER BY k.place)::text FROM unnest(f.conkey) WITH ORDINALITY AS k(number, place) \
     JOIN pg_catalog.pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.number), \
     tn.nspname::text, tc.relname::text, \
     (SELECT json_agg(a.attname ORDER BY k.place)::text FROM unnest(f.confkey) WITH ORDINALITY AS k(number, place) \
     JOIN pg_catalog.pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = k.number), \
     CASE f.confdeltype WHEN 'c' THEN 'cascade' WHEN 'n' THEN 'set null' WHEN 'd' THEN 'set default' \
     WHEN 'r' THEN 'restrict' ELSE 'no action' END \
     FROM pg_catalog.pg_constraint f \
     JOIN pg_catalog.pg_class hc ON hc.oid = f.conrelid JOIN pg_catalog.pg_namespace hn ON hn.oid = hc.relnamespace \
     JOIN pg_catalog.pg_class tc ON tc.oid = f.confrelid JOIN pg_catalog.pg_namespace tn ON tn.oid = tc.relnamespace \
     WHERE f.contype = 'f' AND f.conparentid = 0 AND (f.confrelid = {}::oid OR f.conrelid = {}::oid) \
     ORDER BY 2, 3, 5, 1";

/// The columns and the heap itself: a table that was dropped and made again is another one.
pub(super) const FINGERPRINT: &str = "SELECT string_agg(a.attrelid || ' ' || a.attname || ' ' || a.atttypid \
     || ' ' || a.attnotnull, ', ' ORDER BY a.attnum) FROM pg_catalog.pg_attribute a \
     WHERE a.attrelid = to_regclass({}) AND a.attnum > 0 AND NOT a.attisdropped";

pub(super) async fn read(source: &mut Source, name: &str) -> Result<Table, TargetError> {
    let schema = source.schema().map(str::to_owned);
    read_in(source, schema.as_deref(), name).await
}

pub(super) async fn names(source: &mut Source) -> Result<Vec<String>, TargetError> {
    let schema = source.schema().map(str::to_owned);
    Ok(names_in(source, schema.as_deref()).await?)
}

async fn names_in(source: &mut Source, schema: Option<&str>) -> Result<Vec<String>, SqlError> {
    let scope = if schema.is_some() { IN_SCHEMA } else { VISIBLE };
    let values: Vec<&str> = schema.into_iter().collect();
    let known = ask(source, &format!("{TABLES}{scope} ORDER BY 1"), &values).await?;
    Ok(known.iter().map(|row| text(row, 0)).collect())
}

pub(super) async fn read_in(source: &mut Source, schema: Option<&str>, name: &str) -> Result<Table, TargetError> {
    let (scope, values) = match schema {
        Some(schema) => (IN_SCHEMA, vec![name, schema]),
        None => (VISIBLE, vec![name]),
    };
    let found = ask(source, &format!("{TABLE}{scope}"), &values).await?;
    let Some(row) = found.first() else {
        let known = names_in(source, schema).await?;
        let place = schema.map_or_else(|| "the search path".to_owned(), |schema| format!("schema `{schema}`"));
        return Err(no_table(name, &known, &place));
    };
    match text(row, 3).as_str() {
        "v" | "m" => return Err(not_a_table(name, "a view")),
        "f" => return Err(not_a_table(name, "a foreign table")),
        _ => {}
    }
    let oid = row[0].int().unwrap_or_default().to_string();
    let columns = ask(source, COLUMNS, &[&oid]).await?;
    let indexes = ask(source, INDEXES, &[&oid]).await?;
    let foreign_keys = ask(source, FOREIGN_KEYS, &[&oid, &oid]).await?;
    Ok(Table {
        engine: Engine::Postgres,
        schema: Some(text(row, 1)),
        quoted: Engine::Postgres.quote_in(Some(&text(row, 1)), name),
        name: name.to_owned(),
        storage: storage(row, &columns),
        partitioned: text(row, 3) == "p",
        columns: columns.iter().map(column).collect(),
        indexes: indexes.iter().map(index).collect(),
        foreign_keys: foreign_keys.iter().map(ForeignKey::read).collect(),
        rows_estimate: rows_estimate(&row[4]),
    })
}

/// The absolute correlation out of the statistics.
pub(super) async fn order_of(source: &mut Source, table: &Table, column: &str) -> Result<Option<f64>, SqlError> {
    let rows = ask(source, ORDER, &[table.schema.as_deref().unwrap_or_default(), &table.name, column]).await?;
    Ok(rows.first().and_then(|row| match row[0] {
        Value::Real(correlation) => Some(correlation.abs()),
        _ => None,
    }))
}

/// A row's place names it only in a plain table: partitions and children each have a heap of their own.
fn storage(row: &Row, columns: &[Row]) -> Storage {
    if text(row, 3) != "r" || truth(row, 5) {
        return Storage::Key;
    }
    let block_bytes = row[7].count().unwrap_or(8192);
    Storage::Heap {
        ranges: row[6].int().unwrap_or(0) >= TID_RANGE_VERSION,
        rows_per_block_max: rows_per_block_max(block_bytes, columns),
        block_bytes,
    }
}

/// An upper bound that holds for any data: rows are never narrower than their columns that cannot be null. Those that
/// were added with a default take no room in rows from before.
fn rows_per_block_max(block_bytes: u64, columns: &[Row]) -> u64 {
    let width: u64 = columns
        .iter()
        .filter(|row| truth(row, 2))
        .map(|row| row[3].int().and_then(|length| u64::try_from(length).ok()).unwrap_or(1))
        .sum();
    let row_bytes = (ROW_HEADER_BYTES + width).next_multiple_of(8) + ROW_SLOT_BYTES;
    ((block_bytes - BLOCK_HEADER_BYTES) / row_bytes).max(1)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate; negative is filtered out")]
fn rows_estimate(value: &Value) -> Option<u64> {
    match value {
        Value::Real(rows) if *rows > 0.0 => Some(*rows as u64),
        // -1 is "never counted", and 0 is what a table had before it was filled.
        _ => None,
    }
}

fn column(row: &Row) -> Column {
    // Without its length, `character` would mean `character(1)` to a cast.
    let type_name = match text(row, 1).as_str() {
        "character" => "bpchar".to_owned(),
        "bit" => "bit varying".to_owned(),
        other => other.to_owned(),
    };
    Column { name: text(row, 0), type_name, nullable: !truth(row, 2), unsigned: false }
}

fn index(row: &Row) -> Index {
    Index {
        name: text(row, 0),
        unique: truth(row, 1),
        primary: truth(row, 2),
        predicate: maybe_text(row, 3),
        columns: serde_json::from_str(&text(row, 4)).unwrap_or_default(),
    }
}
