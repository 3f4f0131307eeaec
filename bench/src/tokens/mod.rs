//! The stores of credentials beside the bare statements that they are made of.
//!
//! What a store adds to its statements is a secret, its digest, a document, a place in the pool and the tests of its
//! deadlines. The limit is the same rows in the same tables by the same driver, written out by hand; how near the stores
//! come to it is the result. The last case asks something else: whether remembering gets slower as more is remembered.

mod bare;
mod case;
mod client;
mod credentials;
mod mariadb;
mod ours;
mod postgres;
mod result;
mod series;
mod sqlite;

use clap::Args;

use self::case::Case;
use self::result::CaseResult;
use crate::Common;
use crate::account::Account;
use crate::choice::chosen;
use crate::engine::Engine;
use crate::failure::Failure;

/// Which databases and cases to run, and how often.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only this database.
    #[arg(long)]
    engine: Option<Engine>,
    /// Only cases of this name: `replay`, or `postgres/replay`.
    #[arg(long, value_name = "NAME")]
    case: Option<String>,
    /// Runs of each case, whose slices count together.
    #[arg(long, value_name = "N", default_value_t = 1)]
    runs: usize,
}

/// Runs the bench and prints what it found.
pub(crate) async fn run(options: &Options, common: Common) -> Result<(), Failure> {
    let cases =
        chosen(case::all(common.quick), options.engine, options.case.as_deref(), |case| (case.engine, case.name))?;
    let (mut account, mut versions, mut results) = (Account::new(common), Vec::new(), Vec::new());
    for engine in Engine::ALL {
        let cases: Vec<Case> = cases.iter().filter(|case| case.engine == engine).cloned().collect();
        if cases.is_empty() {
            continue;
        }
        let done = match engine {
            Engine::Postgres => postgres::run(&cases, options.runs).await?,
            Engine::Sqlite => sqlite::run(&cases, options.runs).await?,
            Engine::Mariadb => mariadb::run(&cases, options.runs).await?,
        };
        versions.push(done.version);
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
    version: String,
    results: Vec<CaseResult>,
}
