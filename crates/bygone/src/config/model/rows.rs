//! Policies over rows of tables.

use jiff::SignedDuration;
use miette::SourceSpan;

/// Which rows of a table are past their time, and what becomes of them.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    /// The table, without the source's prefix.
    pub(crate) table: String,
    /// Where a row's deadline stands. There is a deadline or `newest`; with
    /// both, both must let a row go.
    pub(crate) deadline: Option<Deadline>,
    /// How long a row stays after its deadline: never negative, at most 1000
    /// years; zero where there is no deadline.
    pub(crate) keep: SignedDuration,
    /// How many rows stay whatever their age.
    pub(crate) newest: Option<Newest>,
    /// A condition in SQL that stays within parentheses put around it.
    pub(crate) where_: Option<String>,
    /// A row stays where one of these holds.
    pub(crate) unless: Vec<Condition>,
    /// A row goes only where all of these hold.
    pub(crate) only_if: Vec<Condition>,
    /// A row stays while one of these points at it: none twice.
    pub(crate) unless_referenced_by: Vec<ColumnRef>,
    /// The rows of other tables that go along with a row: none twice. Empty
    /// where the action removes nothing.
    pub(crate) with: Vec<Chain>,
    /// What becomes of a row.
    pub(crate) action: Action,
    /// The columns that tell rows apart, if said: at least one, none twice.
    pub(crate) key: Option<Vec<String>>,
    /// The IANA name of the zone of timestamps that carry none, if said.
    pub(crate) zone: Option<String>,
}

/// Where a row's deadline stands: the latest of what these columns hold.
///
/// A row none of whose columns says anything readable has no deadline and is
/// kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Deadline {
    /// The columns, at least one, none twice.
    pub(crate) columns: Vec<DeadlineColumn>,
    /// What a NULL in one of several columns means.
    pub(crate) nulls: Nulls,
}

/// A column that holds a deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeadlineColumn {
    /// The column's name.
    pub(crate) column: String,
    /// How it holds the instant.
    pub(crate) format: Format,
    /// Where the name stands in the file.
    pub(crate) span: SourceSpan,
}

/// How a column holds an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// As the database's own timestamps and dates, or as text in SQLite.
    Native,
    /// As a number of seconds since 1970.
    EpochSeconds,
    /// As a number of milliseconds since 1970.
    EpochMillis,
    /// As a number of microseconds since 1970.
    EpochMicros,
    /// In the first 48 bits of a ULID.
    Ulid,
    /// In the first 48 bits of a UUID of version 7.
    Uuid7,
}

/// What a NULL in one of several deadline columns means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// Nothing: the other columns decide.
    Ignore,
    /// That the row has no end: it is kept.
    Keep,
}

/// How many rows stay whatever their age.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Newest {
    /// How many, of each group: at least 1.
    pub(crate) rows: u64,
    /// The columns whose values make the groups, none twice; without any, the
    /// table is one group.
    pub(crate) per: Vec<String>,
    /// The column by which rows are new or old; without it, the key.
    pub(crate) by: Option<String>,
}

/// A condition on the row that a row of the policy points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    /// The column of the policy's table that points at the other row.
    pub(crate) via: String,
    /// The table of the other row, without the source's prefix; where it is
    /// not said, the foreign key of `via` knows.
    pub(crate) table: Option<String>,
    /// The column there that `via` equals, if said.
    pub(crate) to: Option<String>,
    /// Whether only a row counts that is not past the policy's own deadline.
    pub(crate) living: bool,
    /// A condition in SQL that stays within parentheses put around it; without
    /// it, that there is such a row.
    pub(crate) where_: Option<String>,
    /// Where the table with all this stands in the file.
    pub(crate) span: SourceSpan,
}

/// A column of another table that points at rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnRef {
    /// The table, without the source's prefix.
    pub(crate) table: String,
    /// The column of that table.
    pub(crate) column: String,
    /// Where it stands in the file.
    pub(crate) span: SourceSpan,
}

/// Rows of another table that point at a policy's row, maybe by way of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chain {
    /// The columns in the order written, at least one. The first names the
    /// rows that are meant; each points at the rows of the next, and the last
    /// at the policy's row.
    pub(crate) links: Vec<ColumnRef>,
    /// Where it stands in the file.
    pub(crate) span: SourceSpan,
}

/// What becomes of a row that is past its time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// It is removed.
    Remove,
    /// It stays, with new values.
    Update {
        /// The columns, at least one, none twice.
        columns: Vec<Assignment>,
    },
}

/// A column and its new value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Assignment {
    /// The column's name.
    pub(crate) column: String,
    /// What it becomes.
    pub(crate) value: NewValue,
    /// Where the name stands in the file.
    pub(crate) span: SourceSpan,
}

/// What a column becomes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NewValue {
    /// NULL.
    Null,
    /// The time of the sweep.
    Now,
    /// A text.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A finite number.
    Real(f64),
    /// True or false.
    Bool(bool),
}
