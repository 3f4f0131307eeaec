//! Whether the daemon lives, and whether it does its work.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::problem::{Kind, Problem};
use crate::ledger::Wanted;

/// How the daemon is.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    /// `alive`, or `ready`.
    status: &'static str,
}

/// Whether the daemon answers at all.
#[utoipa::path(get, path = "/livez", tag = "probes", responses((status = OK, body = Health)))]
pub(super) async fn livez() -> Json<Health> {
    Json(Health { status: "alive" })
}

/// Whether its lanes run and its ledger answers.
#[utoipa::path(get, path = "/readyz", tag = "probes", responses((status = OK, body = Health)))]
pub(super) async fn readyz(State(app): State<App>) -> Result<Json<Health>, Problem> {
    if !app.daemon.is_running() {
        return Err(Problem::new(Kind::NotReady, "not all lanes run"));
    }
    match app.daemon.ledger().list(Wanted { before: None, policy: None, limit: 1 }).await {
        Ok(_) => Ok(Json(Health { status: "ready" })),
        Err(error) => Err(Problem::new(Kind::NotReady, error.to_string())),
    }
}
