//! What a sweep of a policy would do now, and the button that begins one.

use axum::extract::State;
use axum::{Extension, Json};
use maud::{Markup, html};
use serde::Deserialize;

use super::layout::{Page, button, facts};
use super::words::{known, known_length, length, policy_path};
use crate::http::App;
use crate::http::extract::Name;
use crate::http::policies;
use crate::http::problem::{Kind, Problem};
use crate::http::security::Caller;

/// The document of `bygone plan --format json`, as far as it is shown here.
#[derive(Debug, Deserialize)]
struct Plan {
    boundary: Option<String>,
    policies: Vec<PolicyPlan>,
}

#[derive(Debug, Deserialize)]
struct PolicyPlan {
    action: Option<String>,
    would_remove: Option<u64>,
    #[serde(default)]
    unreadable: u64,
    oldest: Option<String>,
    lag_seconds: Option<u64>,
    bytes: Option<u64>,
    table: Option<String>,
    path: Option<String>,
    walk: Option<String>,
    why: Option<String>,
    index: Option<String>,
    #[serde(default)]
    statements: Vec<String>,
    #[serde(default)]
    partitions: Vec<String>,
    #[serde(default)]
    children: Vec<String>,
    #[serde(default)]
    warnings: Vec<String>,
    estimated_seconds: Option<u64>,
    brake: Option<String>,
    error: Option<String>,
    help: Option<String>,
}

/// The plan, before anything is done.
pub(super) async fn show(
    State(app): State<App>,
    Extension(viewer): Extension<Caller>,
    Name(name): Name,
) -> Result<Page, Problem> {
    let Json(document) = policies::plan(State(app.clone()), Name(name.clone())).await?;
    let plan: Plan = serde_json::from_value(document).map_err(|error| Problem::new(Kind::Failed, error.to_string()))?;
    let held = app.daemon.held(&name);
    let body = html! {
        h1 { "Plan for " (name) }
        p { a href=(policy_path(&name)) { "Back to the policy" } }
        @for planned in &plan.policies { (told(planned, plan.boundary.as_deref())) (decision(&name, planned, held)) }
    };
    Ok(Page::new(format!("Plan for {name}"), viewer, body))
}

/// The button, or why there is none. A brake is not released here.
fn decision(name: &str, plan: &PolicyPlan, held: Option<&str>) -> Markup {
    html! {
        @if let Some(why) = held {
            p.notice { "The policy is held back: " (why) ". A sweep would do nothing." }
        } @else if plan.error.is_some() {
            p { "A sweep would do nothing while this is so." }
        } @else if plan.brake.is_some() {
            p { "A sweep would be refused. Somebody who has read this can release the brake with "
                code { "bygone sweep --release-brake " (name) } ", or by the API." }
        } @else if plan.would_remove == Some(0) {
            p { "There is nothing to do." }
        } @else {
            div.actions { (button(&format!("{}/sweep", policy_path(name)), "Sweep now", "main")) }
        }
    }
}

fn told(plan: &PolicyPlan, boundary: Option<&str>) -> Markup {
    html! {
        p.count {
            strong { (known(plan.would_remove)) }
            @if plan.action.as_deref() == Some("change") { " items would change" } @else { " items would go" }
        }
        (findings(plan))
        section aria-labelledby="what" {
            h2 #what { "What it would meet" }
            (facts(&met(plan, boundary)))
        }
        (list("Tables whose rows go first", &plan.children))
        (list("Partitions that go as a whole", &plan.partitions))
        @if !plan.statements.is_empty() {
            section aria-labelledby="statements" {
                h2 #statements { "Statements" }
                @for statement in &plan.statements { pre tabindex="0" { code { (statement) } } }
            }
        }
    }
}

/// What a person should know first.
fn findings(plan: &PolicyPlan) -> Markup {
    html! {
        @if let Some(error) = &plan.error {
            p.notice.bad { strong { "It cannot run: " } (error) @if let Some(help) = &plan.help { br; (help) } }
        }
        @if let Some(brake) = &plan.brake { p.notice.bad { strong { "The brake holds: " } (brake) } }
        @if !plan.warnings.is_empty() {
            section.notice aria-labelledby="findings" {
                h2 #findings { "Findings" }
                ul { @for warning in &plan.warnings { li { (warning) } } }
            }
        }
    }
}

fn met<'a>(plan: &'a PolicyPlan, boundary: Option<&str>) -> Vec<(&'a str, Markup)> {
    let text = |name, value: Option<&str>| value.map(|value| (name, html! { (value) }));
    let (oldest, lag) = (text("Oldest", plan.oldest.as_deref()), ("Lag", html! { (known_length(plan.lag_seconds)) }));
    let walk = plan.walk.as_ref().map(|walk| {
        let why = plan.why.as_ref();
        ("Way", html! { (walk) @if let Some(why) = why { " – " (why) } })
    });
    let all = [
        text("Table", plan.table.as_deref()),
        text("Path", plan.path.as_deref()),
        oldest,
        Some(lag),
        text("Boundary", boundary),
        text("Index", plan.index.as_deref()),
        walk,
        Some(("Kept, without a deadline", html! { (known(Some(plan.unreadable))) })),
        plan.bytes.map(|bytes| ("Bytes", html! { (known(Some(bytes))) })),
        plan.estimated_seconds.map(|seconds| ("It would take about", html! { (length(seconds)) })),
    ];
    all.into_iter().flatten().collect()
}

fn list(title: &str, names: &[String]) -> Markup {
    html! {
        @if !names.is_empty() {
            section {
                h2 { (title) }
                ul { @for name in names { li { code { (name) } } } }
            }
        }
    }
}
