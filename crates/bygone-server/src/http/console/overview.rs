//! All policies at a glance, with what a person should look at on top.

use axum::extract::State;
use axum::{Extension, Json};
use jiff::Timestamp;
use maud::{Markup, html};

use super::chart::chart;
use super::configuration;
use super::layout::{Column, Page, outcome, table};
use super::words::{known, known_length, known_moment, moment, plain, policy_path, source_path};
use crate::http::App;
use crate::http::documents::{DayDocument, PolicyDocument};
use crate::http::policies;
use crate::http::problem::Problem;
use crate::http::security::Caller;
use crate::watch::Alarm;

const COLUMNS: [Column; 6] = [
    ("Policy", false),
    ("Last run", false),
    ("Next run", false),
    ("Backlog", true),
    ("Lag", true),
    ("Removed per day", false),
];

/// The first page.
pub(super) async fn show(State(app): State<App>, Extension(viewer): Extension<Caller>) -> Result<Page, Problem> {
    let now = app.daemon.clock().now();
    let Json(list) = policies::list(State(app.clone())).await?;
    let days = policies::days_of_all(&app, now).await?;
    let alarms = app.daemon.alarms();
    let row = |(policy, days): (&PolicyDocument, &Vec<DayDocument>)| {
        let mut row = standing(policy, now);
        row[0] = html! { (row[0]) a.source href=(source_path(&policy.source)) { (policy.source) } };
        row.push(chart(days, now));
        row
    };
    let rows = list.policies.iter().zip(&days).map(row).collect();
    let body = html! {
        h1 { "Policies" }
        (configuration::told(&app.daemon.configuration(), now))
        (alarmed(&alarms, now))
        @if list.paused {
            p.notice { strong { "Everything is paused. " } "No sweep begins until it is resumed." }
        }
        @if list.policies.is_empty() {
            p { "There are no policies. They stand in bygone.toml." }
        } @else {
            (table("All policies that are switched on", &COLUMNS, rows))
        }
    };
    Ok(Page::new("Policies", viewer, body))
}

/// Policies in a table, as they stand.
pub(super) fn standings(caption: &str, policies: &[PolicyDocument], now: Timestamp) -> Markup {
    table(caption, &COLUMNS[..5], policies.iter().map(|policy| standing(policy, now)).collect())
}

fn standing(policy: &PolicyDocument, now: Timestamp) -> Vec<Markup> {
    let last = policy.last.as_ref();
    vec![
        html! { a href=(policy_path(&policy.name)) { (policy.name) } },
        state(policy, now),
        known_moment(policy.next_run, now),
        html! { (known(last.and_then(|last| last.backlog))) },
        html! { (known_length(last.and_then(|last| last.lag_seconds))) },
    ]
}

/// What it does, or did last.
fn state(policy: &PolicyDocument, now: Timestamp) -> Markup {
    html! {
        @if let Some(sweep) = policy.running {
            a href={ "/sweeps/" (sweep) } { (outcome(None)) }
        } @else if let Some(last) = &policy.last {
            a href={ "/sweeps/" (last.sweep) } { (outcome(last.outcome.as_deref())) }
            " " (moment(last.ended, now))
        } @else {
            "never ran"
        }
        @if policy.held.is_some() { " " span.badge.fair { "paused" } }
    }
}

/// What a person should look at.
pub(super) fn alarmed(alarms: &[Alarm], now: Timestamp) -> Markup {
    html! {
        @if !alarms.is_empty() {
            section.alarms aria-label="Alarms" {
                h2 { "Alarms" }
                ul {
                    @for alarm in alarms {
                        li {
                            strong { (plain(alarm.kind.as_str())) } ": "
                            a href=(policy_path(&alarm.policy)) { (alarm.policy) } " – " (alarm.message)
                            " (since " (moment(alarm.since, now)) ")"
                        }
                    }
                }
            }
        }
    }
}
