//! The configuration in force, and why the one on disk is not.

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use crate::daemon::{Configuration, Rejected, RestartNeeded};

/// How the configuration in force and the one on disk stand to each other.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ConfigurationDocument {
    /// When the one in force was read.
    #[schema(value_type = String, format = DateTime)]
    read: Timestamp,
    /// Why the one on disk cannot be used; null if it is in force.
    rejected: Option<RejectedDocument>,
    /// What of the one in force waits for a restart; null if nothing does.
    restart_needed: Option<RestartDocument>,
}

/// A configuration on disk that cannot be used.
#[derive(Debug, Serialize, ToSchema)]
struct RejectedDocument {
    /// Since when there is none that can.
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    /// What is wrong with it: the diagnostic of the log, in lines of plain text.
    diagnostic: String,
}

/// Something that only a restart takes over.
#[derive(Debug, Serialize, ToSchema)]
struct RestartDocument {
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    /// The keys of `[serve]` that say something else than when the daemon was started.
    keys: Vec<&'static str>,
}

impl From<Configuration> for ConfigurationDocument {
    fn from(Configuration { read, rejected, restart_needed }: Configuration) -> Self {
        let rejected = rejected.map(|Rejected { since, diagnostic }| RejectedDocument { since, diagnostic });
        let restart_needed = restart_needed.map(|RestartNeeded { since, keys }| RestartDocument { since, keys });
        Self { read, rejected, restart_needed }
    }
}

/// Whether the configuration on disk is in force, and if not, why.
#[utoipa::path(
    get, path = "/api/v1/configuration", tag = "watch", responses((status = OK, body = ConfigurationDocument)),
)]
pub(super) async fn show(State(app): State<App>) -> Json<ConfigurationDocument> {
    Json(app.daemon.configuration().into())
}
