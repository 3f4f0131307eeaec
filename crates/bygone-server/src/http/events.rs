//! Pages as they happen: server-sent events of one sweep.
//!
//! Whoever comes in the middle is told first how far the sweep has come, and hears the rest once. The stream ends with the
//! sweep.

use std::convert::Infallible;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use bygone_core::CancellationToken;
use futures_util::stream::{self, Stream};
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::{Receiver, error::RecvError};
use utoipa::ToSchema;
use uuid::Uuid;

use super::App;
use super::extract::SweepId;
use super::problem::{Kind, Problem};
use super::sweeps;
use crate::daemon::{Daemon, Happening, What};

/// An event, as it goes over the wire.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "it describes what axum writes, for the OpenAPI document")]
pub(super) struct EventDocument {
    /// What happened.
    event: String,
    /// More of it, as JSON.
    #[schema(content_media_type = "application/json")]
    data: String,
}

/// The events of a sweep: `state` first, then pages as they happen, until `sweep_ended`.
#[utoipa::path(
    get, path = "/api/v1/sweeps/{id}/events", tag = "sweeps", params(("id" = Uuid, Path, description = "The sweep")),
    responses((
        status = OK, body = EventDocument, content_type = "text/event-stream",
        description = "`state` (the sweep as it is), `sweep_started`, `policy_started`, `page`, `page_failed`, \
            `policy_ended`, `missed` (how many events; a `state` follows), `sweep_ended`",
    )),
)]
pub(super) async fn events(
    State(app): State<App>,
    SweepId(id): SweepId,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let permit = app.streams.clone().try_acquire_owned();
    let permit = permit.map_err(|_| Problem::new(Kind::Busy, "too many listen to events already"))?;
    let listener = Listener::new(app.daemon.clone(), id, app.stop.clone(), permit).await?;
    let events = stream::unfold(listener, |mut listener| async {
        let event = listener.next().await?;
        Some((Ok(event), listener))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(app.heartbeat)))
}

/// Somebody who listens to a sweep.
struct Listener {
    daemon: Daemon,
    sweep: Uuid,
    stop: CancellationToken,
    /// What is to be told next, the last first.
    ready: Vec<Event>,
    /// What happens; `None` once nothing more does.
    rest: Option<Receiver<Happening>>,
    _permit: OwnedSemaphorePermit,
}

impl Listener {
    async fn new(
        daemon: Daemon,
        sweep: Uuid,
        stop: CancellationToken,
        permit: OwnedSemaphorePermit,
    ) -> Result<Self, Problem> {
        let mut listener = Self { daemon, sweep, stop, ready: Vec::new(), rest: None, _permit: permit };
        listener.catch_up().await?;
        Ok(listener)
    }

    /// Tells how far the sweep has come, and listens from there on.
    async fn catch_up(&mut self) -> Result<(), Problem> {
        let attended = self.daemon.attend(self.sweep);
        let state = sweeps::tell(&self.daemon, self.sweep, attended.as_ref().map(|(running, _)| running)).await?;
        if let Some(outcome) = state.outcome() {
            self.ready.push(event("sweep_ended", &Ended { sweep: self.sweep, event: "sweep_ended", outcome }));
            self.rest = None;
        } else {
            self.rest = attended.map(|(_, rest)| rest);
        }
        self.ready.push(event("state", &state));
        Ok(())
    }

    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop() {
                return Some(event);
            }
            let rest = self.rest.as_mut()?;
            let happening = tokio::select! {
                () = self.stop.cancelled() => return None,
                happening = rest.recv() => happening,
            };
            match happening {
                Ok(happening) if happening.sweep != self.sweep => {}
                Ok(happening) => {
                    if matches!(happening.what, What::SweepEnded { .. }) {
                        self.rest = None;
                    }
                    return Some(event(name(&happening.what), &happening));
                }
                Err(RecvError::Lagged(missed)) => {
                    self.catch_up().await.ok()?;
                    return Some(event("missed", &Missed { missed }));
                }
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

/// The end of a sweep that had ended before.
#[derive(Serialize)]
struct Ended<'a> {
    sweep: Uuid,
    event: &'static str,
    outcome: &'a str,
}

/// What a slow listener did not hear.
#[derive(Serialize)]
struct Missed {
    missed: u64,
}

fn event(name: &str, data: &impl Serialize) -> Event {
    let data = serde_json::to_string(data).unwrap_or_default();
    Event::default().event(name).data(data)
}

fn name(what: &What) -> &'static str {
    match what {
        What::SweepStarted => "sweep_started",
        What::PolicyStarted { .. } => "policy_started",
        What::Page { .. } => "page",
        What::PageFailed { .. } => "page_failed",
        What::PolicyEnded { .. } => "policy_ended",
        What::SweepEnded { .. } => "sweep_ended",
    }
}
