//! The databases that benches run on.

use clap::ValueEnum;

/// A database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// A private server with fsync on.
    Postgres,
    /// A file in WAL mode.
    Sqlite,
    /// A private server, durable at every commit.
    Mariadb,
}

impl Engine {
    /// All of them, in the order in which they run.
    pub(crate) const ALL: [Self; 3] = [Self::Postgres, Self::Sqlite, Self::Mariadb];

    /// The name in reports.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Sqlite => "sqlite",
            Self::Mariadb => "mariadb",
        }
    }
}
