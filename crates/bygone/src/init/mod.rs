//! `bygone init`: reads a live schema, directory or bucket and proposes policies. Nothing is swept by what it writes
//! until somebody takes the `#` away.

mod database;
mod files;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use bygone_core::{Clock, TargetError};

use crate::cli::{self, Global};
use crate::config::{self, ProcessEnv};
use crate::exit::Exit;
use crate::output;
use crate::problem::Problem;

pub(crate) use self::database::uncovered;

/// The name of the one source.
const SOURCE: &str = "main";

/// What was found.
struct Proposals {
    /// The configuration that proposes them.
    text: String,
    /// The same in a sentence.
    told: String,
}

/// Runs the verb.
pub(crate) async fn run(global: &Global, flags: &cli::Init, clock: &Arc<dyn Clock>) -> Result<Exit, Problem> {
    let known = covered(&global.config, flags)?;
    let scheme = flags.url.split(':').next().unwrap_or_default();
    let proposals = match scheme {
        "file" | "s3" | "az" | "gs" => files::proposals(flags, clock).await,
        _ => database::proposals(flags, known.as_ref(), clock.now()).await,
    };
    let Proposals { text, told } = proposals.map_err(|error| problem(&error))?;
    if flags.print || known.is_some() {
        output::data(text);
        output::talk(told);
        return Ok(Exit::Done);
    }
    write(&global.config, &text)?;
    output::talk(format!("{told}; proposals are in {}", global.config.display()));
    Ok(Exit::Done)
}

/// The tables that the configuration already has policies for, where there is one. It is never written over.
fn covered(path: &Path, flags: &cli::Init) -> Result<Option<BTreeSet<String>>, Problem> {
    if flags.print || !path.exists() {
        return Ok(None);
    }
    match config::load(path, &ProcessEnv) {
        Ok(config) => Ok(Some(config.policies.iter().filter_map(|p| Some(p.rows()?.table.clone())).collect())),
        Err(_) => Err(Problem::usage(
            format!("{} is there already", path.display()),
            "print the proposals instead: `bygone init --print URL`; or name another file with `--config`",
        )),
    }
}

fn problem(error: &TargetError) -> Problem {
    let mut problem = Problem::failed(error.full_message());
    problem.exit = Exit::of_kind(error.kind());
    problem.help = error.help().map(str::to_owned);
    problem
}

/// A text of TOML, in which a dollar sign means itself.
fn quoted(text: &str) -> String {
    toml::Value::String(text.replace('$', "$$")).to_string()
}

fn write(path: &Path, text: &str) -> Result<(), Problem> {
    use std::io::Write as _;
    let made = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
    made.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .map_err(|error| Problem::failed(format!("cannot write {}: {error}", path.display())))
}
