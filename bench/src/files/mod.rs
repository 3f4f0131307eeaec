//! Files that are past their time: directory trees and staging areas, beside what a shell has for them.
//!
//! The limit of a sweep over a tree is `find -delete`, which asks nothing of a file but its age. The peers are the tools
//! that ask more. Staging is compared with the shell's way to the same end: copy, hash, sync. The last case asks whether
//! sweeping gets slower as more is staged.

mod case;
mod effort;
mod engine_run;
mod ground;
mod program;
mod result;
mod series;
mod stage;
mod tree;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use self::case::{Case, Load, Name};
use self::ground::Ground;
use self::result::CaseResult;
use self::series::Bed;
use crate::account::Account;
use crate::failure::Failure;
use crate::{Common, output};

/// Runs of each contender; an odd number, so that the median is one of them.
const RUNS: usize = 3;

/// Which cases to run, and how often.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only this case.
    #[arg(long, value_name = "NAME")]
    case: Option<Name>,
    /// Runs of each contender, whose median counts [default: 3; with --quick: 1]
    #[arg(long, value_name = "N")]
    runs: Option<usize>,
}

/// Runs the bench and prints what it found.
///
/// All of it blocks, so it has a thread of its own. An interrupt lets the turn end that is under way, and the data go.
pub(crate) async fn run(options: &Options, common: Common) -> Result<(), Failure> {
    let runs = options.runs.unwrap_or(if common.quick { 1 } else { RUNS }).max(1);
    let chosen = |case: &Case| options.case.is_none_or(|name| name == case.name);
    let cases: Vec<Case> = case::all(common.quick).into_iter().filter(chosen).collect();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let mut work = tokio::task::spawn_blocking(move || run_all(&cases, runs, common, &stopped));
    tokio::select! {
        done = &mut work => done?,
        interrupted = interrupt() => {
            interrupted?;
            output::talk("interrupted: ending the turn, then removing the data");
            stop.store(true, Ordering::Release);
            work.await?
        }
    }
}

/// Somebody wants it to end.
async fn interrupt() -> Result<(), Failure> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        done = tokio::signal::ctrl_c() => Ok(done?),
        _ = terminate.recv() => Ok(()),
    }
}

fn run_all(cases: &[Case], runs: usize, common: Common, stop: &Arc<AtomicBool>) -> Result<(), Failure> {
    let (mut versions, mut results): (Vec<String>, Vec<CaseResult>) = (Vec::new(), Vec::new());
    let mut account = Account::new(common);
    for case in cases {
        let ground = Ground::new(case.room(), Arc::clone(stop))?;
        output::talk(&format!("{}: making the data", case.as_str()));
        let mut bed: Box<dyn Bed + '_> = match case.load {
            Load::Tree { directories, files_each } => {
                Box::new(tree::TreeBed::new(&ground, case, directories, files_each)?)
            }
            Load::Stage { files, bytes_each, sources } => {
                Box::new(stage::StageBed::new(&ground, files, bytes_each, sources)?)
            }
            Load::Sweep { due, many, few } => Box::new(stage::SweepBed::new(&ground, due, many, few)?),
        };
        for version in bed.versions()? {
            if !versions.contains(&version) {
                versions.push(version);
            }
        }
        let result = series::measure(&ground, &mut *bed, case, runs)?;
        account.add(result.comparisons())?;
        results.push(result);
    }
    if account.close(&versions)? {
        result::print(&results);
    }
    Ok(())
}
