//! MySQL's and MariaDB's catalogue.

use std::collections::BTreeMap;

use bygone_core::{ErrorKind, TargetError};

use super::{Column, ForeignKey, Index, Storage, Table, ask, no_table, not_a_table, text, truth};
use crate::engine::Engine;
use crate::error::SqlError;
use crate::source::Source;
use crate::value::{Row, Value};

const TABLE: &str = "SELECT CAST(TABLE_NAME AS CHAR), CAST(TABLE_TYPE AS CHAR), CAST(TABLE_ROWS AS SIGNED), \
     CAST(ENGINE AS CHAR), LOCATE('partitioned', CREATE_OPTIONS) > 0 FROM information_schema.TABLES \
     WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}";
const TABLES: &str = "SELECT CAST(TABLE_NAME AS CHAR) FROM information_schema.TABLES \
     WHERE TABLE_SCHEMA = {} AND TABLE_TYPE = 'BASE TABLE' ORDER BY 1";
const COLUMNS: &str = "SELECT CAST(COLUMN_NAME AS CHAR), LOWER(CAST(DATA_TYPE AS CHAR)), IS_NULLABLE = 'YES', \
     LOCATE('unsigned', COLUMN_TYPE) > 0 FROM information_schema.COLUMNS \
     WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} ORDER BY ORDINAL_POSITION";
const INDEXES: &str = "SELECT CAST(INDEX_NAME AS CHAR), CAST(COLUMN_NAME AS CHAR), NON_UNIQUE = 0, \
     SUB_PART IS NOT NULL FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} \
     AND INDEX_TYPE = 'BTREE' ORDER BY INDEX_NAME, SEQ_IN_INDEX";
/// MariaDB tells what happens on delete only to whoever has rights on single columns, and of the key itself to all who
/// may read: where the former is unknown, rows that point here stand in the way.
const FOREIGN_KEYS: &str = "SELECT CAST(k.TABLE_SCHEMA AS CHAR), CAST(k.TABLE_NAME AS CHAR), \
     CAST(CONCAT('[', GROUP_CONCAT(JSON_QUOTE(k.COLUMN_NAME) ORDER BY k.ORDINAL_POSITION), ']') AS CHAR), \
     CAST(MIN(k.REFERENCED_TABLE_SCHEMA) AS CHAR), CAST(MIN(k.REFERENCED_TABLE_NAME) AS CHAR), \
     CAST(CONCAT('[', GROUP_CONCAT(JSON_QUOTE(k.REFERENCED_COLUMN_NAME) ORDER BY k.ORDINAL_POSITION), ']') AS CHAR), \
     LOWER(CAST(MIN(r.DELETE_RULE) AS CHAR)) \
     FROM information_schema.KEY_COLUMN_USAGE k LEFT JOIN information_schema.REFERENTIAL_CONSTRAINTS r \
     ON r.CONSTRAINT_SCHEMA = k.CONSTRAINT_SCHEMA AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME \
     AND r.TABLE_NAME = k.TABLE_NAME \
     WHERE k.REFERENCED_TABLE_SCHEMA = {} AND k.REFERENCED_TABLE_NAME = {} \
     OR k.REFERENCED_TABLE_NAME IS NOT NULL AND k.TABLE_SCHEMA = {} AND k.TABLE_NAME = {} \
     GROUP BY k.TABLE_SCHEMA, k.TABLE_NAME, k.CONSTRAINT_NAME ORDER BY 2, 3, 5, 1";

pub(super) const FINGERPRINT: &str = "SELECT CAST(GROUP_CONCAT(COLUMN_NAME, ' ', COLUMN_TYPE, ' ', IS_NULLABLE \
     ORDER BY ORDINAL_POSITION) AS CHAR) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}";

pub(super) async fn read(source: &mut Source, name: &str) -> Result<Table, TargetError> {
    read_in(source, None, name).await
}

pub(super) async fn names(source: &mut Source) -> Result<Vec<String>, TargetError> {
    let schema = schema_of(source, None)?;
    Ok(names_in(source, &schema).await?)
}

async fn names_in(source: &mut Source, schema: &str) -> Result<Vec<String>, SqlError> {
    let known = ask(source, TABLES, &[schema]).await?;
    Ok(known.iter().map(|row| text(row, 0)).collect())
}

fn schema_of(source: &Source, schema: Option<&str>) -> Result<String, TargetError> {
    schema.or(source.schema()).map(str::to_owned).or_else(|| source.url().database()).ok_or_else(|| {
        TargetError::new(ErrorKind::Unfit, "the source's url names no database")
            .with_help("write it behind the host, as in `mysql://user@host/database`, or set `schema`")
    })
}

pub(super) async fn read_in(source: &mut Source, schema: Option<&str>, name: &str) -> Result<Table, TargetError> {
    let schema = schema_of(source, schema)?;
    let found = ask(source, TABLE, &[&schema, name]).await?;
    let Some(row) = found.first() else {
        let known = names_in(source, &schema).await?;
        return Err(no_table(name, &known, &format!("database `{schema}`")));
    };
    if text(row, 1) != "BASE TABLE" {
        return Err(not_a_table(name, "a view"));
    }
    if !text(row, 3).eq_ignore_ascii_case("innodb") {
        return Err(TargetError::new(
            ErrorKind::Unfit,
            format!("table `{name}` is kept by {}, which has no transactions", text(row, 3)),
        )
        .with_help("bygone sweeps InnoDB tables: ALTER TABLE … ENGINE = InnoDB")
        .about("table"));
    }
    let columns = ask(source, COLUMNS, &[&schema, name]).await?;
    let indexes = ask(source, INDEXES, &[&schema, name]).await?;
    let foreign_keys = ask(source, FOREIGN_KEYS, &[&schema, name, &schema, name]).await?;
    Ok(Table {
        engine: Engine::MySql,
        quoted: Engine::MySql.quote_in(Some(&schema), name),
        schema: Some(schema),
        name: name.to_owned(),
        columns: columns.iter().map(column).collect(),
        indexes: group_indexes(&indexes),
        foreign_keys: foreign_keys.iter().map(ForeignKey::read).collect(),
        rows_estimate: row.get(2).and_then(Value::count),
        storage: Storage::Key,
        partitioned: truth(row, 4),
    })
}

fn column(row: &Row) -> Column {
    Column { name: text(row, 0), type_name: text(row, 1), nullable: truth(row, 2), unsigned: truth(row, 3) }
}

/// One row a column becomes one index. A column that is indexed only by its beginning does not count as one.
fn group_indexes(rows: &[Row]) -> Vec<Index> {
    let mut indexes: BTreeMap<String, Index> = BTreeMap::new();
    for row in rows {
        let name = text(row, 0);
        let index = indexes.entry(name.clone()).or_insert_with(|| Index {
            primary: name == "PRIMARY",
            name,
            columns: Vec::new(),
            unique: truth(row, 2),
            predicate: None,
        });
        index.columns.push((!truth(row, 3)).then(|| text(row, 1)));
    }
    indexes.into_values().collect()
}
