//! `bygone history`: the sweeps of the daemon, as its ledger tells them, or as it does itself. Nothing is written.

use std::path::Path;
use std::sync::Arc;

use bygone_core::Clock;
use bygone_server::{Ledger, LedgerError, Past, Wanted};
use reqwest::Method;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::cli::{self, Format, Global};
use crate::exit::Exit;
use crate::output;
use crate::problem::Problem;
use crate::remote::{Address, Again, Client, Service};
use crate::serve::state;

/// Sweeps that the daemon tells of at once.
const PAGE_MAX: u32 = 200;

/// Sweeps, the newest first: the document of `GET /api/v1/sweeps`.
#[derive(Debug, Serialize, Deserialize)]
struct History {
    sweeps: Vec<Past>,
    next_before: Option<Uuid>,
}

/// Runs the verb.
pub(crate) async fn run(global: &Global, flags: &cli::History, clock: &Arc<dyn Clock>) -> Result<Exit, Problem> {
    if let Some(daemon) = &flags.daemon {
        let client = Client::new(Address::parse(daemon, Service::Daemon)?, clock)?;
        return match flags.sweep {
            Some(sweep) => told(&client, sweep).await,
            None => show(global.format, &asked(&client, flags).await?),
        };
    }
    let directory = state::directory(flags.state.as_deref())?;
    let ledger = look(&directory, clock).await?.ok_or_else(|| {
        let message = format!("there is no history in {}", directory.display());
        Problem::usage(message, "`bygone serve` keeps one: name its directory with `--state DIR`")
    })?;
    match flags.sweep {
        Some(sweep) => tell(&ledger, sweep).await,
        None => show(global.format, &read(&ledger, flags).await?),
    }
}

fn show(format: Format, history: &History) -> Result<Exit, Problem> {
    match format {
        Format::Table => output::data(output::history::render(&history.sweeps, history.next_before)),
        format => output::json(format, history, &history.sweeps).map_err(|error| Problem::failed(error.to_string()))?,
    }
    Ok(Exit::Done)
}

async fn read(ledger: &Ledger, flags: &cli::History) -> Result<History, Problem> {
    // One more tells whether there is more.
    let wanted = Wanted { before: flags.before, policy: flags.policy.clone(), limit: flags.limit.saturating_add(1) };
    let mut sweeps = ledger.list(wanted).await.map_err(|error| failed(&error))?;
    let is_more = sweeps.len() > usize::try_from(flags.limit).unwrap_or(usize::MAX);
    if is_more {
        sweeps.pop();
    }
    let next_before = sweeps.last().filter(|_| is_more).map(|last| last.sweep);
    Ok(History { sweeps, next_before })
}

/// The same from the daemon, page by page.
async fn asked(client: &Client, flags: &cli::History) -> Result<History, Problem> {
    let mut history = History { sweeps: Vec::new(), next_before: flags.before };
    let mut left = flags.limit;
    loop {
        let limit = left.min(PAGE_MAX);
        let page = || {
            let request = client.request(Method::GET, &["api", "v1", "sweeps"]).query(&[("limit", limit)]);
            let request = request.query(&history.next_before.map(|before| [("before", before)]));
            request.query(&flags.policy.as_ref().map(|policy| [("policy", policy)]))
        };
        let page: History =
            client.ask(page, Again::Yes).await.map_err(|trouble| client.problem(trouble, Again::Yes))?;
        history.sweeps.extend(page.sweeps);
        history.next_before = page.next_before;
        left -= limit;
        if left == 0 || history.next_before.is_none() {
            return Ok(history);
        }
    }
}

/// The history that is kept in a directory, if there is one.
pub(crate) async fn look(directory: &Path, clock: &Arc<dyn Clock>) -> Result<Option<Ledger>, Problem> {
    Ledger::look(&state::ledger_in(directory), Arc::clone(clock)).await.map_err(|error| failed(&error))
}

pub(crate) fn failed(error: &LedgerError) -> Problem {
    let source = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
    Problem::failed(format!("{error}{source}"))
}

/// The report as its sweep wrote it, whatever the format: there is one of it.
async fn tell(ledger: &Ledger, sweep: Uuid) -> Result<Exit, Problem> {
    if let Some(report) = ledger.report(sweep).await.map_err(|error| failed(&error))? {
        output::data(report);
        return Ok(Exit::Done);
    }
    Err(match ledger.sweep(sweep).await.map_err(|error| failed(&error))? {
        Some(_) => unfinished(sweep),
        None => unknown(sweep),
    })
}

/// What the daemon tells of a sweep besides its report.
const BESIDES: [&str; 3] = ["began", "ended", "cause"];

/// The same from the daemon.
async fn told(client: &Client, sweep: Uuid) -> Result<Exit, Problem> {
    let id = sweep.to_string();
    let asked = client.ask(|| client.request(Method::GET, &["api", "v1", "sweeps", &id]), Again::Yes).await;
    let mut report: serde_json::Map<String, serde_json::Value> = asked.map_err(|trouble| match trouble.word() {
        Some("no-such-sweep") => unknown(sweep),
        _ => client.problem(trouble, Again::Yes),
    })?;
    // One that was broken off has no boundary that anybody knows.
    if report.get("ended").is_none_or(serde_json::Value::is_null) || report["boundary"].is_null() {
        return Err(unfinished(sweep));
    }
    report.retain(|field, _| !BESIDES.contains(&field.as_str()));
    output::data(serde_json::Value::Object(report).to_string());
    Ok(Exit::Done)
}

fn unfinished(sweep: Uuid) -> Problem {
    Problem::failed(format!("the sweep {sweep} has no report: it runs, or its daemon was gone before"))
}

fn unknown(sweep: Uuid) -> Problem {
    Problem::usage(format!("the history has no sweep {sweep}"), "`bygone history` lists them")
}
