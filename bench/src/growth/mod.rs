//! Whether a sweep costs what is due, and nothing else: time and memory against the backlog, against the rows that live, and
//! against the number of policies.
//!
//! There is no peer but bygone itself where less has grown. Each sweep is a process of the program that people run.

mod case;
mod dataset;
mod picture;
mod program;
mod result;

use std::path::PathBuf;

use bygone_testkit::Postgres;
use clap::Args;

use self::case::Case;
use self::dataset::Dataset;
use self::program::{Effort, Program};
use self::result::Grown;
use crate::account::Account;
use crate::choice::chosen;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::{Common, output, server};

pub(crate) use self::picture::pictures;

/// Runs of each size; an odd number, so that the median is one of them.
const RUNS: usize = 3;

/// Which cases to run, and how often.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only this database.
    #[arg(long)]
    engine: Option<Engine>,
    /// Only cases of this name: `backlog`, or `postgres/backlog`.
    #[arg(long, value_name = "NAME")]
    case: Option<String>,
    /// Runs of each size, whose median counts [default: 3; with --quick: 1]
    #[arg(long, value_name = "N")]
    runs: Option<usize>,
    /// Draw what was found, too, into this directory.
    #[arg(long, value_name = "DIRECTORY")]
    plots: Option<PathBuf>,
}

/// Runs the bench and prints what it found.
pub(crate) async fn run(options: &Options, common: Common) -> Result<(), Failure> {
    let of = |case: &Case| (case.engine, case.kind.as_str());
    let cases = chosen(case::all(common.quick), options.engine, options.case.as_deref(), of)?;
    let runs = options.runs.unwrap_or(if common.quick { 1 } else { RUNS }).max(1);
    let program = Program::built()?;
    let (mut versions, mut server) = (Vec::new(), None);
    if cases.iter().any(|case| case.engine == Engine::Postgres) {
        let (started, version) = server::postgres::start().await?;
        server = Some(started);
        versions.push(version);
    }
    if cases.iter().any(|case| case.engine == Engine::Sqlite) {
        versions.push(format!("SQLite {}", rusqlite::version()));
    }
    let (mut account, mut all) = (Account::new(common), Vec::new());
    for case in cases {
        let grown = measure(&program, case, runs, server.as_ref()).await?;
        account.add(grown.comparisons())?;
        all.push(grown);
    }
    if let Some(directory) = &options.plots {
        let comparisons: Vec<_> = all.iter().flat_map(Grown::comparisons).collect();
        for (name, plot) in pictures(&comparisons) {
            plot.write(&directory.join(name))?;
        }
    }
    if account.close(&versions)? {
        result::print(&all);
    }
    Ok(())
}

/// All sizes in turn, so often.
async fn measure(program: &Program, case: Case, runs: usize, server: Option<&Postgres>) -> Result<Grown, Failure> {
    let title = format!("{}/{}", case.engine.as_str(), case.kind.as_str());
    let mut datasets = Vec::new();
    for &size in &case.sizes {
        output::talk(&format!("{title}: making {size}"));
        datasets.push(Dataset::new(&case, size, server).await?);
    }
    // Whoever is first reads the program from the disk.
    sweep(program, &datasets[0]).await?;
    let mut efforts: Vec<Vec<Effort>> = vec![Vec::new(); datasets.len()];
    for round in 0..runs {
        for (dataset, efforts) in datasets.iter().zip(&mut efforts) {
            let effort = sweep(program, dataset).await?;
            let (time, peak) = (effort.time.as_secs_f64(), effort.peak_mib);
            output::talk(&format!("{title}, run {}, {}: {time:.3} s, {peak:.1} MiB", round + 1, dataset.size));
            efforts.push(effort);
        }
    }
    Ok(Grown::new(case, &efforts))
}

async fn sweep(program: &Program, dataset: &Dataset) -> Result<Effort, Failure> {
    dataset.fill().await?;
    let effort = program.sweep(&dataset.configuration()).await?;
    if effort.removed != dataset.due() {
        return Err(format!("{} of {} rows were removed", effort.removed, dataset.due()).into());
    }
    dataset.prove().await?;
    Ok(effort)
}
