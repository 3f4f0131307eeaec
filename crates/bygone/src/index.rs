//! `bygone index`: the indexes that policies lack, printed or made.

use std::io::IsTerminal;
use std::sync::Arc;

use bygone_core::{Clock, TargetError};
use bygone_sql::{MissingIndex, create_index};
use serde::Serialize;

use crate::assembly::{Access, assemble, open_for_long, select_rows};
use crate::cli::{self, Format, Global};
use crate::config::{Config, Policy};
use crate::exit::Exit;
use crate::output;
use crate::problem::{Once, Problem};

/// An index, and for whom.
#[derive(Debug, Serialize)]
struct Line {
    policy: String,
    source: String,
    #[serde(flatten)]
    index: MissingIndex,
    /// Whether it was made now.
    made: bool,
}

/// Runs the verb.
pub(crate) async fn run(
    global: &Global,
    flags: &cli::Index,
    config: &Config,
    clock: &Arc<dyn Clock>,
) -> Result<Exit, Problem> {
    let assembly = assemble(config, select_rows(config, &flags.policies)?, Access::Read, clock).await;
    let (mut lines, mut exit, mut once) = (Vec::<Line>::new(), Exit::Done, Once::default());
    for bound in &assembly.bound {
        let missing = match &bound.target {
            Ok(target) => match target.rows() {
                Some(rows) => {
                    rows.missing_indexes().await.map_err(|error| Problem::of_policy(config, bound.policy, &error))
                }
                None => Ok(Vec::new()),
            },
            Err(error) => Err(Problem::of_policy(config, bound.policy, error)),
        };
        match missing {
            Ok(missing) => {
                for index in missing {
                    // Two policies over one table may lack the same one.
                    if !lines.iter().any(|line| line.source == bound.policy.source && line.index.name == index.name) {
                        lines.push(line(bound.policy, index));
                    }
                }
            }
            Err(problem) => exit = exit.graver(once.show(problem)),
        }
    }
    if flags.apply {
        for line in &mut lines {
            match make(config, line, &**clock).await {
                Ok(()) => line.made = true,
                Err(error) => {
                    let message = format!("{}: {}", line.index.name, error.full_message());
                    exit = exit.graver(Problem::failed(message).show());
                }
            }
        }
    }
    show(global.format, flags.apply, &lines)?;
    Ok(exit)
}

fn line(policy: &Policy, index: MissingIndex) -> Line {
    Line { policy: policy.name.clone(), source: policy.source.clone(), index, made: false }
}

async fn make(config: &Config, line: &Line, clock: &dyn Clock) -> Result<(), TargetError> {
    let maker = open_for_long(config, &line.source).await?;
    let watcher = open_for_long(config, &line.source).await?;
    let told = |percent: u64| {
        if std::io::stderr().is_terminal() {
            output::talk(format!("{}: {percent} %", line.index.name));
        }
    };
    create_index(&maker, &watcher, &line.index, clock, told).await
}

fn show(format: Format, applied: bool, lines: &[Line]) -> Result<(), Problem> {
    if format != Format::Table {
        return output::json(format, &lines, lines).map_err(|error| Problem::failed(error.to_string()));
    }
    for Line { policy, index, made, .. } in lines {
        let size = index.estimated_bytes.map(|bytes| format!(", about {}", output::size(bytes))).unwrap_or_default();
        let done = match (applied, made) {
            (false, _) => "",
            (true, true) => " (made)",
            (true, false) => " (not made)",
        };
        output::comment(format!("{policy}: {}{size}{done}", index.why));
        for statement in index.cleanup.iter().chain([&index.statement]) {
            output::statement(format!("{statement};"));
        }
    }
    if lines.is_empty() {
        output::talk("no index is missing");
    }
    Ok(())
}
