//! Sources: what keeps their policies from running, what they hold, and what nobody looks after.

use axum::extract::State;
use axum::{Extension, Json};
use jiff::Timestamp;
use maud::{Markup, html};

use super::chart::histogram;
use super::layout::{Column, Page, facts, table};
use super::overview;
use super::words::{known, moment, number, policy_path, size, source_path};
use crate::daemon::NotTold;
use crate::http::App;
use crate::http::extract::Name;
use crate::http::policies;
use crate::http::problem::Problem;
use crate::http::security::Caller;
use crate::http::sources::{self, SourceDocument, SourceList, TurnDocument};
use crate::inspection::{Amount, Coverage, Inspection, LeaseInspection, StageInspection, UncoveredTable};

const LIST: [Column; 5] =
    [("Source", false), ("Kind", false), ("Policies", false), ("Gates", false), ("Turn to sweep", false)];
const NAMESPACES: [Column; 3] = [("Namespace", false), ("Live", true), ("Expired, not yet swept", true)];
const AMOUNTS: [Column; 3] = [("What", false), ("Files", true), ("Bytes", true)];
const FILES: [Column; 4] = [("File", false), ("Ends", false), ("Bytes", true), ("Held", false)];

/// All sources.
pub(super) async fn list(State(app): State<App>, Extension(viewer): Extension<Caller>) -> Page {
    let now = app.daemon.clock().now();
    let Json(SourceList { sources }) = sources::list(State(app)).await;
    let body = html! {
        h1 { "Sources" }
        @if sources.is_empty() { p { "There are no sources. They stand in bygone.toml." } }
        @else { (table("All sources of the configuration", &LIST, sources.iter().map(|source| row(source, now)).collect())) }
    };
    Page::new("Sources", viewer, body)
}

fn row(source: &SourceDocument, now: Timestamp) -> Vec<Markup> {
    vec![
        html! { a href=(source_path(&source.name)) { (source.name) } },
        html! { (source.kind.as_str()) },
        html! {
            @if source.policies.is_empty() { "none" }
            @for (at, policy) in source.policies.iter().enumerate() {
                @if at > 0 { ", " }
                a href=(policy_path(policy)) { (policy) }
            }
        },
        gates(source),
        turn(source.turn.as_ref(), now),
    ]
}

/// Which gates are closed, and why.
fn gates(source: &SourceDocument) -> Markup {
    html! {
        @match &source.closed_gates {
            None => { "not told in time" }
            Some(closed) if closed.is_empty() => { "open" }
            Some(closed) => {
                span.badge.fair { "closed" } " "
                @for (at, gate) in closed.iter().enumerate() { @if at > 0 { "; " } (gate.reason) }
            }
        }
    }
}

fn turn(turn: Option<&TurnDocument>, now: Timestamp) -> Markup {
    html! {
        @match turn {
            None => { "free, as far as was seen" }
            Some(TurnDocument { holder: "this_daemon", at }) => { "this daemon has it, since " (moment(*at, now)) }
            Some(TurnDocument { at, .. }) => { "another sweeper had it, " (moment(*at, now)) }
        }
    }
}

/// One source. Where it does not answer, the rest of the page says what is known without it.
pub(super) async fn show(
    State(app): State<App>,
    Extension(viewer): Extension<Caller>,
    Name(name): Name,
) -> Result<Page, Problem> {
    let source = sources::one(&app, &name).await?;
    let looked = app.daemon.inspect(&name).await;
    let now = app.daemon.clock().now();
    let Json(mut all) = policies::list(State(app)).await?;
    all.policies.retain(|policy| policy.source == name);
    let body = html! {
        h1 { (name) }
        (facts(&[
            ("Kind", html! { (source.kind.as_str()) }),
            ("Gates", gates(&source)),
            ("Turn to sweep", turn(source.turn.as_ref(), now)),
        ]))
        section aria-labelledby="policies" {
            h2 #policies { "Policies" }
            @if all.policies.is_empty() { p { "No policy is over this source: nothing of it is ever swept." } }
            @else { (overview::standings("The policies over this source", &all.policies, now)) }
        }
        @match looked {
            Ok(inspection) => { (held(&inspection, now)) }
            Err(NotTold::Unanswered { message, help }) => {
                p.notice.bad { strong { "The source could not be asked: " } (message) @if let Some(help) = help { br; (help) } }
            }
            // It has gone with a new configuration since the page was begun.
            Err(gone) => { p.notice { (gone) } }
        }
    };
    Ok(Page::new(name, viewer, body))
}

/// What it holds.
fn held(inspection: &Inspection, now: Timestamp) -> Markup {
    let Inspection { leases, staged, coverage } = inspection;
    html! {
        @if let Some(leases) = leases { (held_leases(leases, now)) }
        @if let Some(staged) = staged { (held_files(staged, now)) }
        @if let Some(coverage) = coverage { (covered(coverage)) }
        @if leases.is_none() && staged.is_none() && coverage.is_none() {
            p { "What is in it, and what of that is past its time, a plan of a policy tells." }
        }
    }
}

fn held_leases(leases: &LeaseInspection, now: Timestamp) -> Markup {
    let row = |of: &crate::inspection::NamespaceLeases| {
        vec![
            html! { (of.namespace) },
            html! { (at_least(of.live, of.more)) },
            html! { (at_least(of.expired, of.more)) },
        ]
    };
    html! {
        section aria-labelledby="leases" {
            h2 #leases { "Leases" }
            @if leases.namespaces.is_empty() { p { "Nothing in it has an end." } }
            @else { (table("By namespace, as the index tells", &NAMESPACES, leases.namespaces.iter().map(row).collect())) }
            @if leases.more { p { "There are further namespaces, which were not looked at." } }
        }
        section aria-labelledby="ending" {
            h2 #ending { "What ends in the next hours" }
            (histogram(&leases.hours, now))
        }
    }
}

/// What was cut off is said to be.
fn at_least(count: u64, more: bool) -> String {
    if more { format!("more than {}", number(count)) } else { number(count) }
}

fn held_files(staged: &StageInspection, now: Timestamp) -> Markup {
    let amount = |what, Amount { count, bytes }: Amount| {
        vec![html! { (what) }, html! { (number(count)) }, html! { (size(bytes)) }]
    };
    let amounts = vec![
        amount("Everything", staged.total),
        amount("Persistent", staged.persistent),
        amount("Expirable", staged.expirable),
    ];
    let file = |file: &crate::inspection::StagedFile| {
        vec![
            html! { (file.name) span.source { (file.id.get(..12).unwrap_or(&file.id)) } },
            moment(file.deadline, now),
            html! { (size(file.bytes)) },
            html! { @if file.held { "held" } @else { "no" } },
        ]
    };
    html! {
        section aria-labelledby="staged" {
            h2 #staged { "Staged files" }
            (table("All of the area, swept or not", &AMOUNTS, amounts))
        }
        section aria-labelledby="ending" {
            h2 #ending { "What ends next" }
            @if staged.next.is_empty() { p { "Nothing in it ends." } }
            @else { (table("The soonest first", &FILES, staged.next.iter().map(file).collect())) }
            @if staged.more { p { "There are more." } }
        }
    }
}

fn covered(coverage: &Coverage) -> Markup {
    html! {
        section aria-labelledby="coverage" {
            h2 #coverage { "Coverage" }
            @if coverage.uncovered.is_empty() {
                p { "Of " (number(coverage.tables)) " tables none looks as if it expired without a policy." }
            } @else {
                p { "Of " (number(coverage.tables)) " tables these look as if they expire, and have no policy. What stands
                    below each is a policy to begin with: " code { "bygone plan" } " shows what it would do." }
                @for (at, table) in coverage.uncovered.iter().enumerate() { (uncovered(at, table)) }
            }
        }
    }
}

fn uncovered(at: usize, table: &UncoveredTable) -> Markup {
    let id = format!("uncovered-{at}");
    html! {
        section aria-labelledby=(id) {
            h3 id=(id) { code { (table.table) } ", by " code { (table.column) } }
            (facts(&[
                ("Index", html! { @if let Some(index) = &table.index { (index) } @else { span.badge.fair { "none" } } }),
                ("Rows, about", html! { (known(table.rows)) }),
            ]))
            pre tabindex="0" { code { (table.proposal) } }
        }
    }
}
