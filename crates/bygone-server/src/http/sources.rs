//! Sources: what keeps their policies from running, and what a look at them tells.

use axum::Json;
use axum::extract::State;
use bygone_core::Hindrance;
use futures_util::future::join_all;
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::extract::Name;
use super::problem::{Kind, Problem};
use crate::daemon::{ClosedGate, Daemon, NotTold, TurnHolder, TurnSeen};
use crate::estate::{Estate, SourceCard};
use crate::inspection::{Inspection, SourceKind};

/// All sources.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SourceList {
    /// In the order of their names.
    pub(super) sources: Vec<SourceDocument>,
}

/// A source, as it stands.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SourceDocument {
    /// Its name.
    pub(super) name: String,
    /// What it is.
    pub(super) kind: SourceKind,
    /// Its policies, in the order of the configuration.
    pub(super) policies: Vec<String>,
    /// The gates that let nothing of it be swept now; null where that could not be told in time.
    pub(super) closed_gates: Option<Vec<GateDocument>>,
    /// Who was seen with the turn to sweep it; null if nobody was.
    pub(super) turn: Option<TurnDocument>,
}

/// A gate that is closed.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct GateDocument {
    /// What kind of gate: `activity`, `window`, `lag` or `held`, as in the outcome of a run that it stops.
    by: &'static str,
    /// Why it is closed.
    pub(super) reason: String,
}

impl From<ClosedGate> for GateDocument {
    fn from(ClosedGate { by, reason }: ClosedGate) -> Self {
        let by = match by {
            Hindrance::Activity => "activity",
            Hindrance::Window => "window",
            Hindrance::Lag => "lag",
            Hindrance::Held => "held",
        };
        Self { by, reason }
    }
}

/// Who has the turn to sweep a source.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TurnDocument {
    /// `this_daemon` or `another`.
    pub(super) holder: &'static str,
    /// When that was found.
    #[schema(value_type = String, format = DateTime)]
    pub(super) at: Timestamp,
}

impl From<TurnSeen> for TurnDocument {
    fn from(TurnSeen { holder, at }: TurnSeen) -> Self {
        let holder = match holder {
            TurnHolder::ThisDaemon => "this_daemon",
            TurnHolder::Another => "another",
        };
        Self { holder, at }
    }
}

/// A source, with what a look at it tells.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SourceDetail {
    #[serde(flatten)]
    source: SourceDocument,
    #[serde(flatten)]
    inspection: Inspection,
}

/// All sources, as they stand. What they hold is not asked.
#[utoipa::path(get, path = "/api/v1/sources", tag = "sources", responses((status = OK, body = SourceList)))]
pub(super) async fn list(State(app): State<App>) -> Json<SourceList> {
    let estate = app.daemon.estate();
    let sources = join_all(estate.sources().iter().map(|card| tell(&app.daemon, &*estate, card))).await;
    Json(SourceList { sources })
}

/// One source, and what a bounded look at it tells: the leases of a lease store, the files of a staging area, the tables of
/// a database that expire and have no policy. Writes nothing; an answer is reused for some seconds.
#[utoipa::path(
    get, path = "/api/v1/sources/{name}", tag = "sources", params(("name" = String, Path, description = "The source")),
    responses((status = OK, body = SourceDetail)),
)]
pub(super) async fn show(State(app): State<App>, Name(name): Name) -> Result<Json<SourceDetail>, Problem> {
    let source = one(&app, &name).await?;
    let inspection = app.daemon.inspect(&name).await?;
    Ok(Json(SourceDetail { source, inspection }))
}

/// One source, without a look at it.
pub(super) async fn one(app: &App, name: &str) -> Result<SourceDocument, Problem> {
    let estate = app.daemon.estate();
    let card = estate.sources().iter().find(|card| card.name == name);
    let card = card.ok_or_else(|| Problem::from(NotTold::NoSuchSource(name.to_owned())))?;
    Ok(tell(&app.daemon, &*estate, card).await)
}

async fn tell(daemon: &Daemon, estate: &dyn Estate, card: &SourceCard) -> SourceDocument {
    let SourceCard { name, kind, .. } = card;
    let policies = estate.policies().iter().filter(|policy| policy.source == *name);
    let closed_gates = daemon.closed_gates(name).await.ok();
    SourceDocument {
        name: name.clone(),
        kind: *kind,
        policies: policies.map(|policy| policy.name.clone()).collect(),
        closed_gates: closed_gates.map(|gates| gates.into_iter().map(Into::into).collect()),
        turn: daemon.turn_seen(name).map(Into::into),
    }
}

impl From<NotTold> for Problem {
    fn from(why: NotTold) -> Self {
        match why {
            NotTold::NoSuchPolicy(name) => Self::no_such_policy(&name),
            NotTold::NoSuchSource(name) => {
                let detail = format!("there is no source `{name}`: GET /api/v1/sources has them all");
                Self::new(Kind::NoSuchSource, detail)
            }
            NotTold::Unanswered { message, help: Some(help) } => Self::new(Kind::Source, format!("{message}: {help}")),
            NotTold::Unanswered { message, help: None } => Self::new(Kind::Source, message),
        }
    }
}
