//! What can go wrong with a store. That a credential is unknown, spent or expired is no error: it is an outcome.

use bygone_core::ErrorKind;
use bygone_sql::SqlError;

/// A store could not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The database did not do what it was asked. What was asked for may still have happened where the answer was lost:
    /// treat what was to be taken as taken.
    #[error("cannot {action} in `{table}`")]
    Database {
        /// What was to be done.
        action: &'static str,
        /// In which table.
        table: &'static str,
        /// What the database says.
        #[source]
        source: SqlError,
    },
    /// The database cannot be reached or prepared.
    #[error("cannot {action}")]
    Connect {
        /// What was to be done.
        action: &'static str,
        /// What the database says.
        #[source]
        source: SqlError,
    },
    /// An option or a lifetime that makes no sense.
    #[error("{message}")]
    Options {
        /// What is wrong, and what would be right.
        message: String,
    },
    /// The tables were made by a later version.
    #[error("the tables are of version {found}, and this program knows up to {known}: update it before it writes here")]
    Newer {
        /// The version found.
        found: i64,
        /// The last one known.
        known: i64,
    },
    /// A document that was to be stored has no JSON form, or a stored one cannot be read.
    #[error("a document of `{table}` cannot be read or written")]
    Document {
        /// The table.
        table: &'static str,
        /// What serde says.
        #[source]
        source: serde_json::Error,
    },
    /// A row that does not hold what its table says.
    #[error("a row of `{table}` has no valid `{column}`")]
    Row {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
    },
    /// A secret that was just made is there already: whatever gives random bytes gives the same ones again. Nothing was
    /// stored, and nobody must get that secret.
    #[error("a new secret is in `{table}` already: the random bytes repeat themselves")]
    Repeated {
        /// The table.
        table: &'static str,
    },
    /// Something sealed does not open: the row was changed by somebody else.
    #[error("a sealed value does not open")]
    Sealed,
    /// The operating system gives no random bytes.
    #[error("no random bytes can be had")]
    Entropy(#[source] getrandom::Error),
}

/// What to do about a [`TokenError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Answer "temporarily unavailable"; the caller may try again.
    Retry,
    /// Mend the options, the rights or the schema; `migrate` may be missing.
    Configure,
    /// Look at the stored data.
    Inspect,
}

impl TokenError {
    /// What to do about it.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Database { source, .. } | Self::Connect { source, .. } => match source.kind() {
                ErrorKind::Unfit | ErrorKind::Denied => Remedy::Configure,
                ErrorKind::Item => Remedy::Inspect,
                _ => Remedy::Retry,
            },
            Self::Options { .. } | Self::Newer { .. } | Self::Repeated { .. } => Remedy::Configure,
            Self::Document { .. } | Self::Row { .. } | Self::Sealed => Remedy::Inspect,
            Self::Entropy(_) => Remedy::Retry,
        }
    }

    pub(crate) fn options(message: impl Into<String>) -> Self {
        Self::Options { message: message.into() }
    }

    /// Whether the database undid the work for the sake of another's.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Database { source, .. } | Self::Connect { source, .. } if source.is_passing())
    }
}
