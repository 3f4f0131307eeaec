//! Expired rows: how fast they go, and how long each step holds its locks.
//!
//! The limit is one big DELETE by the database itself, which nobody wants to run: it holds every row it takes until
//! its end. The peers are what people run instead. Each contender gets an equal copy of one dataset; they take turns,
//! and afterwards exactly the rows that had not expired must be left, or the run counts as failed.

mod case;
mod mariadb;
mod ours;
mod postgres;
mod result;
mod series;
mod sqlite;

use clap::{Args, ValueEnum};

use self::case::Case;
use self::result::CaseResult;
use crate::choice::chosen;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::{Common, machine, output, report};

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
    /// An auth server's sessions with what hangs on them, instead of tokens.
    #[arg(long)]
    mas: bool,
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
    let cases = chosen(case::all(common.quick, options.mas), options.engine, options.case.as_deref(), |case| {
        (case.engine, case.name)
    })?;
    let runs = options.runs.unwrap_or(if common.quick { 1 } else { RUNS }).max(1);
    let pt_archiver = if options.skip.contains(&Skip::PtArchiver) || !needs(&cases, Engine::Mariadb) {
        None
    } else {
        // Looked for now: an hour into the run is too late to hear of it.
        Some(mariadb::find_pt_archiver()?)
    };
    let (mut versions, mut results) = (Vec::new(), Vec::new());
    for engine in Engine::ALL.into_iter().filter(|engine| needs(&cases, *engine)) {
        let cases: Vec<Case> = cases.iter().filter(|case| case.engine == engine).cloned().collect();
        let done = match engine {
            Engine::Postgres => postgres::run(&cases, runs).await?,
            Engine::Sqlite => sqlite::run(&cases, runs).await?,
            Engine::Mariadb => mariadb::run(&cases, runs, pt_archiver.clone()).await?,
        };
        versions.extend(done.versions);
        if common.json {
            report::print_json(&done.results.iter().flat_map(CaseResult::comparisons).collect::<Vec<_>>())?;
        }
        results.extend(done.results);
    }
    if !common.json {
        output::data(&machine::describe(&versions));
        output::data("");
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
