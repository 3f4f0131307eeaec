//! What those look at who watch: alarms, and numbers for Prometheus.

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::documents::AlarmDocument;
use super::problem::{Kind, Problem};

/// What Prometheus asks for first.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Everything that a person should look at.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AlarmList {
    /// As long as their causes are there; nobody has to acknowledge them.
    alarms: Vec<AlarmDocument>,
}

/// What a person should look at.
#[utoipa::path(get, path = "/api/v1/alarms", tag = "watch", responses((status = OK, body = AlarmList)))]
pub(super) async fn alarms(State(app): State<App>) -> Json<AlarmList> {
    Json(AlarmList { alarms: app.daemon.alarms().into_iter().map(Into::into).collect() })
}

/// Numbers for Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = "watch",
    responses((status = OK, body = String, content_type = "application/openmetrics-text", description = "OpenMetrics")),
)]
pub(super) async fn metrics(State(app): State<App>) -> Result<Response, Problem> {
    let told = app.daemon.metrics().await.map_err(|error| Problem::new(Kind::Failed, error.to_string()))?;
    Ok(([(CONTENT_TYPE, OPEN_METRICS)], told).into_response())
}
