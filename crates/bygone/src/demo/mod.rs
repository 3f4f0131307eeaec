//! `bygone demo`: everything at once, on embedded parts, in a throw-away directory.
//!
//! It is no film: it makes a real database and a real `bygone.toml` and runs the same code as `plan`, `sweep` and `serve`.

mod auth_server;
mod files;
mod leases;
mod live;
mod survivors;

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bygone_core::{Boundary, CancellationToken, Clock, Report};
use jiff::Timestamp;
use tempfile::TempDir;

use self::auth_server::AuthServer;
use self::files::Files;
use self::leases::Leases;
use crate::assembly::{Access, assemble};
use crate::cli;
use crate::config::{self, Config, ProcessEnv};
use crate::exit::Exit;
use crate::problem::{Once, Problem};
use crate::{output, plan, sweep};

/// When the daemon of the living demo runs a policy.
const EVERY: &str = "every    = \"2s\"\n";

/// Runs the verb.
pub(crate) async fn run(flags: &cli::Demo, clock: &Arc<dyn Clock>, cancel: CancellationToken) -> Result<Exit, Problem> {
    let place = Place::new(flags.dir.clone())?;
    // Whole seconds, so that rows can be made which end exactly on the boundary.
    let boundary = Boundary::at(Timestamp::from_second(clock.now().as_second()).unwrap_or_default());
    let server = AuthServer::create(place.path(), boundary.instant(), flags.rows).map_err(|e| broken(&e))?;
    let files = Files::create(place.path(), boundary.instant()).map_err(|e| broken(&e))?;
    let leases = Leases::create(place.path(), boundary.instant()).await.map_err(|e| broken(&e))?;
    let text = format!("{}{}{}", server.config_text(), files.config_text(), leases.config_text());
    let config = write_config(place.path(), &text)?;
    output::talk(format!(
        "An auth server's database with {} rows in {} tables, a directory of uploads, a staging area and a \
         lease store, in {}\n",
        output::grouped(u64::from(flags.rows)),
        auth_server::TABLES.len(),
        place.path().display()
    ));
    output::data(format!("The policies (bygone.toml):\n\n{text}"));

    output::data("What a sweep would do (bygone plan):");
    let mut assembly = assemble(&config, config.policies.iter().collect(), Access::Read, clock).await;
    assembly.boundary = sweep::earlier(boundary.instant(), assembly.boundary)?;
    let mut once = Once::default();
    output::data(output::plan::render(&plan::make(&config, assembly, |problem| once.show(problem)).await));

    output::data("\nThe sweep (bygone sweep):");
    let report = sweep_at(&config, Some(boundary), clock, cancel.clone()).await?;
    output::data(output::report::render(&report));

    output::data("\nWhat survived, and why (asked of the database, the directories and the store themselves):");
    let mut left = files.survivors().map_err(|e| broken(&e))?;
    left.extend(leases.survivors(boundary.instant()).map_err(|e| broken(&e))?);
    output::data(survivors::render(&server, left, boundary.instant()).map_err(|e| broken(&e))?);
    let exit = Exit::of_sweep(&report.policies);
    if exit == Exit::Done && !flags.once && std::io::stdout().is_terminal() {
        let all = live::Living { server: &server, files: &files, leases: &leases };
        live::run(&all, config, place.path(), clock, cancel).await?;
    }
    place.farewell();
    Ok(exit)
}

async fn sweep_at(
    config: &Config,
    boundary: Option<Boundary>,
    clock: &Arc<dyn Clock>,
    cancel: CancellationToken,
) -> Result<Report, Problem> {
    let mut assembly = assemble(config, config.policies.iter().collect(), Access::Write, clock).await;
    if let Some(boundary) = boundary {
        assembly.boundary = sweep::earlier(boundary.instant(), assembly.boundary)?;
    }
    Ok(sweep::execute(config, assembly, &BTreeMap::new(), clock, cancel).await)
}

fn write_config(place: &Path, text: &str) -> Result<Config, Problem> {
    let path = place.join("bygone.toml");
    std::fs::write(&path, text).map_err(|error| broken(&error))?;
    config::load(&path, &ProcessEnv).map_err(|error| broken(&error))
}

fn broken(error: &dyn std::error::Error) -> Problem {
    Problem::failed(format!("the demo broke: {error}"))
}

/// The directory of the demo: thrown away, unless the user named it.
enum Place {
    Temporary(TempDir),
    Named(PathBuf),
}

impl Place {
    fn new(named: Option<PathBuf>) -> Result<Self, Problem> {
        match named {
            Some(path) => {
                std::fs::create_dir(&path).map_err(|error| {
                    Problem::usage(
                        format!("cannot make {}: {error}", path.display()),
                        "name a directory that does not exist yet",
                    )
                })?;
                Ok(Self::Named(path))
            }
            None => {
                tempfile::Builder::new().prefix("bygone-demo-").tempdir().map(Self::Temporary).map_err(|e| broken(&e))
            }
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Temporary(directory) => directory.path(),
            Self::Named(path) => path,
        }
    }

    fn farewell(&self) {
        if let Self::Named(path) = self {
            let config = path.join("bygone.toml");
            output::talk(format!("\nIt is all still there. Try:\n  bygone plan --config {}", config.display()));
        }
    }
}
