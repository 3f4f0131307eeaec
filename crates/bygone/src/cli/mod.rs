//! The command line: verbs, flags, help.

pub(crate) mod attachment;
pub(crate) mod lease;
pub(crate) mod queue;
pub(crate) mod stage;
pub(crate) mod store;
pub(crate) mod txn;

use std::path::PathBuf;

use bygone_server::http::Address;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use self::lease::Lease;
use self::queue::Queue;
use self::stage::Stage;
use self::txn::Txn;
use crate::config;

/// Removes what is past its time: never early, in small bounded steps, and shows what it did.
#[derive(Debug, Parser)]
#[command(name = "bygone", version, max_term_width = 100, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// Flags that every verb takes.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// The configuration file.
    #[arg(long, global = true, value_name = "FILE", env = "BYGONE_CONFIG", default_value = "bygone.toml")]
    pub(crate) config: PathBuf,
    /// How to write what goes to standard output.
    #[arg(long, global = true, value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
    /// Take this instant for now, as in 2026-11-15T12:00:00Z. A sweep accepts only one in the past.
    #[arg(long, global = true, value_name = "TIME")]
    pub(crate) now: Option<Timestamp>,
}

/// How to write results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables for people.
    Table,
    /// One JSON document.
    Json,
    /// One JSON document a line, one line a policy.
    Jsonl,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Show it all at work on a throw-away database, directories and lease store.
    Demo(Demo),
    /// Read a live schema, directory or bucket and write a configuration that proposes policies for it.
    Init(Init),
    /// Hold the configuration against the live sources; remove nothing.
    Check,
    /// Show what a sweep would do; write nothing.
    Plan(Plan),
    /// Sweep now, once.
    Sweep(Sweep),
    /// Run as a daemon: sweep each policy by its `schedule` or `every`, and keep the history.
    ///
    /// SIGHUP, or a change of the file, has the configuration read anew; one that is wrong is told, and the old one stays.
    Serve(Serve),
    /// Show how each policy stands: what is bygone and not yet swept, for how long, its last run and its next.
    ///
    /// The sources are asked now, and nothing is written; last runs are those of the daemon's history.
    Status(Status),
    /// List the daemon's past sweeps, the newest first.
    History(History),
    /// Print the SQL that hides from readers what is bygone and not yet swept, or run it.
    ///
    /// Each table gets a view TABLE_living with the conditions of all its policies, by the database's own clock.
    Guard(Guard),
    /// Print the least rights that a role needs to sweep, as SQL.
    Grants(Grants),
    /// Print the indexes that the policies lack, or make them.
    Index(Index),
    /// List the packs: ready policies for known schemas.
    Packs(Packs),
    /// Print the JSON Schema of the configuration file.
    Schema,
    /// Leases of keys, and the state that they guard: over a directory or a bucket, from the shell.
    Lease(Lease),
    /// Queues of messages, in the same stores.
    Queue(Queue),
    /// Transactions: several keys of a store change together, or none does.
    Txn(Txn),
    /// Files with a lifetime: stage them, and get paths that are good until their deadline.
    Stage(Stage),
    /// What belongs to the stores of the bygone-tokens library.
    Tokens(Tokens),
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page.
    Man,
}

/// Flags of `demo`.
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// End after one sweep; otherwise new rows keep expiring until Ctrl-C. Without a terminal it always ends.
    #[arg(long)]
    pub(crate) once: bool,
    /// How many rows to make.
    #[arg(long, value_name = "N", default_value_t = 60_000, value_parser = clap::value_parser!(u32).range(100..=5_000_000))]
    pub(crate) rows: u32,
    /// Work in this directory, which must not exist yet, and leave it there.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// Flags of `serve`.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Where the history is kept. Default: what systemd names for the service, or ~/.local/state/bygone.
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Where to answer, instead of `listen` of the file: 127.0.0.1:8085 or unix:/run/bygone/api.sock.
    #[arg(long, value_name = "ADDRESS", env = "BYGONE_LISTEN")]
    pub(crate) listen: Vec<Address>,
    /// How to write the log. What it has in it, BYGONE_LOG says: info, debug, bygone_server=debug.
    #[arg(long, value_enum, default_value_t = LogFormat::Text, env = "BYGONE_LOG_FORMAT")]
    pub(crate) log_format: LogFormat,
}

/// How to write the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON document a line.
    Json,
}

/// Flags of `status`.
#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Only these policies.
    #[arg(value_name = "POLICY")]
    pub(crate) policies: Vec<String>,
    /// Where the daemon keeps its history, as for `serve`.
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Ask this daemon instead: http://HOST:PORT, https://HOST:PORT or unix:/SOCKET. Its token stands in BYGONE_TOKEN.
    #[arg(long, value_name = "URL", env = "BYGONE_DAEMON", conflicts_with = "state")]
    pub(crate) daemon: Option<String>,
}

/// Flags of `history`.
#[derive(Debug, Args)]
pub(crate) struct History {
    /// Only sweeps with this policy in them.
    #[arg(value_name = "POLICY")]
    pub(crate) policy: Option<String>,
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
    /// Only those that began before this one.
    #[arg(long, value_name = "SWEEP")]
    pub(crate) before: Option<Uuid>,
    /// The report of this one, as its sweep wrote it.
    #[arg(long, value_name = "SWEEP", conflicts_with_all = ["policy", "before", "limit"])]
    pub(crate) sweep: Option<Uuid>,
    /// Where the daemon keeps its history, as for `serve`.
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Ask this daemon instead: http://HOST:PORT, https://HOST:PORT or unix:/SOCKET. Its token stands in BYGONE_TOKEN.
    #[arg(long, value_name = "URL", env = "BYGONE_DAEMON", conflicts_with = "state")]
    pub(crate) daemon: Option<String>,
}

/// Flags of `init`.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The database: postgres://…, mysql://… or sqlite:FILE; a directory: file:DIR; a bucket: s3://…, az://… or gs://….
    pub(crate) url: String,
    /// The schema that holds the tables.
    #[arg(long, value_name = "NAME")]
    pub(crate) schema: Option<String>,
    /// Print it instead of writing the configuration file.
    #[arg(long)]
    pub(crate) print: bool,
}

/// Flags of `index`.
#[derive(Debug, Args)]
pub(crate) struct Index {
    /// Only for these policies.
    #[arg(value_name = "POLICY")]
    pub(crate) policies: Vec<String>,
    /// Make them, without holding writers up where the database can.
    #[arg(long)]
    pub(crate) apply: bool,
}

/// Flags of `packs`.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Packs {
    #[command(subcommand)]
    pub(crate) verb: Option<PacksVerb>,
}

/// What to do with packs, if not to list them.
#[derive(Debug, Subcommand)]
pub(crate) enum PacksVerb {
    /// Print the policies of a pack.
    Show {
        /// The pack.
        name: String,
    },
}

/// Flags of `tokens`.
#[derive(Debug, Args)]
#[command(disable_help_subcommand = true)]
pub(crate) struct Tokens {
    #[command(subcommand)]
    pub(crate) verb: TokensVerb,
}

/// What to do for the stores of bygone-tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokensVerb {
    /// Print the statements that make the tables, for those who let no program do so.
    Ddl {
        /// The database.
        engine: DatabaseEngine,
        /// The schema of the tables (PostgreSQL), or their database (MySQL, MariaDB).
        #[arg(long, value_name = "NAME")]
        schema: Option<String>,
        /// What every table's name begins with.
        #[arg(long, value_name = "PREFIX")]
        table_prefix: Option<String>,
    },
}

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DatabaseEngine {
    /// PostgreSQL.
    #[value(alias = "postgresql")]
    Postgres,
    /// MySQL and MariaDB.
    #[value(alias = "mariadb")]
    Mysql,
    /// SQLite.
    Sqlite,
}

/// Flags of `plan`.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Only these policies.
    #[arg(value_name = "POLICY")]
    pub(crate) policies: Vec<String>,
    /// Save the plan, for `sweep --plan`.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Exit with 2 when there is something to remove.
    #[arg(long)]
    pub(crate) detailed_exitcode: bool,
}

/// Flags of `sweep`.
#[derive(Debug, Args)]
pub(crate) struct Sweep {
    /// Only these policies.
    #[arg(value_name = "POLICY")]
    pub(crate) policies: Vec<String>,
    /// The same as `plan`: write nothing.
    #[arg(long, conflicts_with_all = ["release_brake", "plan"])]
    pub(crate) dry_run: bool,
    /// Sweep this policy whatever its brake says; may be given several times.
    #[arg(long, value_name = "POLICY")]
    pub(crate) release_brake: Vec<String>,
    /// Sweep what this saved plan counted, and no more.
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
}

/// Flags of `guard`.
#[derive(Debug, Args)]
pub(crate) struct Guard {
    /// Only the tables of these policies.
    #[arg(value_name = "POLICY")]
    pub(crate) policies: Vec<String>,
    /// Run the statements instead of printing them.
    #[arg(long)]
    pub(crate) apply: bool,
    /// Drop the guards instead of making them.
    #[arg(long)]
    pub(crate) drop: bool,
    /// Hide rows in the tables themselves, by PostgreSQL's row-level security, instead of in views.
    #[arg(long)]
    pub(crate) row_security: bool,
}

/// Flags of `grants`.
#[derive(Debug, Args)]
pub(crate) struct Grants {
    /// The role; in MySQL and MariaDB a role, or an account such as name@host.
    #[arg(value_name = "ROLE", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) role: String,
    /// Only these policies.
    #[arg(value_name = "POLICY")]
    pub(crate) policies: Vec<String>,
}

/// A length of time as the configuration takes it.
fn duration(text: &str) -> Result<SignedDuration, String> {
    config::parse_duration(text)
}
