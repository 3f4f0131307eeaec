//! What is said of each request: a span around it, and a line when it was answered.
//!
//! The path is told as the route that it met and never as it was sent, and the query not at all: both may hold what was pasted
//! there by mistake. Of a token its name is told.

use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use bygone_core::Clock;
use tracing::{Instrument as _, field};

use super::security::Caller;

/// What stands where no route was met, or nobody is known.
const NOTHING: &str = "-";

/// Tells of a request and its answer.
pub(super) async fn tell(State(clock): State<Arc<dyn Clock>>, request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or(NOTHING, MatchedPath::as_str);
    let method = method(request.method());
    let span = tracing::info_span!("request", method, route, status = field::Empty, caller = field::Empty);
    let before = clock.elapsed();
    let answer = next.run(request).instrument(span.clone()).await;
    let millis = u64::try_from(clock.elapsed().saturating_sub(before).as_millis()).unwrap_or(u64::MAX);
    let status = answer.status().as_u16();
    let caller = answer.extensions().get::<Caller>().map_or(NOTHING, Caller::name);
    span.record("status", status).record("caller", caller);
    tracing::debug!(method, route, status, millis, caller, "answered");
    answer
}

/// Anything may be sent as a method: those are told that a route can have.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => NOTHING,
    }
}
