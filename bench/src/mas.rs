//! An auth server's sessions with what hangs on them: families of rows, and rows that others keep.
//!
//! The peer is the shape of what such a server runs itself: one statement with several CTEs for each batch of 1,000. The
//! machinery is that of expired rows.

use clap::Args;

use crate::Common;
use crate::choice::chosen;
use crate::failure::Failure;
use crate::rows::{self, Plan, case};

/// Which cases to run, and how often.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only this case: `finished-sessions`.
    #[arg(long, value_name = "NAME")]
    case: Option<String>,
    /// Runs of each contender, whose median counts [default: 3; with --quick: 1]
    #[arg(long, value_name = "N")]
    runs: Option<usize>,
}

/// Runs the bench and prints what it found.
pub(crate) async fn run(options: &Options, common: Common) -> Result<(), Failure> {
    let of = |case: &case::Case| (case.engine, case.name);
    let cases = chosen(case::sessions(common.quick), None, options.case.as_deref(), of)?;
    rows::measure(Plan { cases, runs: options.runs, pt_archiver: None }, common).await
}
