//! One policy: what it means, how it stands, what it did.

use axum::extract::State;
use axum::{Extension, Json};
use jiff::Timestamp;
use maud::{Markup, html};

use super::chart::chart;
use super::layout::{Page, button, facts, may_operate, outcome};
use super::overview::alarmed;
use super::sweeps;
use super::words::{instant, known, known_length, moment, number, policy_path, source_path};
use crate::daemon::NotTold;
use crate::http::App;
use crate::http::documents::{PolicyDetail, PolicyDocument};
use crate::http::extract::Name;
use crate::http::policies;
use crate::http::problem::Problem;
use crate::http::security::Caller;
use crate::inspection::Explanation;
use crate::ledger::Wanted;

/// So many sweeps are shown; there is a link to the others.
const SWEEPS: u32 = 10;

/// The page of a policy.
pub(super) async fn show(
    State(app): State<App>,
    Extension(viewer): Extension<Caller>,
    Name(name): Name,
) -> Result<Page, Problem> {
    let now = app.daemon.clock().now();
    let Json(PolicyDetail { policy, meaning, closed_gates, days }) =
        policies::show(State(app.clone()), Name(name.clone())).await?;
    let wanted = Wanted { before: None, policy: Some(name.clone()), limit: SWEEPS };
    let past = app.daemon.ledger().list(wanted).await?;
    let alarms: Vec<_> = app.daemon.alarms().into_iter().filter(|alarm| alarm.policy == name).collect();
    let explained = app.daemon.explain(&name).await;
    let body = html! {
        h1 { (name) }
        @if !meaning.is_empty() { p.lead { (meaning) } }
        (alarmed(&alarms, now))
        @if let Some(why) = policy.held { p.notice { strong { "Held back: " } (why) "." } }
        @for gate in closed_gates.iter().flatten() { p.notice { strong { "Waits: " } (gate.reason) "." } }
        @if may_operate(&viewer) { (actions(&policy, app.daemon.is_paused())) }
        section aria-labelledby="standing" {
            h2 #standing { "How it stands" }
            (standing(&policy, now))
        }
        section aria-labelledby="days" {
            h2 #days { "Removed per day" }
            (chart(&days, now))
        }
        section aria-labelledby="past" {
            h2 #past { "Last sweeps" }
            @if past.is_empty() { p { "It never ran." } } @else { (sweeps::listed(past, now)) }
        }
        (explanation(explained))
    };
    Ok(Page::new(name, viewer, body))
}

/// How it would go about its work. Where its source does not answer, the rest of the page says what is known without.
fn explanation(explained: Result<Explanation, NotTold>) -> Markup {
    let told = match explained {
        Ok(told) => told,
        Err(NotTold::Unanswered { message, help }) => {
            return html! {
                p.notice.bad { strong { "The source could not be asked: " } (message) @if let Some(help) = help { br; (help) } }
            };
        }
        // It has gone with a new configuration since the page was begun.
        Err(gone) => return html! { p.notice { (gone) } },
    };
    let Explanation { place, walk, why, index, statements, findings } = told;
    let walk = walk.unwrap_or_else(|| "–".to_owned());
    html! {
        @if !findings.is_empty() {
            section.notice aria-labelledby="findings" {
                h2 #findings { "Findings" }
                ul { @for finding in &findings { li { (finding.message) " (" code { (finding.code) } ")" br; (finding.help) } } }
            }
        }
        section aria-labelledby="way" {
            h2 #way { "How it goes about it" }
            (facts(&[
                ("Place", html! { (place) }),
                ("Way", html! { (walk) @if let Some(why) = &why { " – " (why) } }),
                ("Index", html! { (index.as_deref().unwrap_or("–")) }),
            ]))
            @if !statements.is_empty() {
                h3 { "Statements of a page" }
                @for statement in &statements { pre tabindex="0" { code { (statement) } } }
            }
        }
    }
}

/// One policy is not let go on alone where everything is paused.
fn actions(policy: &PolicyDocument, is_all_paused: bool) -> Markup {
    let path = policy_path(&policy.name);
    html! {
        div.actions {
            a.button href={ (path) "/plan" } { "Plan a sweep" }
            @if is_all_paused {}
            @else if policy.held.is_some() { (button(&format!("{path}/resume"), "Resume", "quiet")) }
            @else { (button(&format!("{path}/pause"), "Pause", "quiet")) }
        }
    }
}

fn standing(policy: &PolicyDocument, now: Timestamp) -> Markup {
    let last = policy.last.as_ref();
    let ran = match (policy.running, last) {
        (Some(sweep), _) => html! { a href={ "/sweeps/" (sweep) } { (outcome(None)) } },
        (None, Some(last)) => html! { (outcome(last.outcome.as_deref())) " " (moment(last.ended, now)) },
        (None, None) => html! { "never" },
    };
    let next = match (&policy.schedule, policy.next_run) {
        (Some(schedule), Some(next)) => html! { (moment(next, now)) " (" (schedule) ")" },
        (Some(schedule), None) => html! { "never again (" (schedule) ")" },
        (None, _) => html! { "never by itself" },
    };
    facts(&[
        ("Source", html! { a href=(source_path(&policy.source)) { (policy.source) } }),
        ("Last run", ran),
        ("Last complete", policy.completed.map_or_else(|| html! { "never" }, instant)),
        ("Next run", next),
        ("Removed last", html! { (known(last.map(|last| last.removed))) }),
        ("Kept back last", html! { (last.map_or_else(|| "–".to_owned(), |last| number(last.kept_back))) }),
        ("Backlog", html! { (known(last.and_then(|last| last.backlog))) }),
        ("Lag", html! { (known_length(last.and_then(|last| last.lag_seconds))) }),
    ])
}
