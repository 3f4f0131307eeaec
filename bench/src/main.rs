//! bygone beside its peers, in one run.
//!
//! Absolute figures say more about a machine and its neighbours than about a program. So every bench runs the
//! contenders in turn on equal copies of one dataset and compares them with each other: the ratio is the result, and
//! the bars that the project sets itself are ratios. One module a bench; this file only wires them.

mod account;
mod choice;
mod crowd;
mod disk;
mod docs;
mod engine;
mod failure;
mod files;
mod growth;
mod harm;
mod leases;
mod machine;
mod mas;
mod noise;
mod output;
mod own_program;
mod planted;
mod plot;
mod queue;
mod report;
mod rows;
mod serve;
mod server;
mod sim;
mod soak;
mod statistics;
mod stopwatch;
mod tokens;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

/// Runs bygone and its peers side by side on data made for it.
#[derive(Debug, Parser)]
#[command(name = "bench")]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    bench: Bench,
}

/// What every bench understands.
#[derive(Clone, Debug, Args)]
struct Common {
    /// Small data, one run: ends within a minute. Shows that it works, not how fast it is.
    #[arg(long, global = true)]
    quick: bool,
    /// One line of JSON per comparison instead of a table.
    #[arg(long, global = true)]
    json: bool,
    /// Keep the comparisons, with date, command and machine, in this file.
    #[arg(long, global = true, value_name = "FILE")]
    keep: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// Expired rows of PostgreSQL, SQLite and MariaDB tables.
    Rows(rows::Options),
    /// An auth server's sessions with what hangs on them, beside that server's own job.
    Mas(mas::Options),
    /// The stores of credentials, beside the bare statements that they are made of.
    Tokens(tokens::Options),
    /// What a sweep does to those who work in the database meanwhile, beside one DELETE and the usual loop.
    Harm(harm::Options),
    /// Time and memory against the backlog, against the rows that live, and against the number of policies.
    Growth(growth::Options),
    /// Directory trees and staging areas, beside what a shell has for them.
    Files(files::Options),
    /// Leases on disk, beside locks in Redis and etcd.
    Leases(leases::Options),
    /// Queues on disk, beside streams of Redis.
    Queue(queue::Options),
    /// What the daemon answers where it looks after a thousand policies; leases over HTTP, beside Redis and etcd.
    Serve(serve::Options),
    /// The simulation of leases: whether every promise is kept, in bad weather.
    Sim(sim::Options),
    /// The daemon beside writers and faults, for an hour: whether every promise is kept, and nothing grows.
    Soak(soak::Options),
    /// Makes the tables and plots of docs/benchmarks.md anew, of the results that are kept beside it.
    Docs,
    /// Bugs, planted one after another: whether the tests that are named beside them notice.
    Planted(planted::Options),
}

#[tokio::main]
async fn main() -> ExitCode {
    let Cli { common, bench } = Cli::parse();
    let done = match bench {
        Bench::Rows(options) => rows::run(&options, common).await,
        Bench::Mas(options) => mas::run(&options, common).await,
        Bench::Tokens(options) => tokens::run(&options, common).await,
        Bench::Harm(options) => harm::run(&options, common).await,
        Bench::Growth(options) => growth::run(&options, common).await,
        Bench::Files(options) => files::run(&options, common).await,
        Bench::Leases(options) => leases::run(&options, common).await,
        Bench::Queue(options) => queue::run(&options, common).await,
        Bench::Serve(options) => serve::run(&options, common).await,
        Bench::Sim(options) => sim::run(&options, common).await,
        Bench::Soak(options) => soak::run(&options, common).await,
        Bench::Docs => docs::run(),
        Bench::Planted(options) => planted::run(&options, common).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::talk(&format!("error: {}", failure::with_causes(&*failure)));
            ExitCode::FAILURE
        }
    }
}
