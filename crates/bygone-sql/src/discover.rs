//! Reads a whole schema for what looks as if it expires: proposals for somebody who has no policies yet.

use bygone_core::{ErrorKind, TargetError};

use crate::catalog::{Column, Index, Table};
use crate::engine::Engine;
use crate::policy::Format;
use crate::query::Query;
use crate::source::{SharedSource, Source};
use crate::value::Value;

/// Columns that say when a row is over, how people speak of such rows, and for how many days they are mostly kept.
const ENDS: &[(&[&str], &str, u32)] = &[
    (
        &[
            "expires_at",
            "expires",
            "expire_at",
            "expire_date",
            "expires_on",
            "expiry",
            "expiry_date",
            "expiration",
            "expiration_date",
            "expired_at",
            "expiresat",
            "valid_until",
            "validuntil",
            "valid_to",
            "not_after",
        ],
        "expired",
        7,
    ),
    (&["revoked_at", "revokedat"], "revoked", 7),
    (&["consumed_at", "consumedat"], "consumed", 7),
    (&["deleted_at", "deletedat"], "deleted", 30),
    (&["finished_at", "finishedat", "ended_at", "endedat"], "finished", 30),
    (&["completed_at", "completedat", "completed_on", "finalized_at", "processed_at"], "completed", 30),
    (&["cancelled_at", "canceled_at", "cancelled_on"], "cancelled", 30),
    (&["discarded_at"], "discarded", 30),
];

/// Tables of such names hold what is soon of no use, even where no column says so.
const SHORT_LIVED: &[&str] = &[
    "grant",
    "code",
    "nonce",
    "challenge",
    "request",
    "session",
    "token",
    "ticket",
    "attempt",
    "registration",
    "login",
    "otp",
    "verification",
];

/// What a table is kept for by its age alone.
const AGE_DAYS: u32 = 30;

/// A table, and what of it looks as if it expires.
#[derive(Clone, Debug)]
pub struct Sketch {
    /// Its name, without the source's prefix.
    pub table: String,
    /// How many rows it holds, as the statistics say.
    pub rows: Option<u64>,
    /// What could be a deadline.
    pub candidates: Vec<Candidate>,
}

/// A column that could be a deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The column.
    pub column: String,
    /// How it holds an instant.
    pub format: Format,
    /// A word for rows that are past it.
    pub word: &'static str,
    /// How many days to keep them, to begin with.
    pub keep_days: u32,
    /// Whether only the name of the table speaks for it.
    pub by_age: bool,
    /// The index that leads to rows by it, if any does.
    pub index: Option<String>,
}

/// Reads every table. Changes nothing.
pub async fn discover(source: &SharedSource) -> Result<Vec<Sketch>, TargetError> {
    let mut source = source.lock().await;
    let mut sketches = Vec::new();
    for name in Table::names(&mut source).await? {
        let prefix = source.table_prefix().unwrap_or_default().to_owned();
        let Some(short) = name.strip_prefix(&prefix) else { continue };
        let table = match Table::read(&mut source, short).await {
            Ok(table) => table,
            // A table that no policy could be over.
            Err(error) if error.kind() == ErrorKind::Unfit => continue,
            Err(error) => return Err(error),
        };
        let mut candidates = Vec::new();
        for column in &table.columns {
            candidates.extend(candidate(&mut source, &table, column).await?);
        }
        if candidates.is_empty() {
            candidates.extend(by_age(&table));
        }
        sketches.push(Sketch { table: short.to_owned(), rows: table.rows_estimate, candidates });
    }
    Ok(sketches)
}

async fn candidate(source: &mut Source, table: &Table, column: &Column) -> Result<Option<Candidate>, TargetError> {
    let name = column.name.to_lowercase();
    let Some((_, word, keep_days)) = ENDS.iter().find(|(names, _, _)| names.contains(&name.as_str())) else {
        return Ok(None);
    };
    let Some(format) = format_of(source, table, column).await? else { return Ok(None) };
    let (index, column) = (index_of(table, column), column.name.clone());
    Ok(Some(Candidate { column, format, word, keep_days: *keep_days, by_age: false, index }))
}

/// The index that begins with a column and holds all rows, or all where the column says something.
fn index_of(table: &Table, column: &Column) -> Option<String> {
    let is_whole = |index: &&Index| {
        let condition = index.predicate.as_deref().map(str::to_lowercase);
        condition.is_none_or(|condition| condition.contains("not null") && !condition.contains(" and "))
    };
    let leads = |index: &&Index| index.columns.first().is_some_and(|first| first.as_ref() == Some(&column.name));
    table.indexes.iter().filter(leads).find(is_whole).map(|index| index.name.clone())
}

/// How a column holds a time, by its type and, where that is a number, by the size of the largest one.
async fn format_of(source: &mut Source, table: &Table, column: &Column) -> Result<Option<Format>, TargetError> {
    let name = column.type_name.as_str();
    let is_time = ["timestamp", "datetime", "date"].iter().any(|time| name.starts_with(time));
    let is_number = ["int", "real", "double", "numeric", "decimal", "float"].iter().any(|kind| name.contains(kind));
    match table.engine {
        Engine::Postgres | Engine::MySql if is_time => return Ok(Some(Format::Native)),
        Engine::Postgres | Engine::MySql if !is_number => return Ok(None),
        _ => {}
    }
    let quoted = table.engine.quote(&column.name);
    let largest = match table.engine {
        Engine::Postgres => format!("max({quoted})::float8::int8"),
        Engine::MySql => format!("CAST(MAX({quoted}) AS SIGNED)"),
        // What is written there decides, whatever was declared.
        Engine::Sqlite => {
            format!("CAST(max(CASE WHEN typeof({quoted}) IN ('integer', 'real') THEN {quoted} END) AS INTEGER)")
        }
    };
    let rows = source.query(&Query::new(table.engine, format!("SELECT {largest} FROM {}", table.quoted))).await?;
    Ok(match rows.first().and_then(|row| row.first()).and_then(Value::int) {
        None if table.engine == Engine::Sqlite && !is_number => Some(Format::Native),
        None | Some(100_000_000..=99_999_999_999) => Some(Format::EpochSeconds),
        Some(100_000_000_000..=99_999_999_999_999) => Some(Format::EpochMillis),
        Some(100_000_000_000_000..) => Some(Format::EpochMicros),
        Some(_) => None,
    })
}

/// The age of rows, where their key tells it: the caller sees whether it really does.
fn by_age(table: &Table) -> Vec<Candidate> {
    let name = table.name.to_lowercase();
    let key = table.natural_key();
    let Some([column]) = key.as_deref() else { return Vec::new() };
    let Ok(column) = table.column(column) else { return Vec::new() };
    let fits = ["uuid", "binary", "bytea", "char", "text", "blob"].iter().any(|kind| column.type_name.contains(kind));
    if !fits || !SHORT_LIVED.iter().any(|word| name.contains(word)) {
        return Vec::new();
    }
    let (name, index) = (&column.name, index_of(table, column));
    let candidate = |format| Candidate {
        column: name.clone(),
        format,
        word: "old",
        keep_days: AGE_DAYS,
        by_age: true,
        index: index.clone(),
    };
    vec![candidate(Format::Uuid7), candidate(Format::Ulid)]
}
