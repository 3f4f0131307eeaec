//! What a database answered, sorted by what the engine should do about it.

use bygone_core::{ErrorKind, TargetError};

/// An error of a statement or a connection.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct SqlError {
    kind: ErrorKind,
    message: String,
}

impl SqlError {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// What somebody has to correct.
    pub(crate) fn unfit(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unfit, message)
    }

    /// What the engine does about it.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether the database undid the statement, and its transaction, for a reason that may be gone the next time.
    pub fn is_passing(&self) -> bool {
        self.kind == ErrorKind::Transient
    }
}

impl From<SqlError> for TargetError {
    fn from(error: SqlError) -> Self {
        let help = match error.kind {
            ErrorKind::Denied => Some(
                "grant the role what it needs: SELECT and DELETE on the table, and in PostgreSQL UPDATE on a column of \
                 its key, without which it may not lock a row",
            ),
            ErrorKind::Unreachable | ErrorKind::Lost => Some("check the source's url, and that the server is up"),
            ErrorKind::Busy => Some("somebody else writes to the database: sweep again when they are done"),
            ErrorKind::Unfit => Some("compare the policy's `where` and columns with the table"),
            _ => None,
        };
        let target = Self::new(error.kind, error.message);
        match help {
            Some(help) => target.with_help(help),
            None => target,
        }
    }
}

/// Sorts a PostgreSQL SQLSTATE.
pub(crate) fn postgres_kind(code: &str) -> ErrorKind {
    match code {
        "40001" | "40P01" | "53300" => ErrorKind::Transient,
        "55P03" => ErrorKind::Contended,
        "57014" => ErrorKind::TooSlow,
        "42501" | "25006" => ErrorKind::Denied,
        "57P01" | "57P02" | "57P03" => ErrorKind::Lost,
        // Integrity violations and exceptions raised by triggers: an item is in the way.
        _ if code.starts_with("23") || code.starts_with("P0") || code.starts_with("22") => ErrorKind::Item,
        _ if code.starts_with("28") || code == "3D000" => ErrorKind::Unreachable,
        _ if code.starts_with("08") => ErrorKind::Lost,
        _ if code.starts_with("42") => ErrorKind::Unfit,
        _ => ErrorKind::Failed,
    }
}

/// Sorts a MySQL or MariaDB error number.
pub(crate) fn mysql_kind(number: u16) -> ErrorKind {
    match number {
        // deadlock; a commit of what a deadlock has already undone; too many connections
        1213 | 1180 | 1040 => ErrorKind::Transient,
        // lock wait timeout; NOWAIT
        1205 | 3572 => ErrorKind::Contended,
        // query interrupted; max_statement_time; max_execution_time
        1317 | 1969 | 3024 => ErrorKind::TooSlow,
        // referenced row; a key that is there already; a trigger's SIGNAL; data that does not convert; check constraint
        1451 | 1217 | 1062 | 1644 | 1292 | 3819 | 4025 => ErrorKind::Item,
        // denied: statement, table, column, SUPER, read-only server, read-only transaction
        1142 | 1143 | 1227 | 1290 | 1792 | 1836 => ErrorKind::Denied,
        // denied: login, database; unknown database
        1045 | 1044 | 1049 | 1698 => ErrorKind::Unreachable,
        // server shutdown, gone away
        1053 | 1927 | 2006 | 2013 => ErrorKind::Lost,
        // syntax, unknown column, unknown table, unknown function
        1064 | 1054 | 1146 | 1305 | 1630 => ErrorKind::Unfit,
        _ => ErrorKind::Failed,
    }
}

/// Sorts an SQLite error.
pub(crate) fn sqlite_kind(error: &rusqlite::Error) -> ErrorKind {
    use rusqlite::ErrorCode;
    match error {
        rusqlite::Error::SqliteFailure(code, message) => match code.code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => ErrorKind::Busy,
            ErrorCode::OperationInterrupted => ErrorKind::TooSlow,
            ErrorCode::ConstraintViolation => ErrorKind::Item,
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied => {
                ErrorKind::Denied
            }
            ErrorCode::CannotOpen | ErrorCode::NotADatabase => ErrorKind::Unreachable,
            // "no such column", a syntax error: SQLite has no code of its own for them.
            _ if code.extended_code == 1 && message.is_some() => ErrorKind::Unfit,
            _ => ErrorKind::Failed,
        },
        rusqlite::Error::SqlInputError { .. } => ErrorKind::Unfit,
        _ => ErrorKind::Failed,
    }
}
