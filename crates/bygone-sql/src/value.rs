//! The few kinds of value that cross the wire.
//!
//! Statements cast what they select to one of these and cast what they are given back to the column's own type,
//! so that nothing above the drivers depends on a database's type system, and a cursor can be written down.

use serde::{Deserialize, Serialize};

/// A value bound to a statement or read from a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// NULL.
    Null,
    /// A whole number.
    Int(i64),
    /// A floating-point number.
    Real(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
    /// PostgreSQL: an instant, in microseconds since 1970. A text would have to be cast, and a cast to a time depends on
    /// the session, so that it is done again for every row that a condition is tested on: it costs more than the row.
    Instant(i64),
    /// PostgreSQL: a local time, in microseconds since 1970 by its own clock.
    Local(i64),
}

impl Value {
    /// Whether the value says by itself of which type it is.
    pub(crate) fn is_typed(&self) -> bool {
        matches!(self, Self::Instant(_) | Self::Local(_))
    }

    /// The whole number, if it is one.
    pub fn int(&self) -> Option<i64> {
        match self {
            Self::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// A count; anything but a whole number from zero up is unknown.
    pub(crate) fn count(&self) -> Option<u64> {
        self.int().and_then(|n| u64::try_from(n).ok())
    }

    /// The text, if it is text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes, if they are bytes.
    pub fn blob(&self) -> Option<&[u8]> {
        match self {
            Self::Blob(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// True for SQL's idea of true, however the driver spells it.
    pub(crate) fn truth(&self) -> bool {
        matches!(self, Self::Int(n) if *n != 0)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u64> for Value {
    fn from(n: u64) -> Self {
        Self::Int(i64::try_from(n).unwrap_or(i64::MAX))
    }
}

/// A row.
pub type Row = Vec<Value>;
