//! `bygone init`: reads a live schema and proposes policies. Nothing is swept by what it writes until somebody takes
//! the `#` away.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use bygone_core::{Boundary, Clock, ErrorKind, Target, TargetError, format_instant};
use bygone_sql::{
    Candidate, Deadline, Engine, Format, RowPolicy, RowTarget, SharedSource, Sketch, Source, SourceOptions, SourceUrl,
    discover,
};
use jiff::{SignedDuration, Timestamp};

use crate::cli::{self, Global};
use crate::config::{self, ProcessEnv, has_password};
use crate::exit::Exit;
use crate::output;
use crate::packs::{PACKS, Pack};
use crate::problem::Problem;

/// The name of the one source.
const SOURCE: &str = "main";
/// The variable that holds a url with a password, which does not belong into a file.
const VARIABLE: &str = "DATABASE_URL";
/// No row of a database that is alive today was made before: 2010.
const PLAUSIBLE_FROM_S: i64 = 1_262_304_000;

/// A policy that could be.
struct Proposal {
    table: String,
    rows: Option<u64>,
    candidate: Candidate,
    bygone: Option<u64>,
    oldest: Option<Timestamp>,
}

/// Runs the verb.
pub(crate) async fn run(global: &Global, flags: &cli::Init, clock: &Arc<dyn Clock>) -> Result<Exit, Problem> {
    let known = covered(&global.config, flags)?;
    let source = open(flags).await.map_err(|error| problem(&error))?;
    let sketches = discover(&source).await.map_err(|error| problem(&error))?;
    let packs = recognised(&sketches);
    let mut proposals = Vec::new();
    for sketch in sketches.iter().filter(|sketch| !known.contains(&sketch.table)) {
        proposals.extend(propose(&source, sketch, clock.now()).await.map_err(|error| problem(&error))?);
    }
    let engine = source.lock().await.engine();
    let text = render(flags, engine, &packs, &proposals);
    let tables: BTreeSet<&str> = proposals.iter().map(|proposal| proposal.table.as_str()).collect();
    let told = format!("{} tables, {} of them with something that expires and no policy", sketches.len(), tables.len());
    if flags.print || !known.is_empty() {
        output::data(text);
        output::talk(told);
        return Ok(Exit::Done);
    }
    write(&global.config, &text)?;
    output::talk(format!("{told}; proposals are in {}", global.config.display()));
    Ok(Exit::Done)
}

/// The tables that the configuration already has policies for. A file is never written over.
fn covered(path: &Path, flags: &cli::Init) -> Result<BTreeSet<String>, Problem> {
    if flags.print || !path.exists() {
        return Ok(BTreeSet::new());
    }
    match config::load(path, &ProcessEnv) {
        Ok(config) => Ok(config.policies.into_iter().map(|policy| policy.table).collect()),
        Err(_) => Err(Problem::usage(
            format!("{} is there already", path.display()),
            "print the proposals instead: `bygone init --print URL`; or name another file with `--config`",
        )),
    }
}

async fn open(flags: &cli::Init) -> Result<SharedSource, TargetError> {
    let mut options = SourceOptions::new(SOURCE, SourceUrl::parse(&flags.url)?);
    options.schema.clone_from(&flags.schema);
    options.read_only = true;
    Ok(Source::open(options).await?.shared())
}

fn problem(error: &TargetError) -> Problem {
    let mut problem = Problem::failed(error.full_message());
    problem.exit = Exit::of_kind(error.kind());
    problem.help = error.help().map(str::to_owned);
    problem
}

/// Packs all of whose tables are there.
fn recognised(sketches: &[Sketch]) -> Vec<&'static Pack> {
    let tables: BTreeSet<&str> = sketches.iter().map(|sketch| sketch.table.as_str()).collect();
    let fits = |pack: &&Pack| pack.tables().iter().all(|table| tables.contains(table.as_str()));
    PACKS.iter().filter(fits).collect()
}

/// Tries each candidate on the table: what cannot be bound is no deadline.
async fn propose(source: &SharedSource, sketch: &Sketch, now: Timestamp) -> Result<Vec<Proposal>, TargetError> {
    let mut proposals = Vec::new();
    for candidate in &sketch.candidates {
        let deadline = Deadline::in_format(&candidate.column, candidate.format);
        let keep = SignedDuration::from_hours(24 * i64::from(candidate.keep_days));
        let policy = RowPolicy { keep, ..RowPolicy::new("proposal", &sketch.table, deadline) };
        let surveyed = match RowTarget::bind(source, &policy).await {
            Ok(mut target) => target.survey(Boundary::at(now)).await,
            Err(error) => Err(error),
        };
        let survey = match surveyed {
            Ok(survey) => survey,
            Err(error) if matches!(error.kind(), ErrorKind::Unfit | ErrorKind::Failed | ErrorKind::Denied) => continue,
            Err(error) => return Err(error),
        };
        // Any sixteen bytes can be read as an identifier with a time inside; only true ones are all of our days.
        let plausible = survey.oldest.is_some_and(|oldest| oldest.as_second() >= PLAUSIBLE_FROM_S);
        if candidate.by_age && (!plausible || survey.unreadable > 0) {
            continue;
        }
        proposals.push(Proposal {
            table: sketch.table.clone(),
            rows: sketch.rows,
            candidate: candidate.clone(),
            bygone: survey.bygone,
            oldest: survey.oldest,
        });
        if candidate.by_age {
            break;
        }
    }
    Ok(proposals)
}

fn render(flags: &cli::Init, engine: Engine, packs: &[&Pack], proposals: &[Proposal]) -> String {
    let mut text = String::from("# Proposals for this database. Take the `# ` away from what you want, then\n");
    text.push_str("# `bygone check` and `bygone plan` show what it would do.\n\n");
    let url = match engine {
        Engine::Postgres | Engine::MySql if has_password(&flags.url) => format!("\"${{{VARIABLE}}}\""),
        _ => quoted(&flags.url),
    };
    let _ = writeln!(text, "[source.{SOURCE}]\nurl = {url}");
    if let Some(schema) = &flags.schema {
        let _ = writeln!(text, "schema = {}", quoted(schema));
    }
    for pack in packs {
        let _ = write!(
            text,
            "\n# The tables of the pack {0} are here: `bygone packs show {0}`.\n# [[use]]\n# pack   = \"{0}\"\n\
             # source = \"{SOURCE}\"\n",
            pack.name
        );
    }
    for proposal in proposals {
        text.push_str(&render_proposal(proposal));
    }
    if packs.is_empty() && proposals.is_empty() {
        text.push_str(
            "\n# No column here looks like a deadline. `bygone.reference.toml` shows what a policy can say.\n",
        );
    }
    text
}

fn render_proposal(proposal: &Proposal) -> String {
    let Proposal { table, rows, candidate, bygone, oldest } = proposal;
    let Candidate { column, format, word, keep_days, .. } = candidate;
    let rows = rows.map_or_else(|| "rows not counted".to_owned(), |rows| format!("about {rows} rows"));
    let bygone = bygone.map_or_else(|| "not counted".to_owned(), |bygone| format!("{bygone} bygone"));
    let oldest = oldest.map(|oldest| format!(", the oldest since {}", format_instant(oldest))).unwrap_or_default();
    let deadline = match format {
        Format::Native => quoted(column),
        Format::EpochSeconds => format!("{{ epoch_s = {} }}", quoted(column)),
        Format::EpochMillis => format!("{{ epoch_ms = {} }}", quoted(column)),
        Format::EpochMicros => format!("{{ epoch_us = {} }}", quoted(column)),
        Format::Ulid => format!("{{ ulid = {} }}", quoted(column)),
        Format::Uuid7 => format!("{{ uuid7 = {} }}", quoted(column)),
    };
    let lines = [
        format!("{}: {rows}; {bygone}{oldest}", table.replace(char::is_control, " ")),
        "[[policy]]".to_owned(),
        format!("name     = {}", quoted(&format!("{word}-{}", table.replace(char::is_whitespace, "-")))),
        format!("source   = \"{SOURCE}\""),
        format!("table    = {}", quoted(table)),
        format!("deadline = {deadline}"),
        format!("keep     = \"{keep_days}d\""),
    ];
    let commented: Vec<String> = lines.iter().map(|line| format!("# {line}")).collect();
    format!("\n{}\n", commented.join("\n"))
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
