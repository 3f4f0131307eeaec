//! What the lease store's file says, read as SQLite and JSON alone.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use tokio::task::block_in_place;

use crate::failure::Failure;

/// The names that `name` gives to objects of a kind: `meta` for keys, `q` for messages.
pub(super) fn names(
    file: &Path,
    kind: &str,
    name: impl Fn(&Value) -> Option<String>,
) -> Result<BTreeSet<String>, Failure> {
    block_in_place(|| {
        let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.busy_timeout(Duration::from_secs(30))?;
        let mut statement = connection.prepare("SELECT body FROM item WHERE key LIKE '%/' || ?1 || '/%'")?;
        let mut names = BTreeSet::new();
        for body in statement.query_map([kind], |row| row.get::<_, Vec<u8>>(0))? {
            names.extend(name(&serde_json::from_slice(&body?)?));
        }
        Ok(names)
    })
}
