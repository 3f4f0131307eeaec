//! Proposals for a database: its schema is read, and what looks like a deadline is tried.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use bygone_core::{Boundary, ErrorKind, Survey, Target, TargetError, format_instant};
use bygone_sql::{
    Candidate, Deadline, Engine, Format, RowPolicy, RowTarget, SharedSource, Sketch, Source, SourceOptions, SourceUrl,
    discover,
};
use jiff::{SignedDuration, Timestamp};

use super::{Proposals, SOURCE, quoted};
use crate::cli;
use crate::config::has_password;
use crate::packs::{PACKS, Pack};

/// The variable that holds a url with a password, which does not belong into a file.
const VARIABLE: &str = "DATABASE_URL";
/// No row of a database that is alive today was made before: 2010.
const PLAUSIBLE_FROM_S: i64 = 1_262_304_000;

/// A policy that could be.
pub(crate) struct Proposal {
    pub(crate) table: String,
    pub(crate) rows: Option<u64>,
    pub(crate) candidate: Candidate,
    bygone: Option<u64>,
    oldest: Option<Timestamp>,
}

/// Whether it is worth the time of the database to count what would go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    /// It is for somebody who will wait for it.
    Everything,
    /// Only where nothing else tells whether a column is a deadline.
    Doubtful,
}

/// What a database could have for policies, but for the tables that are `known` to have one.
pub(super) async fn proposals(
    flags: &cli::Init,
    known: Option<&BTreeSet<String>>,
    now: Timestamp,
) -> Result<Proposals, TargetError> {
    let source = open(flags).await?;
    let sketches = discover(&source).await?;
    let packs = recognised(&sketches);
    let known = known.cloned().unwrap_or_default();
    let proposals = beyond(&source, &sketches, &known, now, Count::Everything).await?;
    let engine = source.lock().await.engine();
    let tables: BTreeSet<&str> = proposals.iter().map(|proposal| proposal.table.as_str()).collect();
    let told = format!("{} tables, {} of them with something that expires and no policy", sketches.len(), tables.len());
    Ok(Proposals { text: render(flags, engine, &packs, &proposals), told })
}

/// How many tables a database has, and what could have policies of those that are not `known` to have one. As little as
/// possible is counted for it.
pub(crate) async fn uncovered(
    source: &SharedSource,
    known: &BTreeSet<String>,
    now: Timestamp,
) -> Result<(usize, Vec<Proposal>), TargetError> {
    let sketches = discover(source).await?;
    Ok((sketches.len(), beyond(source, &sketches, known, now, Count::Doubtful).await?))
}

async fn beyond(
    source: &SharedSource,
    sketches: &[Sketch],
    known: &BTreeSet<String>,
    now: Timestamp,
    count: Count,
) -> Result<Vec<Proposal>, TargetError> {
    let mut proposals = Vec::new();
    for sketch in sketches.iter().filter(|sketch| !known.contains(&sketch.table)) {
        proposals.extend(propose(source, sketch, now, count).await?);
    }
    Ok(proposals)
}

async fn open(flags: &cli::Init) -> Result<SharedSource, TargetError> {
    let mut options = SourceOptions::new(SOURCE, SourceUrl::parse(&flags.url)?);
    options.schema.clone_from(&flags.schema);
    options.read_only = true;
    Ok(Source::open(options).await?.shared())
}

/// Packs all of whose tables are there.
fn recognised(sketches: &[Sketch]) -> Vec<&'static Pack> {
    let tables: BTreeSet<&str> = sketches.iter().map(|sketch| sketch.table.as_str()).collect();
    let fits = |pack: &&Pack| pack.tables().iter().all(|table| tables.contains(table.as_str()));
    PACKS.iter().filter(fits).collect()
}

/// Tries each candidate on the table: what cannot be bound is no deadline.
async fn propose(
    source: &SharedSource,
    sketch: &Sketch,
    now: Timestamp,
    count: Count,
) -> Result<Vec<Proposal>, TargetError> {
    let mut proposals = Vec::new();
    for candidate in &sketch.candidates {
        let deadline = Deadline::in_format(&candidate.column, candidate.format);
        let keep = SignedDuration::from_hours(24 * i64::from(candidate.keep_days));
        let policy = RowPolicy { keep, ..RowPolicy::new("proposal", &sketch.table, deadline) };
        let surveyed = match RowTarget::bind(source, &policy).await {
            Ok(mut target) if count == Count::Everything || candidate.by_age => target.survey(Boundary::at(now)).await,
            Ok(_) => Ok(Survey::default()),
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
    let Proposal { table, rows, bygone, oldest, .. } = proposal;
    let rows = rows.map_or_else(|| "rows not counted".to_owned(), |rows| format!("about {rows} rows"));
    let bygone = bygone.map_or_else(|| "not counted".to_owned(), |bygone| format!("{bygone} bygone"));
    let oldest = oldest.map(|oldest| format!(", the oldest since {}", format_instant(oldest))).unwrap_or_default();
    let found = format!("{}: {rows}; {bygone}{oldest}", table.replace(char::is_control, " "));
    let policy = proposal.policy(SOURCE);
    let commented: Vec<String> =
        std::iter::once(found.as_str()).chain(policy.lines()).map(|line| format!("# {line}")).collect();
    format!("\n{}\n", commented.join("\n"))
}

impl Proposal {
    /// The policy as it would stand in the file.
    pub(crate) fn policy(&self, source: &str) -> String {
        let Self { table, candidate: Candidate { column, format, word, keep_days, .. }, .. } = self;
        let deadline = match format {
            Format::Native => quoted(column),
            Format::EpochSeconds => format!("{{ epoch_s = {} }}", quoted(column)),
            Format::EpochMillis => format!("{{ epoch_ms = {} }}", quoted(column)),
            Format::EpochMicros => format!("{{ epoch_us = {} }}", quoted(column)),
            Format::Ulid => format!("{{ ulid = {} }}", quoted(column)),
            Format::Uuid7 => format!("{{ uuid7 = {} }}", quoted(column)),
        };
        let lines = [
            "[[policy]]".to_owned(),
            format!("name     = {}", quoted(&format!("{word}-{}", table.replace(char::is_whitespace, "-")))),
            format!("source   = {}", quoted(source)),
            format!("table    = {}", quoted(table)),
            format!("deadline = {deadline}"),
            format!("keep     = \"{keep_days}d\""),
        ];
        lines.join("\n")
    }
}
