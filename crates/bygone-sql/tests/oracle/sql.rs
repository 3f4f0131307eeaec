//! A case in SQL: how it is made, and how it is read back.

use bygone_testkit::Kind;

use crate::case::{Case, Cell, Column, Condition, ForeignKey, Holds, Key, Link, OnDelete, Table, TimeForm};
use crate::moment::{Moment, date, date_time};

/// Rows that one statement puts.
const ROWS_AT_ONCE: usize = 500;

pub(crate) fn quote(engine: Kind, name: &str) -> String {
    if engine == Kind::MariaDb { format!("`{name}`") } else { format!("\"{name}\"") }
}

fn table_name(case: &Case, table: &Table) -> String {
    quote(case.engine, &format!("{}{}", case.prefix, table.name))
}

fn names(engine: Kind, table: &Table, columns: &[usize]) -> String {
    let quoted: Vec<String> = columns.iter().map(|at| quote(engine, &table.columns[*at].name)).collect();
    quoted.join(", ")
}

fn literal(engine: Kind, cell: &Cell) -> String {
    match cell {
        Cell::Null => "NULL".to_owned(),
        Cell::Number(n) => n.to_string(),
        Cell::Text(text) => format!("'{}'", text.replace('\'', "''")),
        Cell::Truth(truth) if engine == Kind::Postgres => truth.to_string(),
        Cell::Truth(truth) => i64::from(*truth).to_string(),
        Cell::Real(x) => x.to_string(),
        Cell::Time { sql, .. } => sql.clone(),
    }
}

/// A condition as a policy's `where` says it.
pub(crate) fn condition(engine: Kind, table: &Table, of: &Condition) -> String {
    let name = |at: &usize| quote(engine, &table.columns[*at].name);
    let inner = |of: &Condition| condition(engine, table, of);
    match of {
        Condition::IsNull(at) => format!("{} IS NULL", name(at)),
        Condition::IsNotNull(at) => format!("{} IS NOT NULL", name(at)),
        Condition::Is(at, cell) => format!("{} = {}", name(at), literal(engine, cell)),
        Condition::Less(at, value) => format!("{} < {value}", name(at)),
        Condition::Not(of) => format!("NOT ({})", inner(of)),
        Condition::Both(one, other) => format!("({}) AND ({})", inner(one), inner(other)),
        // Whoever puts it beside something else has to put it into parentheses.
        Condition::Either(one, other) => format!("{} OR {}", inner(one), inner(other)),
    }
}

/// Everything that makes a case, statement by statement.
pub(crate) fn script(case: &Case) -> Vec<String> {
    let mut script: Vec<String> = case.tables.iter().enumerate().map(|(at, table)| create(case, at, table)).collect();
    for table in &case.tables {
        for (number, index) in table.indexes.iter().enumerate() {
            let name = quote(case.engine, &format!("by {} {number}", table.name));
            let only = index.only.as_ref().map(|only| format!(" WHERE {only}")).unwrap_or_default();
            let columns = names(case.engine, table, &index.columns);
            script.push(format!("CREATE INDEX {name} ON {} ({columns}){only}", table_name(case, table)));
        }
    }
    script.extend(case.tables.iter().flat_map(|table| inserts(case, table)));
    if case.engine != Kind::Sqlite {
        for link in &case.links {
            if let Some(key) = link.foreign_key {
                let from = table_name(case, &case.tables[link.from]);
                script.push(format!("ALTER TABLE {from} ADD {}", references(case, link, key)));
            }
        }
    }
    if case.analyzed {
        script.extend(case.tables.iter().map(|table| {
            let word = if case.engine == Kind::MariaDb { "ANALYZE TABLE" } else { "ANALYZE" };
            format!("{word} {}", table_name(case, table))
        }));
    }
    script
}

fn create(case: &Case, at: usize, table: &Table) -> String {
    let engine = case.engine;
    let mut parts: Vec<String> = table.columns.iter().map(|column| declare(engine, column)).collect();
    match &table.key {
        Key::Primary(columns) => parts.push(format!("PRIMARY KEY ({})", names(engine, table, columns))),
        Key::Unique(columns) => parts.push(format!("UNIQUE ({})", names(engine, table, columns))),
        Key::Nothing => {}
    }
    if engine == Kind::Sqlite {
        // It takes the name of a table that is not there yet, and has no other way to add one.
        let own = case.links.iter().filter(|link| link.from == at);
        parts.extend(own.filter_map(|link| link.foreign_key.map(|key| references(case, link, key))));
    }
    let without = if table.without_rowid { " WITHOUT ROWID" } else { "" };
    format!("CREATE TABLE {} ({}){without}", table_name(case, table), parts.join(", "))
}

fn declare(engine: Kind, column: &Column) -> String {
    let null = if column.nullable { "NULL" } else { "NOT NULL" };
    let default = match &column.default {
        Some(cell) => format!(" DEFAULT {}", literal(engine, cell)),
        // Otherwise it would become the time of every change.
        None if column.sql.starts_with("TIMESTAMP") && !column.nullable => " DEFAULT '2000-01-01'".to_owned(),
        None => String::new(),
    };
    format!("{} {} {null}{default}", quote(engine, &column.name), column.sql)
}

fn references(case: &Case, link: &Link, key: ForeignKey) -> String {
    let (from, to) = (&case.tables[link.from], &case.tables[link.to]);
    let action = match key.on_delete {
        OnDelete::NoAction => "NO ACTION",
        OnDelete::Restrict => "RESTRICT",
        OnDelete::Cascade => "CASCADE",
        OnDelete::SetNull => "SET NULL",
        OnDelete::SetDefault => "SET DEFAULT",
    };
    format!(
        "FOREIGN KEY ({}) REFERENCES {} ({}) ON DELETE {action}{}",
        names(case.engine, from, &link.columns),
        table_name(case, to),
        names(case.engine, to, &link.to_columns),
        key.deferrable
    )
}

fn inserts(case: &Case, table: &Table) -> Vec<String> {
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let into = format!("INSERT INTO {} ({})", table_name(case, table), names(case.engine, table, &all));
    let row = |row: &Vec<Cell>| {
        let values: Vec<String> = row.iter().map(|cell| literal(case.engine, cell)).collect();
        format!("({})", values.join(", "))
    };
    let statement = |rows: &[Vec<Cell>]| {
        let rows: Vec<String> = rows.iter().map(row).collect();
        format!("{into} VALUES {}", rows.join(",\n  "))
    };
    table.rows.chunks(ROWS_AT_ONCE).map(statement).collect()
}

/// The query that reads a whole table, each value as text.
pub(crate) fn read(case: &Case, table: &Table) -> String {
    let value = |column: &Column| {
        let name = quote(case.engine, &column.name);
        match case.engine {
            Kind::Postgres if column.sql == "bytea" => format!("encode({name}, 'hex')"),
            Kind::Postgres => format!("{name}::text"),
            Kind::MariaDb if column.sql == "BINARY(16)" => format!("HEX({name})"),
            Kind::MariaDb => format!("CAST({name} AS CHAR)"),
            Kind::Sqlite => format!("CASE WHEN {name} IS NULL THEN NULL ELSE quote({name}) END"),
        }
    };
    let values: Vec<String> = table.columns.iter().map(value).collect();
    format!("SELECT {} FROM {}", values.join(", "), table_name(case, table))
}

/// What [`read`] shows of a value that a sweep has put there.
pub(crate) fn shown(engine: Kind, column: &Column, cell: &Cell) -> Option<String> {
    let in_quotes = |text: &str| {
        if engine == Kind::Sqlite { format!("'{}'", text.replace('\'', "''")) } else { text.to_owned() }
    };
    Some(match cell {
        Cell::Null => return None,
        Cell::Number(n) => n.to_string(),
        Cell::Text(text) => in_quotes(text),
        Cell::Truth(_) => literal(engine, cell),
        Cell::Real(x) => x.to_string(),
        Cell::Time { moment, .. } => in_quotes(&shown_time(engine, column, *moment)),
    })
}

fn shown_time(engine: Kind, column: &Column, moment: Moment) -> String {
    let digits = match (engine, column.sql) {
        (Kind::Postgres, _) | (_, "TIMESTAMP(6)" | "DATETIME(6)") => 6,
        (_, "DATETIME(3)") => 3,
        _ => 0,
    };
    let at = match moment {
        Moment::At(at) | Moment::Shown(at) => at,
        Moment::Day(day) => return date(day),
        Moment::Never | Moment::Unreadable => unreachable!("no sweep sets this"),
    };
    let text = date_time(at, ' ', digits);
    if engine != Kind::Postgres {
        return text;
    }
    let zone = if matches!(column.holds, Holds::Time(TimeForm::Instant, _)) { "+00" } else { "" };
    format!("{}{zone}", text.trim_end_matches('0').trim_end_matches('.'))
}
