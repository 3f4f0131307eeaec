//! Sweeps: all of them, and one with its pages as they happen.

use axum::extract::State;
use axum::{Extension, Json};
use jiff::Timestamp;
use maud::{Markup, html};

use super::layout::{Column, Page, facts, outcome, table};
use super::words::{instant, known, moment, number, plain, policy_path};
use crate::http::App;
use crate::http::documents::{KeptBackDocument, RunDocument, SweepDocument, SweepList};
use crate::http::extract::{Parameters, SweepId};
use crate::http::problem::Problem;
use crate::http::security::Caller;
use crate::http::sweeps::{self, SweepQuery};
use crate::ledger::Past;

const LIST: [Column; 5] =
    [("Began", false), ("Outcome", false), ("Removed", true), ("Policies", false), ("Begun by", false)];
const RUNS: [Column; 9] = [
    ("Policy", false),
    ("Outcome", false),
    ("Removed", true),
    ("Changed", true),
    ("Kept: referenced", true),
    ("Kept: locked", true),
    ("Kept: unreadable", true),
    ("Kept: conflict", true),
    ("Pages", true),
];

/// Sweeps, the newest first.
pub(super) async fn list(
    State(app): State<App>,
    Extension(viewer): Extension<Caller>,
    Parameters(query): Parameters<SweepQuery>,
) -> Result<Page, Problem> {
    let now = app.daemon.clock().now();
    let Json(SweepList { sweeps, next_before }) = sweeps::list(State(app), Parameters(query)).await?;
    let body = html! {
        h1 { "Sweeps" }
        @if sweeps.is_empty() { p { "There was none yet." } }
        @else { (listed(sweeps.into_iter().map(Into::into).collect(), now)) }
        @if let Some(before) = next_before { p { a href={ "/sweeps?before=" (before) } { "Older ones" } } }
    };
    Ok(Page::new("Sweeps", viewer, body))
}

/// Sweeps in a table.
pub(super) fn listed(sweeps: Vec<Past>, now: Timestamp) -> Markup {
    let row = |past: Past| {
        vec![
            html! { a href={ "/sweeps/" (past.sweep) } { (instant(past.began)) } },
            html! { (outcome(past.outcome.as_deref())) @if let Some(ended) = past.ended { " " (moment(ended, now)) } },
            html! { (number(past.removed)) },
            html! {
                @for (at, policy) in past.policies.iter().enumerate() {
                    @if at > 0 { ", " }
                    a href=(policy_path(policy)) { (policy) }
                }
            },
            html! { (past.cause) },
        ]
    };
    table("The newest first", &LIST, sweeps.into_iter().map(row).collect())
}

/// One sweep. While it runs, the script listens to its events.
pub(super) async fn show(
    State(app): State<App>,
    Extension(viewer): Extension<Caller>,
    SweepId(id): SweepId,
) -> Result<Page, Problem> {
    let Json(sweep) = sweeps::show(State(app), SweepId(id)).await?;
    let SweepDocument { began, ended, cause, report } = sweep;
    let removed: u64 = report.policies.iter().map(|run| run.removed).sum();
    let events = ended.is_none().then(|| format!("/api/v1/sweeps/{id}/events"));
    let body = html! {
        h1 { "Sweep of " (instant(began)) }
        div.live data-events=[events] {
            p.count { strong #removed { (number(removed)) } " removed " span #state { (outcome(report.outcome.as_deref())) } }
            p #progress role="status" aria-live="polite" {
                @if ended.is_none() { "The sweep is running." }
            }
            @if ended.is_none() {
                noscript { p { a href={ "/sweeps/" (id) } { "Look again" } " – without scripts this page does not move by itself." } }
            }
            (table("What became of each policy", &RUNS, report.policies.iter().map(run).collect()))
            @for run in &report.policies { (remarks(run)) }
            (facts(&[
                ("Begun by", html! { (cause) }),
                ("Began", instant(began)),
                ("Ended", ended.map_or_else(|| html! { "–" }, instant)),
                ("Boundary", html! { (report.boundary.as_deref().unwrap_or("–")) }),
                ("Name", html! { code { (id) } }),
            ]))
        }
    };
    Ok(Page::new(format!("Sweep {id}"), viewer, body))
}

/// A row that the script finds by its policy.
fn run(run: &RunDocument) -> Vec<Markup> {
    let kept = |reason: &'static str, of: fn(&KeptBackDocument) -> u64| {
        let count = run.kept_back.as_ref().map(of);
        counted(&run.policy, reason, count)
    };
    vec![
        html! { a href=(policy_path(&run.policy)) { (run.policy) } },
        html! { span data-policy=(run.policy) data-count="outcome" { (outcome(run.outcome.as_deref())) } },
        counted(&run.policy, "removed", Some(run.removed)),
        counted(&run.policy, "cleared", Some(run.cleared)),
        kept("referenced", |kept| kept.referenced),
        kept("locked", |kept| kept.locked),
        kept("unreadable", |kept| kept.unreadable),
        kept("conflict", |kept| kept.conflict),
        counted(&run.policy, "pages", run.pages),
    ]
}

fn counted(policy: &str, what: &str, count: Option<u64>) -> Markup {
    html! { span data-policy=(policy) data-count=(what) { (known(count)) } }
}

/// What the numbers do not say.
fn remarks(run: &RunDocument) -> Markup {
    html! {
        @if let Some(error) = &run.error {
            p.notice.bad { strong { (run.policy) ": " } (error) @if let Some(help) = &run.help { br; (help) } }
        }
        @if let Some(gate) = &run.stopped_by { p.notice { strong { (run.policy) ": " } "stopped by " (plain(gate)) } }
        @for warning in &run.warnings { p.notice { strong { (run.policy) ": " } (warning) } }
        @if !run.children.is_empty() {
            p { strong { (run.policy) ": " } "along with them went "
                @for (at, (table, count)) in run.children.iter().enumerate() {
                    @if at > 0 { ", " } (number(*count)) " of " code { (table) }
                }
            }
        }
    }
}
