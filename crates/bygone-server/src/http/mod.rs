//! The HTTP API of the daemon, for programs, and its console, for people.
//!
//! A request comes through a [`Listener`], passes what `security/` asks of it, and meets the handler that `table.rs` names for
//! it. What goes wrong is answered as a problem of RFC 9457. The OpenAPI document is made of the same table.

mod configuration;
mod connection;
mod console;
mod documents;
mod events;
mod extract;
mod leases;
mod listen;
mod openapi;
mod policies;
mod probes;
mod problem;
mod security;
mod settings;
mod sources;
mod stage;
mod streams;
mod sweeps;
mod table;
mod telling;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use bygone_core::CancellationToken;
use tokio::sync::Semaphore;
use utoipa::openapi::OpenApi;

pub use self::listen::{Address, AddressError, ListenError, Listener, Tls, TlsError, permit};
pub use self::openapi::document;
pub use self::problem::ProblemDocument;
use self::security::{Busy, Hosts};
pub use self::security::{Right, Rights, Scope, Token, TokenError, Tokens};
pub use self::settings::{Limits, Settings};
use crate::daemon::Daemon;

/// What handlers share.
#[derive(Clone, Debug)]
struct App {
    daemon: Daemon,
    tokens: Arc<Tokens>,
    /// Who may listen to events at once.
    streams: Arc<Semaphore>,
    heartbeat: Duration,
    /// For what is asked of lease stores and staging areas.
    room: Arc<leases::Room>,
    /// Ends streams.
    stop: CancellationToken,
}

/// Answers requests until told to stop: then no connection is taken any more, event streams end, and requests under way are
/// given `limits.end_within` to do so.
pub async fn serve(listeners: Vec<Listener>, daemon: Daemon, settings: Settings, stop: CancellationToken) {
    let clock = Arc::clone(daemon.clock());
    let limits = settings.limits.clone();
    let router = router(daemon, settings, &listeners, &stop);
    connection::serve(listeners, router, limits, clock, stop).await;
}

/// All routes, and around them what every request must pass, the outermost last.
fn router(daemon: Daemon, settings: Settings, listeners: &[Listener], stop: &CancellationToken) -> Router {
    let Settings { tokens, hosts, limits } = settings;
    let hosts = Hosts::new(listeners.iter().map(Listener::address), hosts);
    let (tokens, clock) = (Arc::new(tokens), Arc::clone(daemon.clock()));
    let app = App {
        daemon,
        tokens: Arc::clone(&tokens),
        streams: Arc::new(Semaphore::new(limits.streams_max)),
        heartbeat: limits.heartbeat,
        room: Arc::new(leases::Room::new(&limits)),
        stop: stop.clone(),
    };
    let busy = Busy::new(limits.requests_max);
    // Whoever waits for a lease keeps nobody from looking at policies.
    let operating = Busy::new(limits.operations_max);
    let leases = |(routes, _): (Router<App>, OpenApi)| {
        let counted = routes.layer(from_fn_with_state(app.clone(), leases::count));
        counted.layer(from_fn_with_state(operating.clone(), security::limit_requests))
    };
    let (api, _) = table::api().split_for_parts();
    let (uploads, _) = table::uploads().split_for_parts();
    // Whoever asks whether the daemon lives is answered however much it has to do.
    let (probes, _) = table::probes().split_for_parts();
    api.merge(console::pages())
        .layer(from_fn_with_state(busy, security::limit_requests))
        .merge(leases(table::leases().split_for_parts()))
        .merge(probes)
        .merge(console::doors())
        .layer(from_fn_with_state(limits.request_within, security::limit_time))
        // A stream may take as long as it moves.
        .merge(leases(table::streams().split_for_parts()))
        .merge(uploads)
        .fallback(problem::no_such_path)
        .method_not_allowed_fallback(problem::no_such_method)
        .with_state(app.clone())
        .layer(from_fn_with_state((tokens, Arc::clone(&clock)), security::identify))
        .layer(from_fn(security::refuse_other_sites))
        .layer(from_fn_with_state(Arc::new(hosts), security::refuse_other_hosts))
        .layer(DefaultBodyLimit::max(limits.body_bytes_max))
        .layer(from_fn(console::tell_people))
        .layer(from_fn(security::strict_headers))
        .layer(from_fn_with_state(clock, telling::tell))
}
