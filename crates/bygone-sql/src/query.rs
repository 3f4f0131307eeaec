//! SQL text with its bound values, built piece by piece.
//!
//! Only three things ever become text: fixed fragments of ours, identifiers that the catalogue knows (quoted), and
//! the policy's own `where`. Everything else is bound.

use crate::engine::Engine;
use crate::value::Value;

/// A statement ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    engine: Engine,
    text: String,
    values: Vec<Value>,
    repeated: bool,
}

impl Query {
    /// A statement of this engine, beginning with `text`.
    pub fn new(engine: Engine, text: impl Into<String>) -> Self {
        Self { engine, text: text.into(), values: Vec::new(), repeated: true }
    }

    /// Appends a fixed fragment.
    #[must_use]
    pub fn sql(mut self, text: impl AsRef<str>) -> Self {
        self.text.push_str(text.as_ref());
        self
    }

    /// Appends a bound value, cast to `cast` where the engine needs to be told.
    #[must_use]
    pub fn bind(mut self, value: Value, cast: Option<&str>) -> Self {
        // What has its type with it is not cast, and must not be: a text that is cast comes under another statement.
        let cast = cast.filter(|_| !value.is_typed());
        self.values.push(value);
        let number = self.values.len();
        let placeholder = match (self.engine, cast) {
            (Engine::Postgres, Some(cast)) => format!("${number}::{cast}"),
            (Engine::Postgres, None) => format!("${number}"),
            (Engine::MySql, Some(cast)) => format!("CAST(? AS {cast})"),
            (Engine::MySql | Engine::Sqlite, _) => "?".to_owned(),
        };
        self.sql(placeholder)
    }

    /// Marks a statement whose text will not come again, so that no driver keeps it prepared.
    #[must_use]
    pub(crate) fn once(mut self) -> Self {
        self.repeated = false;
        self
    }

    /// Whether the same text will be run again.
    pub(crate) fn is_repeated(&self) -> bool {
        self.repeated
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The same statement, asked how it would be run.
    #[must_use]
    pub fn explained(&self) -> Self {
        let how = if self.engine == Engine::Sqlite { "EXPLAIN QUERY PLAN" } else { "EXPLAIN" };
        Self { text: format!("{how} {}", self.text), ..self.clone() }
    }

    /// The values, in order.
    pub(crate) fn values(&self) -> &[Value] {
        &self.values
    }
}
