//! What a table of things that expire looks like, whatever the database.
//!
//! Every table has the same bones. Rows are found by digests. `expires_at` says until when a row is honoured, `horizon`
//! from when on it can change no decision any more: the latest of all deadlines that the row carries, and a little for
//! clocks that disagree. Stores take a row as absent from its horizon on, so whether it was swept makes no difference.

/// A table.
#[derive(Debug)]
pub(crate) struct Shape {
    /// Its name, without schema and prefix.
    pub(crate) name: &'static str,
    /// The digests that name a row.
    pub(crate) key: &'static [&'static str],
    /// Its own columns, the key's among them.
    pub(crate) columns: &'static [Column],
    /// What rows are looked up by, beside the key.
    pub(crate) indexes: &'static [Index],
    /// Whether rows hold a document.
    pub(crate) data: bool,
    /// From when on another row may have the key.
    pub(crate) vacated: Vacated,
    /// What its rows go with.
    pub(crate) end: End,
}

/// A column.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) nullable: bool,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// 32 bytes.
    Digest,
    /// Microseconds since 1970, or a count: exact, and the same on every database.
    Int,
    /// One of a few short words of ours.
    Word,
    /// Bytes.
    Bytes,
    /// JSON.
    Document,
}

/// An index.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) column: &'static str,
    pub(crate) unique: bool,
}

/// From when on a key is free again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vacated {
    /// Once its row has expired.
    Expired,
    /// Once its row can change no decision any more.
    Forgotten,
}

/// When a row goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Past its horizon.
    Horizon,
    /// With the row of this table that this column points at.
    With {
        /// The column here, of the same name there.
        column: &'static str,
        /// The table there.
        parent: &'static str,
    },
}

pub(crate) const INSERTED_AT: &str = "inserted_at";
pub(crate) const EXPIRES_AT: &str = "expires_at";
pub(crate) const HORIZON: &str = "horizon";
pub(crate) const DATA: &str = "data";

const TIMES: [Column; 3] = [Column::int(INSERTED_AT), Column::int(EXPIRES_AT), Column::int(HORIZON)];
const DOCUMENT: Column = Column { name: DATA, kind: Kind::Document, nullable: false };

impl Shape {
    /// All columns, in the order in which rows are read.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Column> {
        let times = if self.end == End::Horizon { TIMES.as_slice() } else { &TIMES[..2] };
        self.columns.iter().chain(times).chain(self.data.then_some(&DOCUMENT))
    }
}

impl Vacated {
    /// The column that says so.
    pub(crate) fn column(self) -> &'static str {
        match self {
            Self::Expired => EXPIRES_AT,
            Self::Forgotten => HORIZON,
        }
    }
}

impl Column {
    pub(crate) const fn digest(name: &'static str) -> Self {
        Self { name, kind: Kind::Digest, nullable: false }
    }

    pub(crate) const fn int(name: &'static str) -> Self {
        Self { name, kind: Kind::Int, nullable: false }
    }

    pub(crate) const fn word(name: &'static str) -> Self {
        Self { name, kind: Kind::Word, nullable: false }
    }

    pub(crate) const fn bytes(name: &'static str) -> Self {
        Self { name, kind: Kind::Bytes, nullable: false }
    }

    pub(crate) const fn document(name: &'static str) -> Self {
        Self { name, kind: Kind::Document, nullable: false }
    }

    /// The same, empty at first.
    pub(crate) const fn or_null(self) -> Self {
        Self { nullable: true, ..self }
    }
}

impl Index {
    pub(crate) const fn on(column: &'static str) -> Self {
        Self { column, unique: false }
    }

    pub(crate) const fn unique(column: &'static str) -> Self {
        Self { column, unique: true }
    }
}
