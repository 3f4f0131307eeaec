//! Foreign keys: what points at what, and what happens there when a row goes.

use super::{Row, Table, text};

/// A table's name within its database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableName {
    pub(crate) schema: Option<String>,
    pub(crate) name: String,
}

/// A foreign key, seen from either of its tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignKey {
    pub(crate) from: TableName,
    pub(crate) columns: Vec<String>,
    pub(crate) to: TableName,
    pub(crate) to_columns: Vec<String>,
    pub(crate) on_delete: OnDelete,
}

/// What happens to the rows that point at a removed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnDelete {
    /// They stand in the way: at the end of the statement, or at once.
    Refuse {
        /// At once: `RESTRICT` rather than `NO ACTION`.
        restrict: bool,
    },
    /// They go along.
    Cascade,
    /// They are left without, or with a default.
    Empty {
        /// `SET DEFAULT` rather than `SET NULL`.
        default: bool,
    },
}

impl OnDelete {
    fn parse(word: &str) -> Self {
        match word {
            "cascade" => Self::Cascade,
            "set null" => Self::Empty { default: false },
            "set default" => Self::Empty { default: true },
            "restrict" => Self::Refuse { restrict: true },
            _ => Self::Refuse { restrict: false },
        }
    }

    /// The word of SQL, in lower case.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Refuse { restrict: true } => "restrict",
            Self::Refuse { restrict: false } => "no action",
            Self::Cascade => "cascade",
            Self::Empty { default: false } => "set null",
            Self::Empty { default: true } => "set default",
        }
    }
}

impl ForeignKey {
    /// Out of a row of the catalogue: schema, table and columns of either side, and the action.
    pub(super) fn read(row: &Row) -> Self {
        let side = |at: usize| TableName { schema: super::maybe_text(row, at), name: text(row, at + 1) };
        let columns = |at: usize| serde_json::from_str(&text(row, at)).unwrap_or_default();
        Self {
            from: side(0),
            columns: columns(2),
            to: side(3),
            to_columns: columns(5),
            on_delete: OnDelete::parse(&text(row, 6)),
        }
    }
}

impl Table {
    /// The keys by which other tables, or this one, point here.
    pub(crate) fn incoming(&self) -> impl Iterator<Item = &ForeignKey> {
        self.foreign_keys.iter().filter(|key| self.is(&key.to))
    }

    /// The keys by which this table points elsewhere, or at itself.
    pub(crate) fn outgoing(&self) -> impl Iterator<Item = &ForeignKey> {
        self.foreign_keys.iter().filter(|key| self.is(&key.from))
    }

    /// Whether this is the table of that name.
    pub(crate) fn is(&self, name: &TableName) -> bool {
        self.name == name.name && self.schema == name.schema
    }
}

/// A foreign key of another table that points here, for people.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Reference {
    /// The table that points here.
    pub table: String,
    /// Its column or columns.
    pub column: String,
    /// What happens there when a row goes here: `cascade`, `set null`, `set default`, `restrict`, `no action`.
    pub action: String,
}

impl Reference {
    /// A key that points at `table`; the other one's schema is named where it differs.
    pub(crate) fn of(table: &Table, key: &ForeignKey) -> Self {
        let TableName { schema, name } = &key.from;
        let table = match schema {
            Some(schema) if table.schema.as_ref() != Some(schema) => format!("{schema}.{name}"),
            _ => name.clone(),
        };
        Self { table, column: key.columns.join(", "), action: key.on_delete.as_str().to_owned() }
    }
}
