//! `bygone stage`: a staging area from the shell.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Boundary, Budget, CancellationToken, Clock, Consent, ErrorKind, Job, Sweep};
use bygone_files::stage::{
    Attachment, AttachmentId, Content, Ingest, Put, Quota, Reconcile, Stage, StageError, StageOptions, Ttl, WhenFull,
};
use serde::Serialize;

use crate::assembly::directory;
use crate::cli::stage::{self as flags, Lifetime, StageVerb};
use crate::cli::{Format, Global};
use crate::exit::Exit;
use crate::output::{self, grouped, size, table};
use crate::problem::Problem;

/// How long a hold lasts while a command runs; it is renewed well before.
const HOLD: Duration = Duration::from_secs(60);

/// An attachment as the program writes it.
#[derive(Debug, Serialize)]
struct Line {
    id: String,
    name: String,
    path: String,
    size: u64,
    inserted_at: String,
    /// In milliseconds; null for one that does not expire.
    ttl_ms: Option<u64>,
    persist: bool,
    cached: bool,
    /// When it ends; null for one that does not.
    deadline: Option<String>,
}

impl From<&Attachment> for Line {
    fn from(attachment: &Attachment) -> Self {
        Self {
            id: attachment.id.to_string(),
            name: attachment.name.to_string(),
            path: attachment.path.display().to_string(),
            size: attachment.size,
            inserted_at: format!("{:.3}", attachment.inserted_at),
            ttl_ms: match attachment.ttl {
                Ttl::For(time) => u64::try_from(time.as_millis()).ok(),
                Ttl::Forever => None,
            },
            persist: attachment.persist,
            cached: attachment.cached,
            deadline: attachment.deadline.map(bygone_core::format_instant),
        }
    }
}

/// Runs the verb.
pub(crate) async fn run(
    global: &Global,
    flags: &flags::Stage,
    clock: &Arc<dyn Clock>,
    cancel: CancellationToken,
) -> Result<Exit, Problem> {
    let format = global.format;
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
    if !store.starts_with("file:") {
        return Err(Problem::usage("a staging area is a directory", "write `--store file:/path/to/area`"));
    }
    let path = directory(store).map_err(|error| Problem::usage(error.to_string(), error.help().unwrap_or_default()))?;
    let id = flags.verb.id().map(parsed).transpose()?;
    if !matches!(flags.verb, StageVerb::Put(_)) {
        // Only what is staged makes an area.
        Stage::inspect(&path).map_err(|error| problem(&error))?;
    }
    let open = || Stage::open(&path, options(&flags.verb, clock)).map_err(|error| problem(&error));
    match (&flags.verb, id) {
        (StageVerb::Put(put), _) => stage_files(format, open, put),
        (StageVerb::Get { .. }, Some(id)) => one(format, &id, open()?.get(&id)),
        (StageVerb::Touch { ttl, .. }, Some(id)) => {
            let ttl = ttl.map(lifetime).transpose()?;
            one(format, &id, open()?.touch(&id, ttl))
        }
        (StageVerb::Remove { .. }, Some(id)) => {
            let removed = open()?.remove(&id).map_err(|error| problem(&error))?;
            if removed { Ok(Exit::Done) } else { Err(absent(&id)) }
        }
        (StageVerb::Exec { command, .. }, Some(id)) => exec(&open()?, &id, command, &**clock).await,
        (StageVerb::Metrics, _) => metrics(format, &open()?),
        (StageVerb::Cleanup, _) => cleanup(format, &open()?, clock, cancel).await,
        (StageVerb::Reset, _) => reset(format, &open()?),
        _ => list(format, &open()?),
    }
}

/// One look at one file costs the same in an area of any size; whoever looks at all of them gets the truth about each.
fn options(verb: &StageVerb, clock: &Arc<dyn Clock>) -> StageOptions {
    let reconcile = match verb {
        StageVerb::List | StageVerb::Metrics | StageVerb::Reset => Reconcile::Full,
        _ => Reconcile::AfterCrash,
    };
    let mut options = StageOptions { reconcile, clock: Arc::clone(clock), ..StageOptions::default() };
    if let StageVerb::Put(put) = verb {
        options.quota = Quota {
            max_bytes: put.max_bytes.map(|size| size.as_u64()),
            max_count: put.max_count,
            min_free: put.min_free.map(|size| size.as_u64()),
            when_full: if put.evict { WhenFull::Evict } else { WhenFull::Refuse },
        };
        options.ingest = match put.by {
            flags::Ingest::Copy => Ingest::Copy,
            flags::Ingest::Reflink => Ingest::Reflink,
            flags::Ingest::HardLink => Ingest::HardLink,
        };
    }
    options
}

/// Each file by itself: one that cannot be staged does not keep the others from it.
fn stage_files(
    format: Format,
    open: impl FnOnce() -> Result<Stage, Problem>,
    put: &flags::Put,
) -> Result<Exit, Problem> {
    if put.name.is_some() && put.files.len() > 1 {
        return Err(Problem::usage("`--name` names one file, and there are several", "stage them one by one"));
    }
    let ttl = put.ttl.map(lifetime).transpose()?;
    let stage = open()?;
    let contents = put.files.iter().map(|file| {
        let stdin = file == Path::new("-");
        let content = if stdin { Content::reader(io::stdin()) } else { Content::file(file) };
        let name = put.name.clone().or_else(|| stdin.then(|| "stdin".to_owned()));
        (content, Put { name, ttl, persist: put.persist })
    });
    let (mut staged, mut exit) = (Vec::new(), Exit::Done);
    for (file, result) in put.files.iter().zip(stage.put_all(contents)) {
        match result {
            Ok(attachment) => staged.push(Line::from(&attachment)),
            Err(error) => {
                let mut problem = problem(&error);
                problem.message = format!("{}: {}", file.display(), problem.message);
                exit = exit.graver(problem.show());
            }
        }
    }
    show(format, &staged)?;
    Ok(exit)
}

fn one(format: Format, id: &AttachmentId, found: Result<Option<Attachment>, StageError>) -> Result<Exit, Problem> {
    let attachment = found.map_err(|error| problem(&error))?.ok_or_else(|| absent(id))?;
    show(format, &[Line::from(&attachment)])?;
    Ok(Exit::Done)
}

/// In a script the path is what is wanted, and nothing else.
fn show(format: Format, lines: &[Line]) -> Result<(), Problem> {
    match format {
        Format::Table => lines.iter().for_each(|line| output::data(&line.path)),
        format => output::json(format, &lines, lines).map_err(|error| Problem::failed(error.to_string()))?,
    }
    Ok(())
}

fn list(format: Format, stage: &Stage) -> Result<Exit, Problem> {
    let lines: Result<Vec<Line>, StageError> =
        stage.list().map(|found| found.map(|found| Line::from(&found))).collect();
    let lines = lines.map_err(|error| problem(&error))?;
    if format != Format::Table {
        show(format, &lines)?;
        return Ok(Exit::Done);
    }
    let mut rows = table(&["id", "name", "size", "deadline"]);
    for line in lines {
        let deadline = if line.persist { Some("persists".to_owned()) } else { line.deadline };
        rows.add_row([line.id, line.name, size(line.size), deadline.unwrap_or_else(|| "never".to_owned())]);
    }
    output::data(rows.to_string());
    Ok(Exit::Done)
}

fn metrics(format: Format, stage: &Stage) -> Result<Exit, Problem> {
    let metrics = stage.metrics().map_err(|error| problem(&error))?;
    if format != Format::Table {
        let value = serde_json::json!({
            "total_count": metrics.total_count, "total_bytes": metrics.total_bytes,
            "persistent_count": metrics.persistent_count, "persistent_bytes": metrics.persistent_bytes,
            "expirable_count": metrics.expirable_count, "expirable_bytes": metrics.expirable_bytes,
        });
        output::json(format, &value, &[&value]).map_err(|error| Problem::failed(error.to_string()))?;
        return Ok(Exit::Done);
    }
    let mut rows = table(&["", "files", "size"]);
    for (what, count, bytes) in [
        ("persistent", metrics.persistent_count, metrics.persistent_bytes),
        ("expirable", metrics.expirable_count, metrics.expirable_bytes),
        ("total", metrics.total_count, metrics.total_bytes),
    ] {
        rows.add_row([what.to_owned(), grouped(count), size(bytes)]);
    }
    output::data(rows.to_string());
    Ok(Exit::Done)
}

/// A sweep like any other, but that nothing stands against it: what is staged expires.
async fn cleanup(
    format: Format,
    stage: &Stage,
    clock: &Arc<dyn Clock>,
    cancel: CancellationToken,
) -> Result<Exit, Problem> {
    let target = Box::new(stage.target("cleanup", "stage"));
    let job = Job::new(target, Budget::default()).with_consent(Consent::Released);
    let sweep = Sweep::new(Arc::clone(clock), Boundary::at(clock.now()));
    let report = sweep.observed_by(output::progress::observer()).cancelled_by(cancel).run(vec![job]).await;
    match format {
        Format::Table => output::data(output::report::render(&report)),
        format => {
            output::json(format, &report, &report.policies).map_err(|error| Problem::failed(error.to_string()))?;
        }
    }
    Ok(Exit::of_sweep(&report.policies))
}

fn reset(format: Format, stage: &Stage) -> Result<Exit, Problem> {
    let report = stage.reset().map_err(|error| problem(&error))?;
    if format == Format::Table {
        output::data(format!("{} removed, {} held by somebody", grouped(report.removed), grouped(report.held)));
    } else {
        let value = serde_json::json!({ "removed": report.removed, "bytes": report.bytes, "held": report.held });
        output::json(format, &value, &[&value]).map_err(|error| Problem::failed(error.to_string()))?;
    }
    Ok(Exit::Done)
}

/// Runs a command while the file is held; ends as the command does.
async fn exec(stage: &Stage, id: &AttachmentId, command: &[OsString], clock: &dyn Clock) -> Result<Exit, Problem> {
    let attachment = stage.get(id).map_err(|error| problem(&error))?.ok_or_else(|| absent(id))?;
    let mut hold = stage.hold(id, HOLD).map_err(|error| problem(&error))?.ok_or_else(|| absent(id))?;
    let Some((program, arguments)) = command.split_first() else {
        return Err(Problem::usage("there is no command", "write it behind `--`"));
    };
    let mut command = tokio::process::Command::new(program);
    let child = command.args(arguments).env("BYGONE_PATH", &attachment.path).spawn();
    let mut child =
        child.map_err(|error| Problem::failed(format!("cannot run {}: {error}", program.to_string_lossy())))?;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            () = clock.sleep(HOLD / 3) => hold.extend(HOLD).map_err(|error| problem(&error))?,
        }
    };
    hold.release().map_err(|error| problem(&error))?;
    let status = status.map_err(|error| Problem::failed(format!("cannot wait for the command: {error}")))?;
    Ok(Exit::of_command(status))
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

fn problem(error: &StageError) -> Problem {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    let mut problem = Problem::failed(text);
    problem.exit = match error.kind() {
        ErrorKind::Busy => Exit::Busy,
        kind => Exit::of_kind(kind),
    };
    problem
}
