//! A rows policy as the configuration says it, before any database was asked.

use jiff::SignedDuration;
use jiff::tz::TimeZone;

/// Which rows of which table are bygone.
#[derive(Clone, Debug)]
pub struct RowPolicy {
    /// The policy's name.
    pub name: String,
    /// The table, without schema and prefix.
    pub table: String,
    /// What carries the deadline.
    pub deadline: Deadline,
    /// How long a row stays after its deadline.
    pub keep: SignedDuration,
    /// A condition in SQL that rows must meet as well.
    pub filter: Option<String>,
    /// The columns that name a row; found in the catalogue when absent.
    pub key: Option<Vec<String>>,
    /// What zone timestamps without one are in; UTC when absent.
    pub zone: Option<TimeZone>,
}

/// The deadline of a row: the latest of one or more columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// The columns; never empty.
    pub columns: Vec<DeadlineColumn>,
    /// What a NULL means where there are several.
    pub null: NullMeaning,
}

/// One column of a deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlineColumn {
    /// Its name.
    pub column: String,
    /// How an instant is written in it.
    pub format: Format,
}

/// How an instant is written in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As the column's own type says: a timestamp, a date, SQLite's text.
    Native,
    /// Seconds since 1970.
    EpochSeconds,
    /// Milliseconds since 1970.
    EpochMillis,
    /// Microseconds since 1970.
    EpochMicros,
    /// The time inside a ULID.
    Ulid,
    /// The time inside a UUIDv7.
    Uuid7,
}

/// What a NULL among several deadline columns means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NullMeaning {
    /// It says nothing: the others decide.
    #[default]
    Ignored,
    /// The row has no deadline yet and stays.
    Keeps,
}

impl Deadline {
    /// A single column of its own type.
    pub fn column(name: impl Into<String>) -> Self {
        Self::in_format(name, Format::Native)
    }

    /// A single column in this format.
    pub fn in_format(name: impl Into<String>, format: Format) -> Self {
        let columns = vec![DeadlineColumn { column: name.into(), format }];
        Self { columns, null: NullMeaning::default() }
    }
}
