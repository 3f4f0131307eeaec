//! SQLite: no server, only a file of a test's own.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{KitError, must};

/// A new SQLite database file, in a directory that goes away with this value.
#[derive(Debug)]
pub struct Sqlite {
    directory: TempDir,
}

impl Sqlite {
    /// A place for a database; the first connection makes the file.
    ///
    /// # Panics
    /// If the temporary directory cannot be written.
    pub fn fresh() -> Self {
        Self::fresh_in(&std::env::temp_dir())
    }

    /// The same where the disk is memory, if the system has such a place: for tests that write so much that waiting for a
    /// disk would be most of their time, and to which durability means nothing.
    ///
    /// # Panics
    /// If the directory cannot be written.
    pub fn fresh_in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { Self::fresh_in(memory) } else { Self::fresh() }
    }

    fn fresh_in(root: &Path) -> Self {
        let made = tempfile::Builder::new()
            .prefix("bygone-sqlite-")
            .tempdir_in(root)
            .map_err(KitError::file("make a directory in", root));
        Self { directory: must(made) }
    }

    /// The database file.
    pub fn path(&self) -> PathBuf {
        self.directory().join("test.db")
    }

    /// The directory that holds the file and nothing else.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The URL, `sqlite:/…`.
    pub fn url(&self) -> String {
        format!("sqlite:{}", self.path().display())
    }

    /// Opens the database, making it if need be.
    ///
    /// # Panics
    /// If SQLite refuses.
    pub fn connect(&self) -> rusqlite::Connection {
        let path = self.path();
        must(rusqlite::Connection::open(&path).map_err(|source| KitError::Sqlite { path, source }))
    }
}
