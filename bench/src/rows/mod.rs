//! Expired rows: how fast they go, and how long each step holds its locks.
//!
//! The limit is one big DELETE by the database itself, which nobody wants to run: it holds every row it takes until
//! its end. The peers are what people run instead. Each contender gets an equal copy of one dataset; they take turns,
//! and afterwards exactly the rows that had not expired must be left, or the run counts as failed.

pub(crate) mod case;
mod mariadb;
pub(crate) mod ours;
pub(crate) mod postgres;
mod result;
pub(crate) mod series;
mod sqlite;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use self::case::Case;
use self::result::CaseResult;
use crate::Common;
use crate::account::Account;
use crate::choice::chosen;
use crate::engine::Engine;
use crate::failure::Failure;

/// Runs of each contender; an odd number, so that the median is one of them.
const RUNS: usize = 3;

/// Which databases and cases to run, and how often.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only this database.
    #[arg(long)]
    engine: Option<Engine>,
    /// Only cases of this name: `append`, or `postgres/append`.
    #[arg(long, value_name = "NAME")]
    case: Option<String>,
    /// Runs of each contender, whose median counts [default: 3; with --quick: 1]
    #[arg(long, value_name = "N")]
    runs: Option<usize>,
    /// Leave a peer out that cannot be installed here.
    #[arg(long, value_name = "PEER")]
    skip: Vec<Skip>,
}

/// A peer that may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Skip {
    /// Percona's archiver for MySQL.
    PtArchiver,
}

/// Runs the bench and prints what it found.
pub(crate) async fn run(options: &Options, common: Common) -> Result<(), Failure> {
    let of = |case: &Case| (case.engine, case.name);
    let cases = chosen(case::tokens(common.quick), options.engine, options.case.as_deref(), of)?;
    let pt_archiver = if options.skip.contains(&Skip::PtArchiver) || !needs(&cases, Engine::Mariadb) {
        None
    } else {
        // Looked for now: an hour into the run is too late to hear of it.
        Some(mariadb::find_pt_archiver()?)
    };
    measure(Plan { cases, runs: options.runs, pt_archiver }, common).await
}

/// What is to be run.
pub(crate) struct Plan {
    pub(crate) cases: Vec<Case>,
    /// How often; as often as is usual if nobody says.
    pub(crate) runs: Option<usize>,
    /// Where a peer is that not everybody has.
    pub(crate) pt_archiver: Option<PathBuf>,
}

/// Runs cases and prints what was found.
pub(crate) async fn measure(plan: Plan, common: Common) -> Result<(), Failure> {
    let Plan { cases, runs, pt_archiver } = plan;
    let runs = runs.unwrap_or(if common.quick { 1 } else { RUNS }).max(1);
    let (mut account, mut versions, mut results) = (Account::new(common), Vec::new(), Vec::new());
    for engine in Engine::ALL.into_iter().filter(|engine| needs(&cases, *engine)) {
        let cases: Vec<Case> = cases.iter().filter(|case| case.engine == engine).cloned().collect();
        let done = match engine {
            Engine::Postgres => postgres::run(&cases, runs).await?,
            Engine::Sqlite => sqlite::run(&cases, runs).await?,
            Engine::Mariadb => mariadb::run(&cases, runs, pt_archiver.clone()).await?,
        };
        versions.extend(done.versions);
        account.add(done.results.iter().flat_map(CaseResult::comparisons).collect())?;
        results.extend(done.results);
    }
    if account.close(&versions)? {
        result::print(&results);
    }
    Ok(())
}

/// What a database's cases came to.
struct Done {
    versions: Vec<String>,
    results: Vec<CaseResult>,
}

fn needs(cases: &[Case], engine: Engine) -> bool {
    cases.iter().any(|case| case.engine == engine)
}
