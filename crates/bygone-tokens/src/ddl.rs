//! The statements that make the tables.

use bygone_sql::Engine;

use crate::naming::Naming;
use crate::schema::TABLES;
use crate::table::{Column, End, HORIZON, Index, Kind, Shape};

/// What holds the version of the tables, and when they were last swept by somebody.
pub(crate) const STATE: &str = "tokens_state";

/// One version after another: what leads to it from the one before.
pub(crate) type Step = fn(&Naming) -> Vec<String>;

/// All versions there are. A step that has been released is never changed: another one follows.
pub(crate) const STEPS: &[Step] = &[tables];

/// The statements that make everything, in order: what [`Tokens::migrate`](crate::Tokens::migrate) runs in an empty
/// database, for those who let no program do so.
pub fn ddl(naming: &Naming) -> Vec<String> {
    let mut statements = state(naming);
    statements.extend(STEPS.iter().flat_map(|step| step(naming)));
    statements.push(set_version(naming, STEPS.len()));
    statements
}

/// Makes the table that holds the version.
pub(crate) fn state(naming: &Naming) -> Vec<String> {
    let table = naming.quoted(STATE);
    let schema = naming.schema().filter(|_| naming.engine() == Engine::Postgres);
    let schema = schema.map(|schema| format!("CREATE SCHEMA IF NOT EXISTS {}", naming.engine().quote(schema)));
    let columns = "id BIGINT NOT NULL PRIMARY KEY, version BIGINT NOT NULL, swept_at BIGINT";
    let make = format!("CREATE TABLE IF NOT EXISTS {table} ({columns}){}", storage(naming.engine()));
    let first = match naming.engine() {
        Engine::MySql => format!("INSERT IGNORE INTO {table} (id, version) VALUES (1, 0)"),
        _ => format!("INSERT INTO {table} (id, version) VALUES (1, 0) ON CONFLICT (id) DO NOTHING"),
    };
    schema.into_iter().chain([make, first]).collect()
}

/// Says which version the tables have.
pub(crate) fn set_version(naming: &Naming, version: usize) -> String {
    format!("UPDATE {} SET version = {version} WHERE id = 1", naming.quoted(STATE))
}

/// Version 1.
fn tables(naming: &Naming) -> Vec<String> {
    TABLES.iter().flat_map(|shape| table(naming, shape)).collect()
}

fn table(naming: &Naming, shape: &Shape) -> Vec<String> {
    let engine = naming.engine();
    let mut lines: Vec<String> = shape.all().map(|column| format!("    {}", column_line(engine, column))).collect();
    lines.push(format!("    PRIMARY KEY ({})", shape.key.join(", ")));
    if let End::With { column, parent } = shape.end {
        let (name, parent) = (naming.quoted_part(shape.name, column), naming.quoted(parent));
        lines.push(format!("    CONSTRAINT {name} FOREIGN KEY ({column}) REFERENCES {parent} ({column})"));
    }
    let horizon = (shape.end == End::Horizon).then_some(Index::on(HORIZON));
    let indexes: Vec<&Index> = shape.indexes.iter().chain(&horizon).collect();
    if engine == Engine::MySql {
        // MySQL has no `IF NOT EXISTS` for an index by itself.
        lines.extend(indexes.iter().map(|index| {
            let unique = if index.unique { "UNIQUE " } else { "" };
            format!("    {unique}KEY {} ({})", naming.quoted_part(shape.name, index.column), index.column)
        }));
    }
    let table = naming.quoted(shape.name);
    let mut statements = vec![format!(
        "CREATE TABLE IF NOT EXISTS {table} (\n{}\n){}",
        lines.join(",\n"),
        if engine == Engine::Sqlite { " WITHOUT ROWID" } else { storage(engine) }
    )];
    if engine != Engine::MySql {
        statements.extend(indexes.iter().map(|index| {
            let unique = if index.unique { "UNIQUE " } else { "" };
            let name = naming.quoted_part(shape.name, index.column);
            format!("CREATE {unique}INDEX IF NOT EXISTS {name} ON {table} ({})", index.column)
        }));
    }
    statements
}

fn column_line(engine: Engine, column: &Column) -> String {
    let kind = match (engine, column.kind) {
        (_, Kind::Int) => "BIGINT",
        (Engine::Postgres, Kind::Digest | Kind::Bytes) => "BYTEA",
        (Engine::MySql, Kind::Digest) => "BINARY(32)",
        (Engine::MySql, Kind::Word) => "VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin",
        (Engine::MySql, Kind::Document) => "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        (_, Kind::Digest | Kind::Bytes) => "BLOB",
        (_, Kind::Word | Kind::Document) => "TEXT",
    };
    format!("{} {kind}{}", column.name, if column.nullable { "" } else { " NOT NULL" })
}

fn storage(engine: Engine) -> &'static str {
    if engine == Engine::MySql { " ENGINE = InnoDB" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(engine: Engine, schema: Option<&str>, prefix: Option<&str>) -> String {
        let naming = Naming::new(engine, schema.map(str::to_owned), prefix.map(str::to_owned)).unwrap();
        ddl(&naming).join(";\n") + ";\n"
    }

    /// A step that was released must stay as it is: these may only grow.
    #[test]
    fn the_tables() {
        insta::assert_snapshot!("postgres", printed(Engine::Postgres, Some("auth"), None));
        insta::assert_snapshot!("mysql", printed(Engine::MySql, None, Some("acme_")));
        insta::assert_snapshot!("sqlite", printed(Engine::Sqlite, None, None));
    }

    #[test]
    fn no_name_is_too_long_behind_the_longest_prefix() {
        let text = printed(Engine::Postgres, None, Some(&"p".repeat(24)));
        let names = text.split('"').skip(1).step_by(2);
        assert_eq!(names.map(str::len).max(), Some(24 + 37));
    }
}
