//! Where the tables are: one answer for the migration, every store and the sweeper.

use bygone_sql::Engine;

use crate::error::TokenError;

/// The longest name of a table or index has 37 bytes, and PostgreSQL cuts names off behind 63.
const PREFIX_BYTES_MAX: usize = 24;

/// The schema and the beginning of every table's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Naming {
    engine: Engine,
    schema: Option<String>,
    table_prefix: Option<String>,
}

impl Naming {
    /// In this schema (PostgreSQL) or database (MySQL, MariaDB), each name behind this prefix.
    pub fn new(engine: Engine, schema: Option<String>, table_prefix: Option<String>) -> Result<Self, TokenError> {
        if engine == Engine::Sqlite && schema.is_some() {
            return Err(TokenError::options("an SQLite file has no schemas: leave it out, or use a table prefix"));
        }
        for (what, name) in [("schema", &schema), ("table prefix", &table_prefix)] {
            if name.as_ref().is_some_and(|name| name.is_empty() || name.contains('\0')) {
                return Err(TokenError::options(format!(
                    "the {what} is empty or has a NUL in it: leave it out, or name it"
                )));
            }
        }
        if let Some(prefix) = table_prefix.as_ref().filter(|prefix| prefix.len() > PREFIX_BYTES_MAX) {
            let message =
                format!("the table prefix `{prefix}` has over {PREFIX_BYTES_MAX} bytes: databases would cut names off");
            return Err(TokenError::options(message));
        }
        Ok(Self { engine, schema, table_prefix })
    }

    /// The database.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The schema.
    pub fn schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    /// What every table's name begins with.
    pub fn table_prefix(&self) -> Option<&str> {
        self.table_prefix.as_deref()
    }

    /// A table's whole name.
    pub(crate) fn full(&self, name: &str) -> String {
        format!("{}{name}", self.table_prefix.as_deref().unwrap_or_default())
    }

    /// The same, quoted and in its schema: as statements have it.
    pub(crate) fn quoted(&self, name: &str) -> String {
        self.engine.quote_in(self.schema.as_deref(), &self.full(name))
    }

    /// The name of something that belongs to a table, quoted.
    pub(crate) fn quoted_part(&self, name: &str, part: &str) -> String {
        self.engine.quote(&format!("{}_{part}", self.full(name)))
    }
}
