//! Small rows in tables with nothing but a key and the index of their deadline: what grows should be bygone's work, and not
//! the database's.

use std::fs;
use std::path::PathBuf;

use bygone_testkit::{Database, Postgres, PostgresEngine, Sqlite};
use rusqlite::Connection;
use sqlx::{AssertSqlSafe, PgConnection};
use tempfile::TempDir;

use super::case::{Case, Kind};
use crate::engine::Engine;
use crate::failure::Failure;

/// The data of one size, and the configuration that sweeps it.
pub(super) struct Dataset {
    pub(super) size: u64,
    /// How many rows are due in each of how many tables.
    due: u64,
    live: u64,
    tables: u64,
    /// Whether the living stay from turn to turn, because making them anew would take too long.
    is_kept: bool,
    place: Place,
    configuration: TempDir,
}

enum Place {
    Postgres(Database<PostgresEngine>),
    Sqlite(Sqlite),
}

impl Dataset {
    /// Makes the tables, with the rows that live.
    pub(super) async fn new(case: &Case, size: u64, server: Option<&Postgres>) -> Result<Self, Failure> {
        let (due, all) = case.rows(size);
        let place = match (case.engine, server) {
            (Engine::Postgres, Some(server)) => Place::Postgres(server.fresh_database().await),
            (Engine::Sqlite, _) => Place::Sqlite(Sqlite::fresh()),
            (engine, _) => return Err(format!("nothing grows on {}", engine.as_str()).into()),
        };
        let tables = case.tables(size);
        let configuration = TempDir::with_prefix("bygone-bench-")?;
        let dataset =
            Self { size, due, live: all - due, tables, is_kept: case.kind != Kind::Backlog, place, configuration };
        fs::write(dataset.configuration(), dataset.text())?;
        dataset.make().await?;
        Ok(dataset)
    }

    /// The file that sweeps all of it.
    pub(super) fn configuration(&self) -> PathBuf {
        self.configuration.path().join("bygone.toml")
    }

    /// How many rows a sweep must remove.
    pub(super) fn due(&self) -> u64 {
        self.due * self.tables
    }

    fn text(&self) -> String {
        let url = match &self.place {
            Place::Postgres(database) => database.url(),
            Place::Sqlite(file) => file.url(),
        };
        // Most of what is here is due, by intent.
        let head = format!("[source.here]\nurl = \"{url}\"\n\n[brake]\nfraction = 1.0\n");
        let policy = |table| {
            format!(
                "\n[[policy]]\nname = \"items-{table}\"\nsource = \"here\"\ntable = \"items_{table}\"\n\
                 deadline = \"expires_at\"\nkeep = \"0s\"\n"
            )
        };
        std::iter::once(head).chain((0..self.tables).map(policy)).collect()
    }

    async fn make(&self) -> Result<(), Failure> {
        match &self.place {
            Place::Postgres(database) => {
                let mut connection = database.connect().await;
                for table in 0..self.tables {
                    let columns = "id bigint PRIMARY KEY, expires_at timestamptz NOT NULL, note text NOT NULL";
                    run(&mut connection, format!("CREATE TABLE items_{table} ({columns})")).await?;
                    run(&mut connection, self.postgres_rows(table, self.live, true)).await?;
                    run(&mut connection, format!("CREATE INDEX ON items_{table} (expires_at)")).await?;
                }
            }
            Place::Sqlite(file) => {
                let connection = file.connect();
                connection.pragma_update(None, "journal_mode", "wal")?;
                connection.pragma_update(None, "synchronous", "off")?;
                connection.execute_batch("BEGIN")?;
                for table in 0..self.tables {
                    let columns = "id INTEGER PRIMARY KEY, expires_at TEXT NOT NULL, note TEXT NOT NULL";
                    connection.execute_batch(&format!("CREATE TABLE items_{table} ({columns})"))?;
                    connection.execute_batch(&self.sqlite_rows(table, self.live, true))?;
                    connection
                        .execute_batch(&format!("CREATE INDEX deadline_{table} ON items_{table} (expires_at)"))?;
                }
                connection.execute_batch("COMMIT")?;
                settle(&connection)?;
            }
        }
        Ok(())
    }

    /// Puts in what a sweep will find due, and lets the database come to rest.
    pub(super) async fn fill(&self) -> Result<(), Failure> {
        match &self.place {
            Place::Postgres(database) => {
                let mut connection = database.connect().await;
                for table in 0..self.tables {
                    if !self.is_kept {
                        run(&mut connection, format!("TRUNCATE items_{table}")).await?;
                        run(&mut connection, self.postgres_rows(table, self.live, true)).await?;
                    }
                    run(&mut connection, self.postgres_rows(table, self.due, false)).await?;
                }
                run(&mut connection, "VACUUM ANALYZE".to_owned()).await?;
                run(&mut connection, "CHECKPOINT".to_owned()).await?;
            }
            Place::Sqlite(file) => {
                let connection = file.connect();
                connection.pragma_update(None, "synchronous", "off")?;
                connection.execute_batch("BEGIN")?;
                for table in 0..self.tables {
                    connection.execute_batch(&self.sqlite_rows(table, self.due, false))?;
                }
                connection.execute_batch("COMMIT")?;
                settle(&connection)?;
            }
        }
        Ok(())
    }

    /// Counts what is left, and what of it should be gone.
    pub(super) async fn prove(&self) -> Result<(), Failure> {
        let text =
            |table, now| format!("SELECT count(*), count(*) FILTER (WHERE expires_at < {now}) FROM items_{table}");
        let mut counts: Vec<(i64, i64)> = Vec::new();
        match &self.place {
            Place::Postgres(database) => {
                let mut connection = database.connect().await;
                for table in 0..self.tables {
                    let text = AssertSqlSafe(text(table, "now()"));
                    counts.push(sqlx::query_as(text).fetch_one(&mut connection).await?);
                }
            }
            Place::Sqlite(file) => {
                let connection = file.connect();
                for table in 0..self.tables {
                    let count = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
                    counts.push(connection.query_row(&text(table, "datetime('now')"), [], count)?);
                }
            }
        }
        let (rows, due) = counts.into_iter().fold((0, 0), |all, here| (all.0 + here.0, all.1 + here.1));
        if (u64::try_from(rows)?, due) == (self.live * self.tables, 0) {
            return Ok(());
        }
        Err(format!("{rows} rows are left, {due} of them due, where {} live", self.live * self.tables).into())
    }

    /// The due have keys behind the living, whose time is far off: of text, which may be in any zone, what comes within two days
    /// has to be looked at.
    fn postgres_rows(&self, table: u64, count: u64, is_live: bool) -> String {
        let (first, expires) = if is_live {
            (1, "now() + interval '30 days' + n * interval '1 millisecond'")
        } else {
            (self.live + 1, "now() - interval '1 day' + (n % 80000) * interval '1 second'")
        };
        let last = first + count - 1;
        format!(
            "INSERT INTO items_{table} SELECT n, {expires}, 'note ' || n FROM generate_series({first}, {last}) AS n"
        )
    }

    fn sqlite_rows(&self, table: u64, count: u64, is_live: bool) -> String {
        let (first, expires) = if is_live {
            (1, "datetime('now', '+30 days', (n / 1000) || ' seconds')")
        } else {
            (self.live + 1, "datetime('now', '-1 day', (n % 80000) || ' seconds')")
        };
        let last = first + count - 1;
        format!(
            "WITH RECURSIVE numbers (n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM numbers WHERE n < {last})
             INSERT INTO items_{table} SELECT n, {expires}, 'note ' || n FROM numbers"
        )
    }
}

async fn run(connection: &mut PgConnection, text: String) -> Result<(), Failure> {
    sqlx::raw_sql(AssertSqlSafe(text)).execute(connection).await?;
    Ok(())
}

/// Everything into the file, and the file onto the disk: who comes next would wait for it.
fn settle(connection: &Connection) -> Result<(), Failure> {
    connection.execute_batch("ANALYZE")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}
