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
    /// What carries the deadline; without one, `newest` alone decides.
    pub deadline: Option<Deadline>,
    /// How long a row stays after its deadline.
    pub keep: SignedDuration,
    /// A condition in SQL that rows must meet as well.
    pub filter: Option<String>,
    /// The columns that name a row; found in the catalogue when absent.
    pub key: Option<Vec<String>>,
    /// What zone timestamps without one are in; UTC when absent.
    pub zone: Option<TimeZone>,
    /// Keeps the newest rows, whatever their deadline.
    pub newest: Option<Newest>,
    /// What becomes of a row.
    pub action: Action,
    /// Rows of other tables that go first, in the same transaction.
    pub with: Vec<Chain>,
    /// Columns of other tables that keep a row while they point at it.
    pub unless_referenced_by: Vec<ColumnRef>,
    /// Rows pointed at that keep a row while they are there.
    pub unless: Vec<RowCondition>,
    /// Rows pointed at without which a row is kept.
    pub only_if: Vec<RowCondition>,
}

impl RowPolicy {
    /// Removes rows once their deadline is past; nothing else is asked of them.
    pub fn new(name: impl Into<String>, table: impl Into<String>, deadline: Deadline) -> Self {
        Self { deadline: Some(deadline), ..Self::bare(name, table) }
    }

    /// Keeps the newest rows and removes the others.
    pub fn keeping(name: impl Into<String>, table: impl Into<String>, newest: Newest) -> Self {
        Self { newest: Some(newest), ..Self::bare(name, table) }
    }

    fn bare(name: impl Into<String>, table: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            table: table.into(),
            deadline: None,
            keep: SignedDuration::ZERO,
            filter: None,
            key: None,
            zone: None,
            newest: None,
            action: Action::Remove,
            with: Vec::new(),
            unless_referenced_by: Vec::new(),
            unless: Vec::new(),
            only_if: Vec::new(),
        }
    }
}

/// A column of another table that points at a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnRef {
    /// The table, without schema and prefix.
    pub table: String,
    /// The column.
    pub column: String,
}

impl ColumnRef {
    /// A column of a table.
    pub fn new(table: impl Into<String>, column: impl Into<String>) -> Self {
        Self { table: table.into(), column: column.into() }
    }
}

/// Rows that point at rows that point, at last, at the policy's row: the farthest first.
pub type Chain = Vec<ColumnRef>;

/// A condition on the row that a column points at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowCondition {
    /// The policy's column that points there.
    pub via: String,
    /// The table it points at; when absent, its foreign key says so, or with `to` it is the policy's own.
    pub table: Option<String>,
    /// The column there; the foreign key says so when absent, or it is the primary key.
    pub to: Option<String>,
    /// Whether the row there must not be past this policy's own deadline.
    pub living: bool,
    /// A condition in SQL that the row there meets; any row does when absent.
    pub filter: Option<String>,
}

/// The newest rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newest {
    /// How many.
    pub rows: u64,
    /// Of each group of rows that are equal in these columns; of all rows when empty.
    pub per: Vec<String>,
    /// The column that says which is newer; the key when absent.
    pub by: Option<String>,
}

/// What becomes of a row that is bygone.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// It goes.
    Remove,
    /// It stays, and these columns of it change.
    Update(Vec<Assignment>),
}

/// A column and what it becomes.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The column.
    pub column: String,
    /// Its value from then on.
    pub value: NewValue,
}

/// What a column becomes.
#[derive(Clone, Debug, PartialEq)]
pub enum NewValue {
    /// Nothing.
    Null,
    /// The sweep's boundary; a column that already has a value keeps it.
    Now,
    /// A text, in whatever form the column's type takes it.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A number.
    Real(f64),
    /// A truth value.
    Bool(bool),
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
