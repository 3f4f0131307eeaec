//! The three engines, and how each writes a name.

use std::fmt;

/// Which database speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// PostgreSQL 13 and later.
    Postgres,
    /// MySQL 8 and later, MariaDB 10.6 and later.
    MySql,
    /// SQLite 3.35 and later.
    Sqlite,
}

impl Engine {
    /// Quotes an identifier. Every engine doubles its own quote; a NUL cannot occur in a name of any of them.
    pub fn quote(self, name: &str) -> String {
        match self {
            Self::Postgres | Self::Sqlite => format!("\"{}\"", name.replace('"', "\"\"")),
            Self::MySql => format!("`{}`", name.replace('`', "``")),
        }
    }

    /// What begins a transaction that will write.
    pub(crate) fn begin(self) -> &'static str {
        match self {
            Self::Postgres => "BEGIN",
            Self::MySql => "START TRANSACTION",
            Self::Sqlite => "BEGIN IMMEDIATE",
        }
    }

    /// Quotes a name within its schema.
    pub fn quote_in(self, schema: Option<&str>, name: &str) -> String {
        match schema {
            Some(schema) => format!("{}.{}", self.quote(schema), self.quote(name)),
            None => self.quote(name),
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Postgres => "PostgreSQL",
            Self::MySql => "MySQL/MariaDB",
            Self::Sqlite => "SQLite",
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads a quoted identifier back, as the database's own lexer would.
    fn unquote(quoted: &str, quote: char) -> Option<String> {
        let inner = quoted.strip_prefix(quote)?.strip_suffix(quote)?;
        let mut out = String::new();
        let mut chars = inner.chars();
        while let Some(c) = chars.next() {
            if c == quote && chars.next() != Some(quote) {
                return None;
            }
            out.push(c);
        }
        Some(out)
    }

    proptest! {
        #[test]
        fn names_round_trip_through_quotes(name in "[^\0]{0,40}") {
            prop_assert_eq!(unquote(&Engine::Postgres.quote(&name), '"'), Some(name.clone()));
            prop_assert_eq!(unquote(&Engine::Sqlite.quote(&name), '"'), Some(name.clone()));
            prop_assert_eq!(unquote(&Engine::MySql.quote(&name), '`'), Some(name));
        }
    }
}
