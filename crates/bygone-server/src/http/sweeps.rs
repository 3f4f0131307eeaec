//! Sweeps: started, listed, told.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::{Extension, Json};
use bygone_core::Consent;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::App;
use super::documents::{SweepDocument, SweepList, SweepStarted};
use super::extract::{Body, Parameters, SweepId};
use super::problem::{Kind, Problem};
use super::security::{Caller, Scope};
use crate::daemon::{Daemon, RunningSweep};
use crate::ledger::Wanted;

const PAGE: u32 = 50;
const PAGE_MAX: u32 = 200;

/// What is to be swept.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SweepRequest {
    /// Policies of one source.
    #[schema(min_items = 1)]
    policies: BTreeSet<String>,
    /// Those of them that may remove more than their brake allows. Needs the scope `admin`.
    #[serde(default)]
    release_brake: BTreeSet<String>,
}

/// Begins a sweep, and answers as soon as it has begun. While its source is being swept the answer waits; who does not wait
/// for it gets no sweep.
#[utoipa::path(
    post, path = "/api/v1/sweeps", tag = "sweeps", request_body = SweepRequest,
    responses((status = ACCEPTED, body = SweepStarted, headers(("Location" = String, description = "The sweep")))),
)]
pub(super) async fn start(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Body(request): Body<SweepRequest>,
) -> Result<impl IntoResponse, Problem> {
    let SweepRequest { policies, release_brake } = request;
    if policies.is_empty() {
        return Err(Problem::new(Kind::Unprocessable, "`policies` is empty: name at least one"));
    }
    if let Some(stranger) = release_brake.difference(&policies).next() {
        let detail = format!("`release_brake` names `{stranger}`, which is not among `policies`");
        return Err(Problem::new(Kind::Unprocessable, detail));
    }
    if !release_brake.is_empty() {
        caller.must_have(Scope::Admin)?;
    }
    let released = !release_brake.is_empty();
    let consents: BTreeMap<_, _> = release_brake.into_iter().map(|policy| (policy, Consent::Released)).collect();
    let sweep = app.daemon.sweep(policies.into_iter().collect(), consents).await?;
    tracing::info!(%sweep, by = caller.name(), released, "a sweep was asked for");
    let location = [(header::LOCATION, format!("/api/v1/sweeps/{sweep}"))];
    Ok((StatusCode::ACCEPTED, location, Json(SweepStarted { sweep })))
}

/// Which sweeps to tell of.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SweepQuery {
    pub(super) policy: Option<String>,
    pub(super) limit: Option<u32>,
    pub(super) before: Option<Uuid>,
}

/// Sweeps, the newest first.
#[utoipa::path(
    get, path = "/api/v1/sweeps", tag = "sweeps", responses((status = OK, body = SweepList)),
    params(
        ("policy" = Option<String>, Query, description = "Only those with this policy in them"),
        ("limit" = Option<u32>, Query, description = "At most so many: 50, if nothing is said", minimum = 1, maximum = 200),
        ("before" = Option<Uuid>, Query, description = "Only those that began before this one"),
    ),
)]
pub(super) async fn list(
    State(app): State<App>,
    Parameters(query): Parameters<SweepQuery>,
) -> Result<Json<SweepList>, Problem> {
    let limit = query.limit.unwrap_or(PAGE);
    if !(1..=PAGE_MAX).contains(&limit) {
        return Err(Problem::new(Kind::BadRequest, format!("`limit` is {limit}: it goes from 1 to {PAGE_MAX}")));
    }
    // One more tells whether there is another page.
    let wanted = Wanted { before: query.before, policy: query.policy, limit: limit + 1 };
    let mut sweeps = app.daemon.ledger().list(wanted).await?;
    let is_more = sweeps.len() > usize::try_from(limit).unwrap_or(usize::MAX);
    if is_more {
        sweeps.pop();
    }
    let next_before = sweeps.last().filter(|_| is_more).map(|last| last.sweep);
    Ok(Json(SweepList { sweeps: sweeps.into_iter().map(Into::into).collect(), next_before }))
}

/// One sweep: its report, or how far it has come.
#[utoipa::path(
    get, path = "/api/v1/sweeps/{id}", tag = "sweeps", params(("id" = Uuid, Path, description = "The sweep")),
    responses((status = OK, body = SweepDocument)),
)]
pub(super) async fn show(State(app): State<App>, SweepId(id): SweepId) -> Result<Json<SweepDocument>, Problem> {
    let attended = app.daemon.attend(id);
    Ok(Json(tell(&app.daemon, id, attended.as_ref().map(|(running, _)| running)).await?))
}

/// A sweep as it is now. Whether it runs was asked before: one that has ended meanwhile stands in the ledger.
pub(super) async fn tell(daemon: &Daemon, id: Uuid, running: Option<&RunningSweep>) -> Result<SweepDocument, Problem> {
    let ledger = daemon.ledger();
    let past = ledger.sweep(id).await?;
    let past = past.ok_or_else(|| Problem::new(Kind::NoSuchSweep, format!("the history has no sweep {id}")))?;
    if let Some(running) = running.filter(|_| past.ended.is_none()) {
        return Ok(SweepDocument::running(past, running.clone()));
    }
    match ledger.report(id).await? {
        Some(report) => SweepDocument::ended(past, &report).map_err(|error| {
            tracing::error!(%error, sweep = %id, "a report in the ledger cannot be read");
            Problem::new(Kind::Failed, "the report cannot be read: the log of the daemon says why")
        }),
        None => Ok(SweepDocument::interrupted(past, ledger.runs(id).await?)),
    }
}
