//! Policies: how they stand, and what people hold back.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::{Extension, Json};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::App;
use super::documents::{DayDocument, LastRun, PauseDocument, PolicyDetail, PolicyDocument, PolicyList};
use super::extract::Name;
use super::problem::Problem;
use super::security::Caller;
use crate::daemon::{Daemon, RunningSweep};
use crate::estate::{Estate, PolicyCard};
use crate::inspection::Explanation;
use crate::ledger::Standing;

/// The past that charts show.
const DAYS: SignedDuration = SignedDuration::from_hours(30 * 24);

/// All policies, as they stand.
#[utoipa::path(get, path = "/api/v1/policies", tag = "policies", responses((status = OK, body = PolicyList)))]
pub(super) async fn list(State(app): State<App>) -> Result<Json<PolicyList>, Problem> {
    let estate = app.daemon.estate();
    let cards = estate.policies();
    let names = cards.iter().map(|card| card.name.clone()).collect();
    let standings = app.daemon.ledger().standings(names).await?;
    let (now, running) = (app.daemon.clock().now(), running(&app.daemon));
    let told = cards.iter().zip(standings).map(|(card, standing)| tell(&app.daemon, card, standing, now, &running));
    Ok(Json(PolicyList { paused: app.daemon.is_paused(), policies: told.collect() }))
}

/// One policy, with what it did on the last thirty days.
#[utoipa::path(
    get, path = "/api/v1/policies/{name}", tag = "policies", params(("name" = String, Path, description = "The policy")),
    responses((status = OK, body = PolicyDetail)),
)]
pub(super) async fn show(State(app): State<App>, Name(name): Name) -> Result<Json<PolicyDetail>, Problem> {
    let policy = one(&app, &name).await?;
    let meaning = known(&*app.daemon.estate(), &name)?.meaning.clone();
    let since = thirty_days_before(app.daemon.clock().now());
    let days = app.daemon.ledger().days(&name, since).await?.into_iter().map(Into::into).collect();
    let closed_gates = app.daemon.closed_gates_of_policy(&name).await.ok();
    let closed_gates = closed_gates.map(|gates| gates.into_iter().map(Into::into).collect());
    Ok(Json(PolicyDetail { policy, meaning, closed_gates, days }))
}

/// What every policy did on the last thirty days, in their order.
pub(super) async fn days_of_all(app: &App, now: Timestamp) -> Result<Vec<Vec<DayDocument>>, Problem> {
    let names = app.daemon.estate().policies().iter().map(|card| card.name.clone()).collect();
    let days = app.daemon.ledger().days_of_all(names, thirty_days_before(now)).await?;
    Ok(days.into_iter().map(|days| days.into_iter().map(Into::into).collect()).collect())
}

fn thirty_days_before(now: Timestamp) -> Timestamp {
    now.checked_sub(DAYS).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Holds a policy back: a run under way ends before its next page, and none begins.
#[utoipa::path(
    post, path = "/api/v1/policies/{name}/pause", tag = "policies",
    params(("name" = String, Path, description = "The policy")), responses((status = OK, body = PolicyDocument)),
)]
pub(super) async fn pause(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Name(name): Name,
) -> Result<Json<PolicyDocument>, Problem> {
    known(&*app.daemon.estate(), &name)?;
    tracing::info!(policy = name, by = caller.name(), "a policy is paused");
    app.daemon.pause(Some(&name)).await?;
    Ok(Json(one(&app, &name).await?))
}

/// Lets a policy go on.
#[utoipa::path(
    post, path = "/api/v1/policies/{name}/resume", tag = "policies",
    params(("name" = String, Path, description = "The policy")), responses((status = OK, body = PolicyDocument)),
)]
pub(super) async fn resume(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Name(name): Name,
) -> Result<Json<PolicyDocument>, Problem> {
    known(&*app.daemon.estate(), &name)?;
    tracing::info!(policy = name, by = caller.name(), "a policy goes on");
    app.daemon.resume(Some(&name)).await?;
    Ok(Json(one(&app, &name).await?))
}

/// How a policy would go about its work, with what somebody should know first. Nothing is counted for it, and nothing is
/// written; an answer is reused for some seconds.
#[utoipa::path(
    get, path = "/api/v1/policies/{name}/explanation", tag = "policies",
    params(("name" = String, Path, description = "The policy")), responses((status = OK, body = Explanation)),
)]
pub(super) async fn explain(State(app): State<App>, Name(name): Name) -> Result<Json<Explanation>, Problem> {
    Ok(Json(app.daemon.explain(&name).await?))
}

/// What a sweep of a policy would do now. Writes nothing.
#[utoipa::path(
    post, path = "/api/v1/policies/{name}/plan", tag = "policies",
    params(("name" = String, Path, description = "The policy")),
    responses((status = OK, body = Object, description = "The document of `bygone plan --format json`")),
)]
pub(super) async fn plan(State(app): State<App>, Name(name): Name) -> Result<Json<serde_json::Value>, Problem> {
    let estate = app.daemon.estate();
    known(&*estate, &name)?;
    Ok(Json(estate.plan(&name).await?))
}

/// Holds everything back.
#[utoipa::path(post, path = "/api/v1/pause", tag = "policies", responses((status = OK, body = PauseDocument)))]
pub(super) async fn pause_all(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<PauseDocument>, Problem> {
    tracing::info!(by = caller.name(), "everything is paused");
    app.daemon.pause(None).await?;
    Ok(Json(PauseDocument { paused: app.daemon.is_paused() }))
}

/// Lets everything go on, but for what is paused by itself.
#[utoipa::path(post, path = "/api/v1/resume", tag = "policies", responses((status = OK, body = PauseDocument)))]
pub(super) async fn resume_all(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<PauseDocument>, Problem> {
    tracing::info!(by = caller.name(), "everything goes on");
    app.daemon.resume(None).await?;
    Ok(Json(PauseDocument { paused: app.daemon.is_paused() }))
}

async fn one(app: &App, name: &str) -> Result<PolicyDocument, Problem> {
    let estate = app.daemon.estate();
    let card = known(&*estate, name)?;
    let standing = app.daemon.ledger().standing(name).await?;
    Ok(tell(&app.daemon, card, standing, app.daemon.clock().now(), &running(&app.daemon)))
}

fn known<'a>(estate: &'a dyn Estate, name: &str) -> Result<&'a PolicyCard, Problem> {
    estate.policies().iter().find(|card| card.name == name).ok_or_else(|| Problem::no_such_policy(name))
}

fn tell(
    daemon: &Daemon,
    card: &PolicyCard,
    standing: Standing,
    now: Timestamp,
    running: &BTreeMap<String, Uuid>,
) -> PolicyDocument {
    let PolicyCard { name, source, schedule, .. } = card;
    PolicyDocument {
        name: name.clone(),
        source: source.clone(),
        schedule: schedule.as_ref().map(ToString::to_string),
        next_run: daemon.next_run(card, now),
        held: daemon.held(name),
        running: running.get(name).copied(),
        completed: standing.completed,
        last: LastRun::of(standing),
    }
}

/// The policies of sweeps that run, unless they have ended for themselves.
fn running(daemon: &Daemon) -> BTreeMap<String, Uuid> {
    let policies = |RunningSweep { sweep, policies, .. }: RunningSweep| {
        let running = policies.into_iter().filter(|policy| policy.outcome.is_none());
        running.map(move |policy| (policy.policy, sweep))
    };
    daemon.running().into_iter().flat_map(policies).collect()
}
