//! A case: tables, what points at what, rows and policies, in words of the oracle's own. It is all that the model is
//! shown, and all that the database and bygone are given.

use std::collections::BTreeSet;

use bygone_testkit::Kind;

use crate::moment::{Moment, Zone};

/// One random world, and what is asked of it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) engine: Kind,
    /// The boundary of its sweeps, in microseconds since 1970.
    pub(crate) boundary_us: i64,
    pub(crate) tables: Vec<Table>,
    pub(crate) links: Vec<Link>,
    pub(crate) policies: Vec<Policy>,
    /// Whether the database has counted its rows before the sweep.
    pub(crate) analyzed: bool,
    /// SQLite: whether it writes a log.
    pub(crate) logged: bool,
    /// What the names of all its tables begin with; policies leave it out.
    pub(crate) prefix: &'static str,
}

/// A table with its rows. The first column, `n`, numbers them in the order in which they were put there, and means nothing to
/// anybody but the oracle.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) key: Key,
    /// SQLite: whether it is kept by its key alone.
    pub(crate) without_rowid: bool,
    pub(crate) columns: Vec<Column>,
    pub(crate) indexes: Vec<Index>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// What names a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Primary(Vec<usize>),
    /// A unique index over columns that are never null.
    Unique(Vec<usize>),
    Nothing,
}

impl Key {
    pub(crate) fn columns(&self) -> &[usize] {
        match self {
            Self::Primary(columns) | Self::Unique(columns) => columns,
            Self::Nothing => &[],
        }
    }
}

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) holds: Holds,
    /// Its type, as the database is told.
    pub(crate) sql: &'static str,
    pub(crate) nullable: bool,
    pub(crate) default: Option<Cell>,
}

/// What is in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    Number,
    Text,
    Truth,
    Real,
    Time(TimeForm, Unit),
}

/// How a column says a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeForm {
    /// An instant: timestamptz, MariaDB's TIMESTAMP.
    Instant,
    /// Date and time without a zone.
    Local,
    /// A date.
    Day,
    /// SQLite's text, of which each value may be in a form of its own.
    Text,
    /// Numbers of this many microseconds since 1970.
    Epoch(i64),
    Ulid(Written),
    Uuid7(Written),
}

/// How an identifier is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    Uuid,
    Bytes,
    Upper,
    Lower,
}

/// The least time that a column can tell apart, in microseconds.
pub(crate) type Unit = i64;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Number(i64),
    Text(String),
    Truth(bool),
    Real(f64),
    /// A time: what it means, how it is written in SQL, and where it stands in the order of identifiers.
    Time {
        moment: Moment,
        sql: String,
        order: u128,
    },
}

/// An index beside the keys.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    pub(crate) columns: Vec<usize>,
    /// The condition of a partial one.
    pub(crate) only: Option<String>,
}

/// Columns that point at the key of a table.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) from: usize,
    pub(crate) columns: Vec<usize>,
    pub(crate) to: usize,
    pub(crate) to_columns: Vec<usize>,
    /// What its foreign key does; nothing in the database knows of a link without one.
    pub(crate) foreign_key: Option<ForeignKey>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ForeignKey {
    pub(crate) on_delete: OnDelete,
    /// What stands behind it: `DEFERRABLE` and how it begins.
    pub(crate) deferrable: &'static str,
}

/// What happens to rows that point at one that goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnDelete {
    NoAction,
    Restrict,
    Cascade,
    SetNull,
    SetDefault,
}

/// A policy.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    pub(crate) name: String,
    pub(crate) table: usize,
    /// The columns of which the latest is the deadline.
    pub(crate) deadline: Vec<usize>,
    /// Whether a NULL among several keeps the row.
    pub(crate) null_keeps: bool,
    pub(crate) keep_us: i64,
    pub(crate) zone: Option<Zone>,
    pub(crate) filter: Option<Condition>,
    /// Whether it names its key.
    pub(crate) names_key: bool,
    pub(crate) newest: Option<Newest>,
    pub(crate) changes: Vec<Change>,
    /// Chains of links: the farthest first, the last one points at the policy's table.
    pub(crate) with: Vec<Vec<usize>>,
    /// Links that keep a row by pointing at it.
    pub(crate) unless_referenced_by: Vec<usize>,
    pub(crate) guards: Vec<Guard>,
    /// Why it must be refused.
    pub(crate) misfit: Option<Misfit>,
    pub(crate) page: u64,
    pub(crate) workers: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Newest {
    pub(crate) rows: u64,
    pub(crate) per: Vec<usize>,
    pub(crate) by: Option<usize>,
}

/// A column and what it becomes.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) column: usize,
    pub(crate) value: Becomes,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Becomes {
    Now,
    This(Cell),
}

/// A condition on a row pointed at.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// Whether it must hold for the row to go, rather than keep it.
    pub(crate) only_if: bool,
    pub(crate) at: PointedAt,
    pub(crate) living: bool,
    pub(crate) filter: Option<Condition>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum PointedAt {
    /// What a link points at.
    Link(usize),
    /// The rows of the same table that are equal in this column.
    Family(usize),
}

/// A condition in SQL on one row.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    IsNull(usize),
    IsNotNull(usize),
    Is(usize, Cell),
    Less(usize, i64),
    Not(Box<Self>),
    Both(Box<Self>, Box<Self>),
    Either(Box<Self>, Box<Self>),
}

/// What is wrong with a policy that must be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// Its deadline is a column that is not there.
    NoSuchDeadline,
    /// Its deadline is a plain number.
    NumberIsNoTime,
    /// It clears a column that is never null.
    ClearsWhatIsNeverNull,
    /// Its `where` names a column that is not there.
    NoSuchColumnInWhere,
    /// It goes by a row that its column does not point at.
    PointsNowhere,
    /// It is over a table that is not there.
    NoSuchTable,
}

impl Table {
    /// A column by its name.
    pub(crate) fn column(&self, name: &str) -> usize {
        self.columns.iter().position(|column| column.name == name).unwrap()
    }
}

impl Case {
    /// The links to a table that the database enforces.
    pub(crate) fn enforced_to(&self, table: usize) -> impl Iterator<Item = (&Link, ForeignKey)> {
        let there = self.links.iter().filter(move |link| link.to == table);
        there.filter_map(|link| link.foreign_key.map(|key| (link, key)))
    }
    /// Whether tables point at each other in a circle that is longer than a table that points at itself.
    pub(crate) fn has_circle(&self) -> bool {
        let reaches = |start: usize| {
            let mut reached = BTreeSet::new();
            let mut next = vec![start];
            while let Some(at) = next.pop() {
                let others = self.links.iter().filter(|link| link.from == at && link.to != at);
                next.extend(others.map(|link| link.to).filter(|to| reached.insert(*to)));
            }
            reached.contains(&start)
        };
        (0..self.tables.len()).any(reaches)
    }
}
