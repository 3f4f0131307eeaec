//! A policy meets its table: every column is found, its type judged, the key chosen. What does not fit is refused
//! here, before anything is touched.

use bygone_core::{ErrorKind, TargetError};
use jiff::SignedDuration;
use jiff::tz::TimeZone;

use crate::catalog::{Column, Index, Storage, Table};
use crate::comparison::{Comparison, IdShape, Kind, unit_us};
use crate::engine::Engine;
use crate::family::Family;
use crate::newest::BoundNewest;
use crate::policy::{Action, DeadlineColumn, Format, NewValue, NullMeaning, RowPolicy};
use crate::query::Query;
use crate::source::Source;
use crate::time_id;
use crate::update::BoundAssignment;
use crate::value::Value;

/// How many values of a column are looked at to see what it holds.
const SAMPLE_VALUES: u32 = 100;

/// A policy bound to a table.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    pub(crate) table: Table,
    pub(crate) deadline: Vec<Comparison>,
    pub(crate) null: NullMeaning,
    pub(crate) filter: Option<String>,
    pub(crate) key: Vec<KeyColumn>,
    /// How long after its deadline a row stays.
    pub(crate) keep: SignedDuration,
    pub(crate) newest: Option<BoundNewest>,
    /// What changes of a row that stays; nothing where it goes.
    pub(crate) changes: Vec<BoundAssignment>,
    pub(crate) family: Family,
}

/// A column of the key that names a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyColumn {
    /// The quoted column.
    pub(crate) quoted: String,
    /// The column as a value that can travel.
    pub(crate) selected: String,
    /// How a bound value becomes the column's type.
    pub(crate) cast: Option<String>,
}

impl Binding {
    /// Binds a policy to the live table.
    pub(crate) async fn new(source: &mut Source, policy: &RowPolicy) -> Result<Self, TargetError> {
        let table = Table::read(source, &policy.table).await?;
        let mut deadline = Vec::new();
        for column in policy.deadline.iter().flat_map(|deadline| &deadline.columns) {
            deadline.push(
                bind_deadline(source, &table, column, policy.zone.as_ref()).await.map_err(|e| e.about("deadline"))?,
            );
        }
        let key = bind_key(&table, policy.key.as_deref()).map_err(|e| e.about("key"))?;
        let newest = policy.newest.as_ref().map(|newest| BoundNewest::bind(&table, &key, newest)).transpose()?;
        let changes = bind_changes(source, &table, policy).await?;
        let family = Family::bind(source, &table, policy).await?;
        let null = policy.deadline.as_ref().map_or_else(NullMeaning::default, |deadline| deadline.null);
        let (filter, keep) = (policy.filter.clone(), policy.keep);
        let binding = Self { table, deadline, null, filter, key, keep, newest, changes, family };
        binding.check_filter(source).await.map_err(|e| e.about("where"))?;
        binding.check_family(source).await?;
        binding.check_units(source).await.map_err(|e| e.about("deadline"))?;
        Ok(binding)
    }

    /// The index that finds a row by its key.
    pub(crate) fn key_index(&self) -> Option<&str> {
        let quoted = |column: &String| self.table.engine.quote(column);
        let within_key = |column: &Option<String>| {
            column.as_ref().is_some_and(|column| self.key.iter().any(|key| key.quoted == quoted(column)))
        };
        let mut found: Vec<&Index> = self.table.keys().filter(|index| index.columns.iter().all(within_key)).collect();
        found.sort_by_key(|index| !index.primary);
        found.first().map(|index| index.name.as_str())
    }

    /// The database reads the policy's `where` once, without reading rows: what it does not know is refused here.
    async fn check_filter(&self, source: &mut Source) -> Result<(), TargetError> {
        if self.filter.is_some() {
            source.query(&self.nothing()).await?;
        }
        Ok(())
    }

    /// The same for conditions on other rows, for what goes along, and for what changes.
    async fn check_family(&self, source: &mut Source) -> Result<(), TargetError> {
        if let Some(text) = self.no_guarded_row() {
            source.query(&text).await.map_err(|e| TargetError::from(e).about("unless"))?;
        }
        if let Some(text) = self.no_changed_row() {
            source.query(&text).await.map_err(|e| TargetError::from(e).about("set"))?;
        }
        Ok(())
    }

    /// Numbers read in the wrong unit put every deadline into 1970: the newest one gives that away.
    async fn check_units(&self, source: &mut Source) -> Result<(), TargetError> {
        for column in &self.deadline {
            let Kind::Epoch { unit_us, .. } = column.kind else { continue };
            let (quoted, table) = (column.quoted(), &self.table.quoted);
            let numeric = if column.engine == Engine::Sqlite {
                format!(" AND typeof({quoted}) <> 'text'")
            } else {
                String::new()
            };
            let text = format!(
                "SELECT {} FROM {table} WHERE {quoted} IS NOT NULL{numeric} ORDER BY {quoted} DESC LIMIT 1",
                column.selected()
            );
            let rows = source.query(&Query::new(column.engine, text)).await?;
            let newest = rows.first().and_then(|row| row.first()).and_then(|value| column.instant(value));
            // 100 million seconds: March 1973, before any deadline that a database holds today.
            if newest.is_some_and(|newest| newest.as_second() < 100_000_000 && newest.as_second() > 0)
                && unit_us < 1_000_000
            {
                return Err(TargetError::new(
                    ErrorKind::Unfit,
                    format!("read in this unit, the newest `{}` lies in {}", column.column, newest.map_or(1970, |n| n.to_zoned(TimeZone::UTC).year())),
                )
                .with_help("the column probably counts in a larger unit: `epoch_s` rather than `epoch_ms`, `epoch_ms` rather than `epoch_us`"));
            }
        }
        Ok(())
    }
}

async fn bind_changes(
    source: &mut Source,
    table: &Table,
    policy: &RowPolicy,
) -> Result<Vec<BoundAssignment>, TargetError> {
    let Action::Update(assignments) = &policy.action else { return Ok(Vec::new()) };
    let mut changes = Vec::new();
    for assignment in assignments {
        let key = if assignment.value == NewValue::Null { "clear" } else { "set" };
        table.column(&assignment.column).map_err(|e| e.about(key))?;
        let native = if assignment.value == NewValue::Now {
            let column = DeadlineColumn { column: assignment.column.clone(), format: Format::Native };
            let time = bind_deadline(source, table, &column, policy.zone.as_ref()).await;
            Some(time.map_err(|e| e.with_help("`now` goes into timestamps, dates and SQLite's text").about(key))?)
        } else {
            None
        };
        changes.push(BoundAssignment::bind(table, assignment, native).map_err(|e| e.about(key))?);
    }
    Ok(changes)
}

async fn bind_deadline(
    source: &mut Source,
    table: &Table,
    spec: &DeadlineColumn,
    zone: Option<&TimeZone>,
) -> Result<Comparison, TargetError> {
    let column = table.column(&spec.column)?;
    let zone = zone.cloned().unwrap_or(TimeZone::UTC);
    if table.engine == Engine::Sqlite && zone.iana_name().is_none() {
        return Err(TargetError::new(
            ErrorKind::Unfit,
            "SQLite's text is read in a zone by its name, and this has none",
        )
        .with_help("name the zone, as in `Europe/Stockholm`"));
    }
    let kind = match (unit_us(spec.format), spec.format) {
        (Some(unit_us), _) => epoch_kind(table.engine, column, unit_us)?,
        (None, Format::Ulid | Format::Uuid7) => id_kind(source, table, column, spec.format).await?,
        _ => native_kind(source, table, column, zone).await?,
    };
    let sql_type = match (&kind, column.type_name.as_str()) {
        (Kind::Epoch { whole: true, .. }, _) => "int8".to_owned(),
        // As text, a column of padded characters would not be found by its index.
        (Kind::Id { shape: IdShape::Text { .. }, .. }, name) if name != "bpchar" => "text".to_owned(),
        (_, name) => name.to_owned(),
    };
    Ok(Comparison { engine: table.engine, column: column.name.clone(), kind, nullable: column.nullable, sql_type })
}

async fn native_kind(source: &mut Source, table: &Table, column: &Column, zone: TimeZone) -> Result<Kind, TargetError> {
    match (table.engine, column.type_name.as_str()) {
        (Engine::Postgres, "timestamp with time zone") | (Engine::MySql, "timestamp") => Ok(Kind::Instant),
        (Engine::Postgres, "timestamp without time zone") | (Engine::MySql, "datetime") => Ok(Kind::Local(zone)),
        (Engine::Postgres | Engine::MySql, "date") => Ok(Kind::Date(zone)),
        (Engine::Sqlite, type_name) => {
            let stored = StoredTypes::read(source, table, column).await?;
            match stored {
                StoredTypes { texts: 1.., .. } => Ok(Kind::Text(zone)),
                StoredTypes { numbers: 1.., .. } => Err(not_comparable(table, column, "numbers")),
                StoredTypes { blobs: 1.., .. } => Err(not_comparable(table, column, "bytes")),
                _ if is_number(type_name) => Err(not_comparable(table, column, "numbers")),
                _ => Ok(Kind::Text(zone)),
            }
        }
        (_, type_name) => Err(not_comparable(table, column, &format!("`{type_name}`"))),
    }
}

fn not_comparable(table: &Table, column: &Column, holds: &str) -> TargetError {
    let name = &column.name;
    TargetError::new(
        ErrorKind::Unfit,
        format!("column `{name}` of `{}` holds {holds}, which is no time by itself", table.name),
    )
    .with_help(format!(
        "say what it means: `deadline = {{ epoch_s = \"{name}\" }}` (or epoch_ms, epoch_us), `{{ ulid = \"{name}\" }}`, \
         `{{ uuid7 = \"{name}\" }}`, or name a timestamp column"
    ))
}

fn epoch_kind(engine: Engine, column: &Column, unit_us: i64) -> Result<Kind, TargetError> {
    let whole = match (engine, column.type_name.as_str()) {
        (Engine::Postgres, "smallint" | "integer" | "bigint")
        | (Engine::MySql, "tinyint" | "smallint" | "mediumint" | "int" | "bigint") => true,
        (Engine::Postgres, "numeric" | "double precision" | "real")
        | (Engine::MySql, "decimal" | "double" | "float")
        | (Engine::Sqlite, _) => false,
        (_, type_name) => {
            return Err(TargetError::new(
                ErrorKind::Unfit,
                format!("column `{}` holds `{type_name}`, not a number of seconds", column.name),
            )
            .with_help(format!("a column of time is named as it is: `deadline = \"{}\"`", column.name)));
        }
    };
    Ok(Kind::Epoch { unit_us, whole })
}

async fn id_kind(source: &mut Source, table: &Table, column: &Column, format: Format) -> Result<Kind, TargetError> {
    let uuid7 = format == Format::Uuid7;
    let shape = match (table.engine, column.type_name.as_str()) {
        // MariaDB keeps what looks like a UUID of an earlier version in another order, and a ULID may look like one.
        (Engine::MySql, "uuid") if !uuid7 => {
            return Err(TargetError::new(
                ErrorKind::Unfit,
                format!("column `{}` holds `uuid`, which MariaDB does not keep in the order of ULIDs", column.name),
            )
            .with_help("keep ULIDs in a text or 16-byte binary column; UUIDv7 may stay in `uuid`"));
        }
        (Engine::Postgres | Engine::MySql, "uuid") => IdShape::Uuid,
        (Engine::Postgres, "bytea") | (Engine::MySql, "binary" | "varbinary") => IdShape::Bytes,
        (Engine::Postgres, "text" | "character varying" | "bpchar") | (Engine::MySql, "char" | "varchar") => {
            text_shape(source, table, column, uuid7).await?
        }
        (Engine::Sqlite, _) => {
            let stored = StoredTypes::read(source, table, column).await?;
            if stored.blobs > stored.texts { IdShape::Bytes } else { text_shape(source, table, column, uuid7).await? }
        }
        (_, type_name) => {
            return Err(TargetError::new(
                ErrorKind::Unfit,
                format!("column `{}` holds `{type_name}`, which cannot be a ULID or UUID", column.name),
            )
            .with_help("identifiers are read from uuid, text and 16-byte binary columns"));
        }
    };
    Ok(Kind::Id { uuid7, shape })
}

/// Letters of one case: the case of most identifiers that have any.
async fn text_shape(source: &mut Source, table: &Table, column: &Column, uuid7: bool) -> Result<IdShape, TargetError> {
    let values = samples(source, table, column, &table.engine.quote(&column.name)).await?;
    let parse = if uuid7 { time_id::parse_uuid } else { time_id::parse_ulid };
    let ids: Vec<&str> =
        values.iter().filter_map(Value::text).map(str::trim_end).filter(|t| parse(t).is_some()).collect();
    let having = |is: fn(&u8) -> bool| ids.iter().filter(|id| id.as_bytes().iter().any(is)).count();
    let (lower, upper) = (having(u8::is_ascii_lowercase), having(u8::is_ascii_uppercase));
    // Where nobody has written a letter yet: a ULID has capitals, and a UUID has small ones.
    Ok(IdShape::Text { upper: if lower == upper { !uuid7 } else { upper > lower } })
}

/// What a column of SQLite holds, whatever it was declared to hold: counts of some of its values.
#[derive(Clone, Copy, Debug, Default)]
struct StoredTypes {
    texts: usize,
    numbers: usize,
    blobs: usize,
}

impl StoredTypes {
    async fn read(source: &mut Source, table: &Table, column: &Column) -> Result<Self, TargetError> {
        let mut stored = Self::default();
        let expression = format!("typeof({})", Engine::Sqlite.quote(&column.name));
        for value in samples(source, table, column, &expression).await? {
            match value.text() {
                Some("text") => stored.texts += 1,
                Some("blob") => stored.blobs += 1,
                _ => stored.numbers += 1,
            }
        }
        Ok(stored)
    }
}

/// Some values of a column that are not null: enough of them that one that is out of line does not decide.
async fn samples(
    source: &mut Source,
    table: &Table,
    column: &Column,
    expression: &str,
) -> Result<Vec<Value>, TargetError> {
    let text = format!(
        "SELECT {expression} FROM {} WHERE {} IS NOT NULL LIMIT {SAMPLE_VALUES}",
        table.quoted,
        table.engine.quote(&column.name)
    );
    let rows = source.query(&Query::new(table.engine, text)).await?;
    Ok(rows.into_iter().filter_map(|row| row.into_iter().next()).collect())
}

/// SQLite's rule for a declared type that is a number.
fn is_number(type_name: &str) -> bool {
    ["int", "real", "floa", "doub", "num", "dec"].iter().any(|part| type_name.contains(part))
}

fn bind_key(table: &Table, wanted: Option<&[String]>) -> Result<Vec<KeyColumn>, TargetError> {
    if let Some(names) = wanted {
        let columns = names.iter().map(|name| table.column(name)).collect::<Result<Vec<_>, _>>()?;
        let resolved: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        if !table.is_key(&resolved) {
            return Err(TargetError::new(
                ErrorKind::Unfit,
                format!("`key` names columns of `{}` that do not name a row", table.name),
            )
            .with_help("name the columns of the primary key, or of a unique index without nulls"));
        }
        return columns.into_iter().map(|column| key_column(table.engine, column)).collect();
    }
    match (&table.storage, table.natural_key()) {
        (Storage::Rowid(name), _) => Ok(vec![KeyColumn { quoted: name.clone(), selected: name.clone(), cast: None }]),
        (_, Some(names)) => {
            names.iter().map(|name| table.column(name).and_then(|column| key_column(table.engine, column))).collect()
        }
        (Storage::Heap { .. }, None) => Ok(vec![KeyColumn::place()]),
        (Storage::Key, None) => {
            Err(TargetError::new(ErrorKind::Unfit, format!("nothing names a single row of `{}`", table.name))
                .with_help("give it a primary key, or a unique index over columns that are never null"))
        }
    }
}

impl KeyColumn {
    /// PostgreSQL: the place of a row in its heap.
    pub(crate) fn place() -> Self {
        Self { quoted: "ctid".to_owned(), selected: "ctid::text".to_owned(), cast: Some("tid".to_owned()) }
    }
}

fn key_column(engine: Engine, column: &Column) -> Result<KeyColumn, TargetError> {
    let quoted = engine.quote(&column.name);
    let as_text = || format!("CAST({quoted} AS CHAR)");
    let (selected, cast) = match engine {
        Engine::Postgres => (format!("{quoted}::text"), Some(column.type_name.clone())),
        Engine::Sqlite => (quoted.clone(), None),
        Engine::MySql => match column.type_name.as_str() {
            name if name.ends_with("int") && column.unsigned => (as_text(), Some("UNSIGNED".to_owned())),
            name if name.ends_with("int")
                || name.ends_with("char")
                || name.ends_with("text")
                || name.ends_with("binary") =>
            {
                (quoted.clone(), None)
            }
            "date" | "datetime" | "timestamp" | "uuid" => (as_text(), None),
            "decimal" => (as_text(), Some("DECIMAL(65, 30)".to_owned())),
            other => {
                return Err(TargetError::new(
                    ErrorKind::Unfit,
                    format!("the key column `{}` is of type `{other}`, which cannot be compared exactly", column.name),
                )
                .with_help("name another unique key in `key`"));
            }
        },
    };
    Ok(KeyColumn { quoted, selected, cast })
}
