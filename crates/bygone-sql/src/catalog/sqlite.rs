//! SQLite's catalogue.

use bygone_core::{ErrorKind, TargetError};

use super::{Column, ForeignKey, Index, ROWID_INDEX, Storage, Table, ask, no_table, not_a_table, text, truth};
use crate::engine::Engine;
use crate::error::SqlError;
use crate::query::Query;
use crate::source::Source;
use crate::value::{Row, Value};

/// `wr` is true for a table without rowid.
const TABLE: &str = "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main' AND lower(name) = lower({})";
const TABLES: &str = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY 1";
const COLUMNS: &str = "SELECT name, lower(type), \"notnull\", pk FROM pragma_table_xinfo({}) ORDER BY cid";
const INDEXES: &str = "SELECT name, \"unique\", origin = 'pk', partial, \
     (SELECT sql FROM sqlite_master m WHERE m.type = 'index' AND m.name = l.name) FROM pragma_index_list({}) l \
     ORDER BY name";
const INDEX_COLUMNS: &str = "SELECT name FROM pragma_index_xinfo({}) WHERE key ORDER BY seqno";
/// A key that names no columns there means the primary key.
const FOREIGN_KEYS: &str = "SELECT NULL, here, json_group_array(\"from\"), NULL, there, json_group_array(\"to\"), action \
     FROM (SELECT m.name AS here, f.id, f.\"from\", lower(f.on_delete) AS action, \
     coalesce((SELECT t.name FROM sqlite_master t WHERE t.type = 'table' AND lower(t.name) = lower(f.\"table\")), \
     f.\"table\") AS there, \
     coalesce(f.\"to\", (SELECT p.name FROM pragma_table_info(f.\"table\") p WHERE p.pk = f.seq + 1)) AS \"to\" \
     FROM sqlite_master m, pragma_foreign_key_list(m.name) f WHERE m.type = 'table' \
     AND (lower(f.\"table\") = lower({}) OR lower(m.name) = lower({})) ORDER BY m.name, f.id, f.seq) \
     GROUP BY here, id ORDER BY 2, 3, 5";

pub(super) const FINGERPRINT: &str =
    "SELECT group_concat(name || ' ' || type || ' ' || \"notnull\", ', ') FROM pragma_table_xinfo({})";

pub(super) async fn names(source: &mut Source) -> Result<Vec<String>, TargetError> {
    let known = ask(source, TABLES, &[]).await?;
    Ok(known.iter().map(|row| text(row, 0)).collect())
}

pub(super) async fn read(source: &mut Source, name: &str) -> Result<Table, TargetError> {
    if let Some(schema) = source.schema().filter(|schema| !schema.eq_ignore_ascii_case("main")) {
        return Err(TargetError::new(ErrorKind::Unfit, format!("an SQLite file has no schema `{schema}`"))
            .with_help("leave `schema` out, and let the url name the file"));
    }
    let found = ask(source, TABLE, &[name]).await?;
    let Some(row) = found.first() else {
        let known = names(source).await?;
        return Err(no_table(name, &known, "the database"));
    };
    let name = text(row, 0);
    match text(row, 1).as_str() {
        "table" => {}
        "view" => return Err(not_a_table(&name, "a view")),
        _ => return Err(not_a_table(&name, "a virtual table")),
    }
    let without_rowid = truth(row, 2);
    let column_rows = ask(source, COLUMNS, &[&name]).await?;
    let columns: Vec<Column> = column_rows.iter().map(|row| column(row, without_rowid)).collect();
    let indexes = read_indexes(source, &name, &column_rows).await?;
    let foreign_keys = ask(source, FOREIGN_KEYS, &[&name, &name]).await?;
    let quoted = Engine::Sqlite.quote(&name);
    let storage = if without_rowid { Storage::Key } else { rowid_name(&columns) };
    Ok(Table {
        engine: Engine::Sqlite,
        schema: None,
        rows_estimate: rows_estimate(source, &quoted, &storage).await?,
        quoted,
        name,
        columns,
        indexes,
        foreign_keys: foreign_keys.iter().map(ForeignKey::read).collect(),
        storage,
        partitioned: false,
    })
}

/// SQLite's own rowid goes by three names; a column may have taken some of them.
fn rowid_name(columns: &[Column]) -> Storage {
    let free = |name: &&str| !columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
    ["rowid", "_rowid_", "oid"].iter().copied().find(free).map_or(Storage::Key, |name| Storage::Rowid(name.to_owned()))
}

async fn read_indexes(source: &mut Source, table: &str, columns: &[Row]) -> Result<Vec<Index>, SqlError> {
    let mut indexes = Vec::new();
    for row in ask(source, INDEXES, &[table]).await? {
        let name = text(&row, 0);
        let index_columns = ask(source, INDEX_COLUMNS, &[&name]).await?;
        indexes.push(Index {
            columns: index_columns.iter().map(|row| row[0].text().map(str::to_owned)).collect(),
            unique: truth(&row, 1),
            primary: truth(&row, 2),
            predicate: truth(&row, 3).then(|| predicate(&text(&row, 4))),
            name,
        });
    }
    // INTEGER PRIMARY KEY is the rowid itself and has no index of its own.
    let primary: Vec<_> =
        columns.iter().filter(|row| row[3].int().unwrap_or(0) > 0).map(|row| Some(text(row, 0))).collect();
    if !primary.is_empty() && !indexes.iter().any(|index| index.primary) {
        let name = ROWID_INDEX.to_owned();
        indexes.push(Index { name, columns: primary, unique: true, primary: true, predicate: None });
    }
    Ok(indexes)
}

/// The condition of a partial index, out of its own text.
fn predicate(sql: &str) -> String {
    let at = sql.to_ascii_lowercase().rfind(" where ").map_or(sql.len(), |at| at + " where ".len());
    sql[at..].trim().to_owned()
}

fn column(row: &Row, without_rowid: bool) -> Column {
    let primary = row[3].int().unwrap_or(0) > 0;
    let type_name = text(row, 1);
    // For compatibility's sake SQLite lets a primary key be null, but for integers and tables without rowid.
    let never_null = truth(row, 2) || (primary && (without_rowid || type_name == "integer"));
    Column { name: text(row, 0), type_name, nullable: !never_null, unsigned: false }
}

/// The largest rowid bounds the number of rows in practice, and costs one look.
async fn rows_estimate(source: &mut Source, table: &str, storage: &Storage) -> Result<Option<u64>, SqlError> {
    let Storage::Rowid(rowid) = storage else { return Ok(None) };
    let rows = source.query(&Query::new(Engine::Sqlite, format!("SELECT max({rowid}) FROM {table}"))).await?;
    Ok(rows.first().and_then(|row| row.first()).and_then(Value::count))
}
