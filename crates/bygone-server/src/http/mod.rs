//! The HTTP API of the daemon: what it does, for programs and for people.
//!
//! A request comes through a [`Listener`], passes what `security/` asks of it, and meets the handler that `table.rs` names for
//! it. What goes wrong is answered as a problem of RFC 9457. The OpenAPI document is made of the same table.

mod connection;
mod documents;
mod events;
mod extract;
mod listen;
mod openapi;
mod policies;
mod probes;
mod problem;
mod security;
mod settings;
mod sweeps;
mod table;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use bygone_core::CancellationToken;
use tokio::sync::Semaphore;

pub use self::listen::{Address, AddressError, ListenError, Listener, Tls, TlsError, permit};
pub use self::openapi::document;
use self::security::{Busy, Hosts};
pub use self::security::{Scope, Token, TokenError, Tokens};
pub use self::settings::{Limits, Settings};
use crate::daemon::Daemon;

/// What handlers share.
#[derive(Clone, Debug)]
struct App {
    daemon: Daemon,
    /// Who may listen to events at once.
    streams: Arc<Semaphore>,
    heartbeat: Duration,
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
    let clock = Arc::clone(daemon.clock());
    let app = App {
        daemon,
        streams: Arc::new(Semaphore::new(limits.streams_max)),
        heartbeat: limits.heartbeat,
        stop: stop.clone(),
    };
    let busy = Busy::new(limits.requests_max);
    let (api, _) = table::api().split_for_parts();
    // Whoever asks whether the daemon lives is answered however much it has to do.
    let (probes, _) = table::probes().split_for_parts();
    api.layer(from_fn_with_state(busy, security::limit_requests))
        .merge(probes)
        .fallback(problem::no_such_path)
        .method_not_allowed_fallback(problem::no_such_method)
        .with_state(app)
        .layer(from_fn_with_state((Arc::new(tokens), clock), security::identify))
        .layer(from_fn(security::refuse_other_sites))
        .layer(from_fn_with_state(Arc::new(hosts), security::refuse_other_hosts))
        .layer(DefaultBodyLimit::max(limits.body_bytes_max))
        .layer(from_fn_with_state(limits.request_within, security::limit_time))
        .layer(from_fn(security::strict_headers))
}
