//! Changing columns instead of removing rows. What already is as the policy wants it is not touched again.

use bygone_core::{ErrorKind, TargetError};
use jiff::Timestamp;

use crate::catalog::Table;
use crate::comparison::{Comparison, Kind};
use crate::engine::Engine;
use crate::policy::{Assignment, NewValue};
use crate::query::Query;
use crate::value::Value;

/// A column and what it becomes, bound to its table.
#[derive(Clone, Debug)]
pub(crate) struct BoundAssignment {
    quoted: String,
    cast: Option<String>,
    value: BoundValue,
}

#[derive(Clone, Debug)]
enum BoundValue {
    Null,
    Now(Comparison),
    Literal(Value),
}

impl BoundAssignment {
    /// `native` says how the column holds a time, where it is to hold one.
    pub(crate) fn bind(
        table: &Table,
        assignment: &Assignment,
        native: Option<Comparison>,
    ) -> Result<Self, TargetError> {
        let column = table.column(&assignment.column)?;
        let value = match (&assignment.value, native) {
            (NewValue::Null, _) if !column.nullable => {
                return Err(TargetError::new(
                    ErrorKind::Unfit,
                    format!("column `{}` of `{}` can never be null", column.name, table.name),
                )
                .with_help("give it a value instead: `set = { … }`"));
            }
            (NewValue::Now, Some(native)) => BoundValue::Now(native),
            (NewValue::Null | NewValue::Now, _) => BoundValue::Null,
            (NewValue::Text(text), _) => BoundValue::Literal(Value::from(text.as_str())),
            (NewValue::Int(n), _) => BoundValue::Literal(Value::Int(*n)),
            (NewValue::Real(x), _) => BoundValue::Literal(Value::Real(*x)),
            // No number becomes a truth value by itself there.
            (NewValue::Bool(truth), _) if table.engine == Engine::Postgres => {
                BoundValue::Literal(Value::from(if *truth { "true" } else { "false" }))
            }
            (NewValue::Bool(truth), _) => BoundValue::Literal(Value::Int(i64::from(*truth))),
        };
        let cast = (table.engine == Engine::Postgres).then(|| column.type_name.clone());
        Ok(Self { quoted: table.engine.quote(&column.name), cast, value })
    }

    pub(crate) fn quoted(&self) -> &str {
        &self.quoted
    }

    /// Whether nothing is left in the column.
    pub(crate) fn clears(&self) -> bool {
        matches!(self.value, BoundValue::Null)
    }

    /// Whether both are about one column, and each has another value for it.
    pub(crate) fn contradicts(&self, other: &Self) -> bool {
        let same = match (&self.value, &other.value) {
            (BoundValue::Null, BoundValue::Null) | (BoundValue::Now(_), BoundValue::Now(_)) => true,
            (BoundValue::Literal(ours), BoundValue::Literal(theirs)) => ours == theirs,
            _ => false,
        };
        self.quoted == other.quoted && !same
    }

    /// Appends `column = value`.
    pub(crate) fn assign(&self, query: Query, now: Timestamp) -> Query {
        let quoted = &self.quoted;
        match &self.value {
            BoundValue::Null => query.sql(format!("{quoted} = NULL")),
            // Beside another column that is to change, this one may have its time already.
            BoundValue::Now(native) => query
                .sql(format!("{quoted} = coalesce({quoted}, "))
                .bind(instant(native, now), self.cast.as_deref())
                .sql(")"),
            BoundValue::Literal(value) => query.sql(format!("{quoted} = ")).bind(value.clone(), self.cast.as_deref()),
        }
    }

    /// Appends a condition that a column meets which is not as it should be.
    pub(crate) fn differs(&self, query: Query, engine: Engine) -> Query {
        let quoted = &self.quoted;
        match &self.value {
            BoundValue::Null => query.sql(format!("{quoted} IS NOT NULL")),
            BoundValue::Now(_) => query.sql(format!("{quoted} IS NULL")),
            BoundValue::Literal(value) => {
                let (open, close) = match engine {
                    Engine::Postgres => (format!("{quoted} IS DISTINCT FROM "), ""),
                    Engine::MySql => (format!("NOT ({quoted} <=> "), ")"),
                    Engine::Sqlite => (format!("{quoted} IS NOT "), ""),
                };
                query.sql(open).bind(value.clone(), self.cast.as_deref()).sql(close)
            }
        }
    }
}

/// An instant as the column holds it.
fn instant(native: &Comparison, now: Timestamp) -> Value {
    match &native.kind {
        // As SQLite's own functions write it.
        Kind::Text(zone) => Value::Text(now.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string()),
        _ => native.cutoff(now).unwrap_or(Value::Null),
    }
}
