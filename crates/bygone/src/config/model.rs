//! The configuration as the rest of the program sees it: plain values, all
//! defaults filled in, with the places they came from for later diagnostics.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::{ScheduleError, Window};
use bygone_server::http::{Address, Tokens};
use bygone_sql::SourceUrl;
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use miette::{NamedSource, SourceSpan};

use super::url::Secret;

/// A configuration that was found good.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// The file's name and text, with passwords masked: what diagnostics quote.
    /// All spans point into it.
    pub(crate) source_text: Arc<NamedSource<String>>,
    /// The sources by name.
    pub(crate) sources: BTreeMap<String, Source>,
    /// The policies in the order of the file, then those of packs: at least
    /// one, each with a name of its own and a source of `sources`.
    pub(crate) policies: Vec<Policy>,
    /// The names of policies that take part in nothing.
    pub(crate) disabled: Vec<String>,
    /// How far a source's clock may differ from this machine's.
    pub(crate) skew_max: SignedDuration,
    /// How the daemon is reached.
    pub(crate) serve: Serve,
}

/// How the daemon is reached, and by whom.
#[derive(Debug, Clone, Default)]
pub(crate) struct Serve {
    /// Where it listens: each place is safe with the certificate and the tokens.
    pub(crate) listen: Vec<Address>,
    /// The names by which it is called.
    pub(crate) hosts: Vec<String>,
    /// What it shows to those who call it.
    pub(crate) certificate: Option<Certificate>,
    /// Who may do what.
    pub(crate) tokens: Tokens,
}

/// Where a certificate and its key are.
#[derive(Debug, Clone)]
pub(crate) struct Certificate {
    /// The certificate and those above it, as PEM.
    pub(crate) certificate: PathBuf,
    /// Its key, as PEM.
    pub(crate) key: PathBuf,
}

/// Where items live.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// The name by which policies call it.
    pub(crate) name: String,
    /// Where it is. The scheme is one of `postgres`, `postgresql`, `mysql`,
    /// `mariadb`, `s3`, `az`, `gs`, each followed by `://`, or `sqlite` or
    /// `file`, followed by `:`.
    pub(crate) url: Secret,
    /// What is behind the URL.
    pub(crate) place: Place,
    /// The schema that holds the tables.
    pub(crate) schema: Option<String>,
    /// What the names of its tables begin with, left out by policies.
    pub(crate) table_prefix: Option<String>,
    /// The longest that one statement may take: from 1 ms to 24 days.
    pub(crate) statement_timeout: Option<SignedDuration>,
    /// The longest that one statement may wait for a lock: from 1 ms to 24 days.
    pub(crate) lock_timeout: Option<SignedDuration>,
    /// What must be quiet for anything of it to be swept.
    pub(crate) gates: Gates,
    /// Where its URL stands.
    pub(crate) url_span: SourceSpan,
}

/// What must be quiet for anything of a source to be swept. All but the first
/// are said only where the source is a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gates {
    /// While this file exists, nothing is swept: a path from the root on.
    pub(crate) hold_file: Option<PathBuf>,
    /// The most sessions of others that may be at work.
    pub(crate) active_sessions: Option<u64>,
    /// The most transactions of others in a second.
    pub(crate) transactions_per_second: Option<u64>,
    /// The farthest that replicas may be behind: at least 1 ms.
    pub(crate) replica_lag: Option<SignedDuration>,
    /// The replicas to ask, of the same kind as the source.
    pub(crate) replicas: Vec<SourceUrl>,
}

/// What kind of place a source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A database.
    Database,
    /// A directory.
    Directory,
    /// A bucket.
    Bucket,
}

/// Which items of a source are past their time, and what becomes of them.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    /// Its name: no other policy has it.
    pub(crate) name: String,
    /// The name of its source, which is one that holds such items.
    pub(crate) source: String,
    /// What it sweeps.
    pub(crate) subject: Subject,
    /// The names of other policies that run before this one: none twice, and
    /// in the whole file no circle.
    pub(crate) after: Vec<String>,
    /// The bounds of a run.
    pub(crate) budget: Budget,
    /// When to refuse a run.
    pub(crate) brake: Brake,
    /// When the daemon runs it, if said.
    pub(crate) schedule: Option<Schedule>,
    /// How far each run is put off, at most: shorter than the time between two.
    pub(crate) jitter: SignedDuration,
    /// Within which hours the daemon runs it; without any, at all times.
    pub(crate) windows: Vec<Window>,
    /// Where all this stands.
    pub(crate) spans: PolicySpans,
}

impl Policy {
    /// What it says of rows, if it sweeps rows.
    pub(crate) fn rows(&self) -> Option<&Rows> {
        match &self.subject {
            Subject::Rows(rows) => Some(rows),
            _ => None,
        }
    }

    /// How long an item stays after its deadline; `None` where age alone
    /// lets nothing go.
    pub(crate) fn keep(&self) -> Option<SignedDuration> {
        match &self.subject {
            Subject::Rows(rows) => Some(rows.keep),
            Subject::Tree(tree) => tree.keep,
            Subject::Prefix(prefix) => Some(prefix.keep),
            Subject::Stage(stage) => Some(stage.keep),
            // It is part of the deadlines that the store tells.
            Subject::Leases(_) => Some(SignedDuration::ZERO),
        }
    }
}

/// The items that a policy sweeps.
#[derive(Debug, Clone)]
pub(crate) enum Subject {
    /// Rows of a table.
    Rows(Box<Rows>),
    /// Files of a directory tree.
    Tree(Tree),
    /// Objects of a bucket.
    Prefix(Prefix),
    /// Files of a staging area.
    Stage(Stage),
    /// Leases, transactions and their decisions in a lease store.
    Leases(Leases),
}

/// Which rows of a table are past their time, and what becomes of them.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    /// The table, without the source's prefix.
    pub(crate) table: String,
    /// Where a row's deadline stands. There is a deadline or `newest`; with
    /// both, both must let a row go.
    pub(crate) deadline: Option<Deadline>,
    /// How long a row stays after its deadline: never negative, at most 1000
    /// years; zero where there is no deadline.
    pub(crate) keep: SignedDuration,
    /// How many rows stay whatever their age.
    pub(crate) newest: Option<Newest>,
    /// A condition in SQL that stays within parentheses put around it.
    pub(crate) where_: Option<String>,
    /// A row stays where one of these holds.
    pub(crate) unless: Vec<Condition>,
    /// A row goes only where all of these hold.
    pub(crate) only_if: Vec<Condition>,
    /// A row stays while one of these points at it: none twice.
    pub(crate) unless_referenced_by: Vec<ColumnRef>,
    /// The rows of other tables that go along with a row: none twice. Empty
    /// where the action removes nothing.
    pub(crate) with: Vec<Chain>,
    /// What becomes of a row.
    pub(crate) action: Action,
    /// The columns that tell rows apart, if said: at least one, none twice.
    pub(crate) key: Option<Vec<String>>,
    /// The IANA name of the zone of timestamps that carry none, if said.
    pub(crate) zone: Option<String>,
}

/// Which files of a directory tree are past their time.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    /// The directory below the source's, if not all of it.
    pub(crate) path: Option<String>,
    /// Where a file's deadline stands.
    pub(crate) deadline: FileDeadline,
    /// How long a file stays after its deadline. Without it, at least one of
    /// the limits is there.
    pub(crate) keep: Option<SignedDuration>,
    /// Which paths are meant, as globs; without any, all.
    pub(crate) include: Vec<String>,
    /// Which paths are not meant, as globs.
    pub(crate) exclude: Vec<String>,
    /// How deep an entry must lie to go: 1 is in the directory itself.
    pub(crate) min_depth: u32,
    /// Whether empty directories go, too.
    pub(crate) empty_dirs: bool,
    /// The most bytes that stay: the oldest files go first.
    pub(crate) max_bytes: Option<u64>,
    /// The most files that stay: the oldest go first.
    pub(crate) max_count: Option<u64>,
    /// The least bytes that the file system has free: the oldest files go
    /// first.
    pub(crate) min_free: Option<u64>,
}

/// Where a file's deadline stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileDeadline {
    /// When it was written last.
    Modified,
    /// When it was read last.
    Accessed,
    /// When it, its name or its rights changed last.
    Changed,
    /// When it was made.
    Born,
    /// In its path.
    Key(KeyDate),
}

/// A date within a path or key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyDate {
    /// The pattern.
    pub(crate) pattern: String,
    /// The IANA name of the zone of the dates, if said.
    pub(crate) zone: Option<String>,
}

/// Which objects of a bucket are past their time.
#[derive(Debug, Clone)]
pub(crate) struct Prefix {
    /// What the keys begin with, behind what the source's url says.
    pub(crate) path: Option<String>,
    /// Where an object's deadline stands.
    pub(crate) deadline: ObjectDeadline,
    /// How long an object stays after its deadline.
    pub(crate) keep: SignedDuration,
    /// Which keys are meant, as globs; without any, all.
    pub(crate) include: Vec<String>,
    /// Which keys are not meant, as globs.
    pub(crate) exclude: Vec<String>,
}

/// Where an object's deadline stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ObjectDeadline {
    /// When it was written last.
    Modified,
    /// In its key.
    Key(KeyDate),
}

/// Which files of a staging area are past their time: the area knows.
#[derive(Debug, Clone)]
pub(crate) struct Stage {
    /// How long a file stays after its deadline.
    pub(crate) keep: SignedDuration,
}

/// What of a lease store is past its time: the store knows.
#[derive(Debug, Clone)]
pub(crate) struct Leases {
    /// How long the record of a key stays after nothing is left in it: at
    /// least an hour.
    pub(crate) keep: SignedDuration,
}

/// Where the parts of a policy stand in the file.
#[derive(Debug, Clone)]
pub(crate) struct PolicySpans {
    /// The value of `name`.
    pub(crate) name: SourceSpan,
    /// The value of `source`.
    pub(crate) source: SourceSpan,
    /// The values of the other keys that are there; where one is a table of
    /// its own, the header of the first.
    pub(crate) keys: BTreeMap<&'static str, SourceSpan>,
}

/// Where a row's deadline stands: the latest of what these columns hold.
///
/// A row none of whose columns says anything readable has no deadline and is
/// kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Deadline {
    /// The columns, at least one, none twice.
    pub(crate) columns: Vec<DeadlineColumn>,
    /// What a NULL in one of several columns means.
    pub(crate) nulls: Nulls,
}

/// A column that holds a deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeadlineColumn {
    /// The column's name.
    pub(crate) column: String,
    /// How it holds the instant.
    pub(crate) format: Format,
    /// Where the name stands in the file.
    pub(crate) span: SourceSpan,
}

/// How a column holds an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// As the database's own timestamps and dates, or as text in SQLite.
    Native,
    /// As a number of seconds since 1970.
    EpochSeconds,
    /// As a number of milliseconds since 1970.
    EpochMillis,
    /// As a number of microseconds since 1970.
    EpochMicros,
    /// In the first 48 bits of a ULID.
    Ulid,
    /// In the first 48 bits of a UUID of version 7.
    Uuid7,
}

/// What a NULL in one of several deadline columns means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// Nothing: the other columns decide.
    Ignore,
    /// That the row has no end: it is kept.
    Keep,
}

/// How many rows stay whatever their age.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Newest {
    /// How many, of each group: at least 1.
    pub(crate) rows: u64,
    /// The columns whose values make the groups, none twice; without any, the
    /// table is one group.
    pub(crate) per: Vec<String>,
    /// The column by which rows are new or old; without it, the key.
    pub(crate) by: Option<String>,
}

/// A condition on the row that a row of the policy points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    /// The column of the policy's table that points at the other row.
    pub(crate) via: String,
    /// The table of the other row, without the source's prefix; where it is
    /// not said, the foreign key of `via` knows.
    pub(crate) table: Option<String>,
    /// The column there that `via` equals, if said.
    pub(crate) to: Option<String>,
    /// Whether only a row counts that is not past the policy's own deadline.
    pub(crate) living: bool,
    /// A condition in SQL that stays within parentheses put around it; without
    /// it, that there is such a row.
    pub(crate) where_: Option<String>,
    /// Where the table with all this stands in the file.
    pub(crate) span: SourceSpan,
}

/// A column of another table that points at rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnRef {
    /// The table, without the source's prefix.
    pub(crate) table: String,
    /// The column of that table.
    pub(crate) column: String,
    /// Where it stands in the file.
    pub(crate) span: SourceSpan,
}

/// Rows of another table that point at a policy's row, maybe by way of others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chain {
    /// The columns in the order written, at least one. The first names the
    /// rows that are meant; each points at the rows of the next, and the last
    /// at the policy's row.
    pub(crate) links: Vec<ColumnRef>,
    /// Where it stands in the file.
    pub(crate) span: SourceSpan,
}

/// What becomes of a row that is past its time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// It is removed.
    Remove,
    /// It stays, with new values.
    Update {
        /// The columns, at least one, none twice.
        columns: Vec<Assignment>,
    },
}

/// A column and its new value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Assignment {
    /// The column's name.
    pub(crate) column: String,
    /// What it becomes.
    pub(crate) value: NewValue,
    /// Where the name stands in the file.
    pub(crate) span: SourceSpan,
}

/// What a column becomes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NewValue {
    /// NULL.
    Null,
    /// The time of the sweep.
    Now,
    /// A text.
    Text(String),
    /// A whole number.
    Int(i64),
    /// A finite number.
    Real(f64),
    /// True or false.
    Bool(bool),
}

/// The bounds of a run. `None` is no bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Budget {
    /// The most items that one page examines: at least 1.
    pub(crate) page: Option<u64>,
    /// The time that a page should take: at least 1 ms.
    pub(crate) page_time: SignedDuration,
    /// The most items of a run: at least 1.
    pub(crate) items: Option<u64>,
    /// The most requests of a run: at least 1.
    pub(crate) requests: Option<u64>,
    /// The longest that a run takes: at least 1 ms.
    pub(crate) run_time: Option<SignedDuration>,
    /// The rest between two pages.
    pub(crate) pause: SignedDuration,
}

/// When a run is refused because it would remove too much.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Brake {
    /// The part of a table that may go: more than 0, at most 1.
    pub(crate) fraction: f64,
    /// `fraction` is asked only of tables with more items than this.
    pub(crate) over_items: u64,
    /// The most items that may go, whatever the fraction.
    pub(crate) max_items: Option<u64>,
}

/// When the daemon runs a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Schedule {
    /// By a pattern of cron that some time matches.
    Cron {
        /// Five fields or six, as written.
        pattern: String,
        /// Where the clock hangs.
        zone: TimeZone,
    },
    /// So long after each other: at least 1 s.
    Every(SignedDuration),
}

impl Schedule {
    /// As the engine keeps it.
    pub(crate) fn timed(&self) -> Result<bygone_core::Schedule, ScheduleError> {
        match self {
            Self::Cron { pattern, zone } => bygone_core::Schedule::cron(pattern, zone.clone()),
            Self::Every(interval) => {
                bygone_core::Schedule::every(Duration::try_from(*interval).unwrap_or(Duration::ZERO))
            }
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cron { pattern, zone } if *zone == TimeZone::UTC => f.write_str(pattern),
            Self::Cron { pattern, zone } => write!(f, "{pattern} {}", zone.iana_name().unwrap_or("UTC")),
            Self::Every(time) => write!(f, "every {time:#}"),
        }
    }
}
