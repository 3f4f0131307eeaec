//! The demo's database: shaped like an auth server's, with rows on every side of every boundary.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, params};

use super::EVERY;

/// A table of the demo: its policy, and how it writes a deadline.
pub(super) struct DemoTable {
    pub(super) name: &'static str,
    /// The column that carries the deadline.
    pub(super) column: &'static str,
    /// How long rows stay after it.
    pub(super) keep: SignedDuration,
    /// The deadline, as `bygone.toml` says it.
    deadline: &'static str,
    keep_text: &'static str,
    /// Rows of this table in a hundred.
    share: u32,
    pub(super) write: fn(Timestamp, u32) -> rusqlite::types::Value,
    /// Whether some rows have no deadline.
    nullable: bool,
}

pub(super) const TABLES: [DemoTable; 4] = [
    DemoTable {
        name: "access_tokens",
        column: "expires_at",
        keep: SignedDuration::from_hours(1),
        deadline: "\"expires_at\"",
        keep_text: "1h",
        share: 50,
        write: text,
        nullable: false,
    },
    DemoTable {
        name: "authorization_codes",
        column: "expires_at",
        keep: SignedDuration::from_mins(10),
        deadline: "{ epoch_s = \"expires_at\" }",
        keep_text: "10m",
        share: 20,
        write: seconds,
        nullable: false,
    },
    DemoTable {
        name: "sessions",
        column: "finished_at",
        keep: SignedDuration::from_hours(24 * 30),
        deadline: "\"finished_at\"",
        keep_text: "30d",
        share: 20,
        write: text,
        nullable: true,
    },
    DemoTable {
        name: "dpop_replays",
        column: "jti",
        keep: SignedDuration::from_mins(1),
        deadline: "{ ulid = \"jti\" }",
        keep_text: "1m",
        share: 10,
        write: ulid,
        nullable: false,
    },
];

/// Rows of each table that end exactly on the boundary.
const ON_THE_BOUNDARY: u32 = 5;
/// Rows made by each beat of the living demo.
const ISSUED: u32 = 400;

/// The database.
pub(super) struct AuthServer {
    path: PathBuf,
}

impl AuthServer {
    /// Makes the database with about `rows` rows around `boundary`.
    pub(super) fn create(directory: &Path, boundary: Timestamp, rows: u32) -> rusqlite::Result<Self> {
        let server = Self { path: directory.join("auth.db") };
        let mut connection = server.connect()?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        for table in &TABLES {
            connection.execute_batch(&table.ddl())?;
            let transaction = connection.transaction()?;
            for n in 0..rows * table.share / 100 {
                table.insert(&transaction, table.deadline_of(n, boundary), n)?;
            }
            transaction.commit()?;
        }
        connection.execute_batch("ANALYZE")?;
        Ok(server)
    }

    /// New access tokens whose time is up in a moment.
    pub(super) fn issue(&self, now: Timestamp) -> rusqlite::Result<()> {
        let mut connection = self.connect()?;
        let transaction = connection.transaction()?;
        let table = &TABLES[0];
        let first: u32 =
            transaction.query_row("SELECT coalesce(max(id), 0) + 1 FROM access_tokens", [], |row| row.get(0))?;
        for n in 0..ISSUED {
            let soon = SignedDuration::from_millis(i64::from(n) * 10);
            table.insert(&transaction, now.checked_sub(table.keep - soon).ok(), first + n)?;
        }
        transaction.commit()
    }

    pub(super) fn connect(&self) -> rusqlite::Result<Connection> {
        let connection = Connection::open(&self.path)?;
        // A page of a sweep may be in the way for a moment.
        connection.busy_timeout(Duration::from_secs(5))?;
        Ok(connection)
    }

    /// The demo's `bygone.toml`.
    pub(super) fn config_text(&self) -> String {
        let source = format!("[source.auth]\nurl = \"sqlite:{}\"\n", self.path.display());
        let policies = TABLES.iter().map(|table| {
            let DemoTable { name, deadline, keep_text, .. } = table;
            let policy = name.replace('_', "-");
            format!(
                "\n[[policy]]\nname     = \"expired-{policy}\"\nsource   = \"auth\"\ntable    = \"{name}\"\n\
                 deadline = {deadline}\nkeep     = \"{keep_text}\"\n{EVERY}"
            )
        });
        std::iter::once(source).chain(policies).collect()
    }
}

impl DemoTable {
    fn ddl(&self) -> String {
        let (name, column) = (self.name, self.column);
        let rest = if column == "jti" { "" } else { "token TEXT NOT NULL UNIQUE, subject TEXT NOT NULL," };
        format!(
            "CREATE TABLE {name} (id INTEGER PRIMARY KEY, {rest} {column}); CREATE INDEX {name}_{column} ON {name} ({column});"
        )
    }

    fn insert(&self, connection: &Connection, deadline: Option<Timestamp>, n: u32) -> rusqlite::Result<()> {
        let value = deadline.map_or(rusqlite::types::Value::Null, |deadline| (self.write)(deadline, n));
        if self.column == "jti" {
            connection.prepare_cached("INSERT INTO dpop_replays (jti) VALUES (?)")?.execute([value])?;
        } else {
            let sql = format!("INSERT INTO {} (token, subject, {}) VALUES (?, ?, ?)", self.name, self.column);
            let token = format!("{:032x}", u128::from(n).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835));
            connection.prepare_cached(&sql)?.execute(params![token, format!("user-{}", n % 997), value])?;
        }
        Ok(())
    }

    /// Of every hundred rows forty are bygone, ten are past their deadline but kept, and the rest lives or has no
    /// deadline. The first few end exactly on the boundary.
    fn deadline_of(&self, n: u32, boundary: Timestamp) -> Option<Timestamp> {
        let cutoff = boundary - self.keep;
        let spread = i64::from(n / 100);
        let step = |part: i64| SignedDuration::from_secs(1 + (spread * 7 + i64::from(n % 100)) % part);
        match n % 100 {
            _ if n < ON_THE_BOUNDARY => Some(cutoff),
            0..40 => Some(cutoff - step(60 * 86_400)),
            40..50 => Some(cutoff + step(self.keep.as_secs() - 1)),
            50..80 if self.nullable => None,
            _ => Some(boundary + step(7 * 86_400)),
        }
    }
}

fn text(at: Timestamp, _: u32) -> rusqlite::types::Value {
    at.strftime("%Y-%m-%d %H:%M:%S").to_string().into()
}

fn seconds(at: Timestamp, _: u32) -> rusqlite::types::Value {
    at.as_second().into()
}

/// A ULID of that millisecond.
fn ulid(at: Timestamp, n: u32) -> rusqlite::types::Value {
    const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let millis = u128::try_from(at.as_millisecond()).unwrap_or(0);
    let number = (millis << 80) | u128::from(n);
    let digit = |place: u32| char::from(ALPHABET[usize::try_from((number >> (5 * place)) & 31).unwrap_or(0)]);
    (0..26).rev().map(digit).collect::<String>().into()
}
