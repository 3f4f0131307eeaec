//! What concerns a whole area: how much it holds, and cleaning it up.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::{Extension, Json};
use bygone_core::Budget;
use bygone_files::stage::{Stage, StageError};

use super::trouble::broken_off;
use crate::estate::{Absent, StageArea};
use crate::http::App;
use crate::http::documents::ReportDocument;
use crate::http::extract::Name;
use crate::http::problem::{Kind, Problem};
use crate::http::security::Caller;
use crate::stages::TotalsDocument;

/// A cleanup ends within the time that a request has, and says so.
const CLEANUP_TIME: Duration = Duration::from_secs(20);

/// How much is staged, swept or not. It costs the same in an area of any size.
#[utoipa::path(
    get, path = "/stage/v1/{source}/totals", tag = "stage", params(("source" = String, Path, description = "The source")),
    responses((status = OK, body = TotalsDocument)),
)]
pub(in crate::http) async fn totals(
    State(app): State<App>,
    Name(source): Name,
) -> Result<Json<TotalsDocument>, Problem> {
    let StageArea { stage, .. } = open(&app, &source, Absent::Refuse).await?;
    Ok(Json(blocking(move || stage.metrics()).await?.into()))
}

/// Removes now what is past its deadline, and has been for as long as its policy keeps it; never what is persistent or
/// held. The answer is the report of that sweep. One that would take too long ends before, as `budget_runtime`.
#[utoipa::path(
    post, path = "/stage/v1/{source}/cleanup", tag = "stage", params(("source" = String, Path, description = "The source")),
    responses((status = OK, body = ReportDocument)),
)]
pub(in crate::http) async fn cleanup(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Name(source): Name,
) -> Result<Json<serde_json::Value>, Problem> {
    let StageArea { stage, keep } = open(&app, &source, Absent::Refuse).await?;
    tracing::info!(source, by = caller.name(), "a staging area is cleaned up");
    let budget = Budget { run_time: Some(CLEANUP_TIME), ..Budget::default() };
    let report = stage.cleanup(keep, budget, Arc::new(()), app.stop.clone()).await;
    let document = serde_json::to_value(report);
    document.map(Json).map_err(|error| Problem::new(Kind::Failed, error.to_string()))
}

/// The area of a source.
pub(super) async fn open(app: &App, source: &str, absent: Absent) -> Result<StageArea, Problem> {
    let area = app.daemon.estate().stage_area(source, absent).await?;
    area.ok_or_else(|| {
        let detail =
            format!("the source `{source}` has no staging area: a policy of `kind = \"stage\"` over it makes it one");
        Problem::new(Kind::NoSuchArea, detail)
    })
}

/// Asks an area, which blocks.
pub(super) async fn blocking<T: Send + 'static>(
    ask: impl FnOnce() -> Result<T, StageError> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(ask).await {
        Ok(answer) => Ok(answer?),
        Err(error) => Err(broken_off(&error)),
    }
}

/// The same for something by its id.
pub(super) async fn find<T: Send + 'static>(
    stage: Stage,
    id: &str,
    ask: impl FnOnce(&Stage, &bygone_files::stage::AttachmentId) -> Result<Option<T>, StageError> + Send + 'static,
) -> Result<T, Problem> {
    let absent = || Problem::new(Kind::NoSuchFile, format!("nothing that lives is staged as {id}"));
    // What is no id is the id of nothing.
    let parsed = id.parse().map_err(|_| absent())?;
    blocking(move || ask(&stage, &parsed)).await?.ok_or_else(absent)
}
