//! `bygone stage`: a staging area from the shell, opened here or through the daemon.

mod area;
mod daemon;
mod direct;
mod exec;

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{CancellationToken, Clock};
use bygone_files::stage::{AttachmentId, Stage, Ttl};
use bygone_server::stages::{StagedDocument, TotalsDocument};

use self::area::{Area, How};
use crate::assembly::directory;
use crate::cli::stage::{self as flags, Lifetime, StageVerb};
use crate::cli::{Format, Global};
use crate::exit::Exit;
use crate::output::{self, grouped, size, table};
use crate::problem::Problem;
use crate::remote::{Address, Client, Service};
use crate::signals;

/// What stands for standard input, and what it is called where nobody says.
const STDIN: &str = "-";
const STDIN_NAME: &str = "stdin";

/// Runs the verb.
pub(crate) async fn run(
    global: &Global,
    flags: &flags::Stage,
    clock: &Arc<dyn Clock>,
    cancel: CancellationToken,
) -> Result<Exit, Problem> {
    let (format, verb) = (global.format, &flags.verb);
    if global.now.is_some() {
        return Err(Problem::usage(
            "a staging area goes by the clock",
            "leave `--now` out; `plan` and `sweep` take it",
        ));
    }
    let Some(store) = &flags.store else {
        return Err(Problem::usage(
            "which staging area?",
            "name it: `--store file:/path/to/area`, or set BYGONE_STORE",
        ));
    };
    let id = verb.id().map(parsed).transpose()?;
    if Address::is_meant(store) {
        refuse_what_needs_the_directory(verb)?;
        let client = Client::new(Address::parse(store, Service::Stage)?, clock)?;
        // The daemon needs nobody to wait for it.
        let done = over(&client, format, verb, id.as_ref(), CancellationToken::new());
        return signals::unless_cancelled(&cancel, done).await;
    }
    if !store.starts_with("file:") {
        return Err(Problem::usage(
            "a staging area is a directory, or a daemon's",
            "write `--store file:/path/to/area`, or `--store http://127.0.0.1:8085/stage/v1/SOURCE`",
        ));
    }
    let path = directory(store).map_err(|error| Problem::usage(error.to_string(), error.help().unwrap_or_default()))?;
    if let StageVerb::Put(put) = verb {
        one_name(put)?;
    }
    let stage = direct::open(&path, verb, clock)?;
    match (verb, &id) {
        (StageVerb::Exec { command, .. }, Some(id)) => exec::run(&stage, id, command, &**clock).await,
        (StageVerb::Reset, _) => reset(format, &stage),
        _ => over(&stage, format, verb, id.as_ref(), cancel).await,
    }
}

/// What only those can do who have the directory before them.
fn refuse_what_needs_the_directory(verb: &StageVerb) -> Result<(), Problem> {
    let refused = |what: &str, help: &str| Err(Problem::usage(what, help));
    match verb {
        StageVerb::Exec { .. } => {
            refused("a daemon holds no file for others", "open the area: `--store file:/path/to/area`")
        }
        StageVerb::Reset => refused("a daemon resets no area", "open the area: `--store file:/path/to/area`"),
        StageVerb::Put(put) if put.by != flags::Ingest::Copy => {
            refused("what goes to a daemon is copied", "leave `--by` out")
        }
        StageVerb::Put(flags::Put { max_bytes, max_count, min_free, evict, .. })
            if max_bytes.is_some() || max_count.is_some() || min_free.is_some() || *evict =>
        {
            let help = "leave `--max-bytes`, `--max-count`, `--min-free` and `--evict` out; a policy over the area can say them";
            refused("how much an area of a daemon may hold, its configuration says", help)
        }
        StageVerb::Put(put) => one_name(put),
        _ => Ok(()),
    }
}

fn one_name(put: &flags::Put) -> Result<(), Problem> {
    if put.name.is_some() && put.files.len() > 1 {
        return Err(Problem::usage("`--name` names one file, and there are several", "stage them one by one"));
    }
    Ok(())
}

/// Does with an area what the verb says, wherever it is.
async fn over(
    area: &dyn Area,
    format: Format,
    verb: &StageVerb,
    id: Option<&AttachmentId>,
    cancel: CancellationToken,
) -> Result<Exit, Problem> {
    match (verb, id) {
        (StageVerb::Put(put), _) => stage_files(area, format, put).await,
        (StageVerb::Get { .. }, Some(id)) => one(format, id, area.get(id).await?),
        (StageVerb::Touch { ttl, .. }, Some(id)) => {
            one(format, id, area.touch(id, ttl.map(lifetime).transpose()?).await?)
        }
        (StageVerb::Remove { .. }, Some(id)) => {
            if area.remove(id).await? {
                Ok(Exit::Done)
            } else {
                Err(absent(id))
            }
        }
        (StageVerb::Metrics, _) => totals(format, &area.totals().await?),
        (StageVerb::Cleanup, _) => cleanup(area, format, cancel).await,
        _ => list(format, &area.list().await?),
    }
}

/// Each file by itself: one that cannot be staged does not keep the others from it.
async fn stage_files(area: &dyn Area, format: Format, put: &flags::Put) -> Result<Exit, Problem> {
    let how = How { name: put.name.clone(), ttl: put.ttl.map(lifetime).transpose()?, persist: put.persist };
    let (mut staged, mut exit) = (Vec::new(), Exit::Done);
    for (file, result) in put.files.iter().zip(area.put(&put.files, &how).await) {
        match result {
            Ok(document) => staged.push(document),
            Err(mut problem) => {
                problem.message = format!("{}: {}", file.display(), problem.message);
                exit = exit.graver(problem.show());
            }
        }
    }
    show(format, &staged)?;
    Ok(exit)
}

fn one(format: Format, id: &AttachmentId, found: Option<StagedDocument>) -> Result<Exit, Problem> {
    show(format, &[found.ok_or_else(|| absent(id))?])?;
    Ok(Exit::Done)
}

/// In a script the path is what is wanted, and nothing else.
fn show(format: Format, files: &[StagedDocument]) -> Result<(), Problem> {
    match format {
        Format::Table => files.iter().for_each(|file| output::data(&file.path)),
        format => output::json(format, &files, files).map_err(|error| Problem::failed(error.to_string()))?,
    }
    Ok(())
}

fn list(format: Format, files: &[StagedDocument]) -> Result<Exit, Problem> {
    if format != Format::Table {
        show(format, files)?;
        return Ok(Exit::Done);
    }
    let mut rows = table(&["id", "name", "size", "deadline"]);
    for StagedDocument { id, name, size: bytes, persist, deadline, .. } in files {
        let deadline = if *persist { Some("persists".to_owned()) } else { deadline.clone() };
        rows.add_row([id.clone(), name.clone(), size(*bytes), deadline.unwrap_or_else(|| "never".to_owned())]);
    }
    output::data(rows.to_string());
    Ok(Exit::Done)
}

fn totals(format: Format, totals: &TotalsDocument) -> Result<Exit, Problem> {
    if format != Format::Table {
        output::json(format, totals, &[totals]).map_err(|error| Problem::failed(error.to_string()))?;
        return Ok(Exit::Done);
    }
    let mut rows = table(&["", "files", "size"]);
    for (what, count, bytes) in [
        ("persistent", totals.persistent_count, totals.persistent_bytes),
        ("expirable", totals.expirable_count, totals.expirable_bytes),
        ("total", totals.total_count, totals.total_bytes),
    ] {
        rows.add_row([what.to_owned(), grouped(count), size(bytes)]);
    }
    output::data(rows.to_string());
    Ok(Exit::Done)
}

/// A sweep like any other, but that nothing stands against it: what is staged expires.
async fn cleanup(area: &dyn Area, format: Format, cancel: CancellationToken) -> Result<Exit, Problem> {
    let report = area.cleanup(cancel).await?;
    match format {
        Format::Table => output::data(output::report::render(&report)),
        format => {
            output::json(format, &report, &report.policies).map_err(|error| Problem::failed(error.to_string()))?;
        }
    }
    Ok(Exit::of_sweep(&report.policies))
}

fn reset(format: Format, stage: &Stage) -> Result<Exit, Problem> {
    let report = stage.reset().map_err(|error| direct::problem(&error))?;
    if format == Format::Table {
        output::data(format!("{} removed, {} held by somebody", grouped(report.removed), grouped(report.held)));
    } else {
        let value = serde_json::json!({ "removed": report.removed, "bytes": report.bytes, "held": report.held });
        output::json(format, &value, &[&value]).map_err(|error| Problem::failed(error.to_string()))?;
    }
    Ok(Exit::Done)
}

fn lifetime(ttl: Lifetime) -> Result<Ttl, Problem> {
    match ttl {
        Lifetime::Forever => Ok(Ttl::Forever),
        Lifetime::For(time) => Duration::try_from(time)
            .map(Ttl::For)
            .map_err(|_| Problem::usage("a lifetime is never negative", "write `--ttl 0s` or more")),
    }
}

fn parsed(id: &str) -> Result<AttachmentId, Problem> {
    id.parse().map_err(|_| Problem::usage(format!("{id:?} is not an id"), "an id is 64 hexadecimal digits"))
}

fn absent(id: &AttachmentId) -> Problem {
    Problem::failed(format!("nothing that lives is staged as {id}"))
}
