//! bygone beside its peers, in one run.
//!
//! Absolute figures say more about a machine and its neighbours than about a program. So every bench runs the
//! contenders in turn on equal copies of one dataset and compares them with each other: the ratio is the result, and
//! the bars that the project sets itself are ratios. One module a bench; this file only wires them.

mod choice;
mod crowd;
mod disk;
mod engine;
mod failure;
mod files;
mod leases;
mod machine;
mod noise;
mod output;
mod planted;
mod queue;
mod report;
mod rows;
mod serve;
mod server;
mod sim;
mod statistics;
mod stopwatch;
mod tokens;
mod watch;

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
#[derive(Clone, Copy, Debug, Args)]
struct Common {
    /// Small data, one run: ends within a minute. Shows that it works, not how fast it is.
    #[arg(long, global = true)]
    quick: bool,
    /// One line of JSON per comparison instead of a table.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// Expired rows of PostgreSQL, SQLite and MariaDB tables.
    Rows(rows::Options),
    /// The stores of credentials, beside the bare statements that they are made of.
    Tokens(tokens::Options),
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
    /// Bugs, planted one after another: whether the tests that are named beside them notice.
    Planted(planted::Options),
}

#[tokio::main]
async fn main() -> ExitCode {
    let Cli { common, bench } = Cli::parse();
    let done = match bench {
        Bench::Rows(options) => rows::run(&options, common).await,
        Bench::Tokens(options) => tokens::run(&options, common).await,
        Bench::Files(options) => files::run(&options, common).await,
        Bench::Leases(options) => leases::run(&options, common).await,
        Bench::Queue(options) => queue::run(&options, common).await,
        Bench::Serve(options) => serve::run(&options, common).await,
        Bench::Sim(options) => sim::run(&options, common).await,
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
