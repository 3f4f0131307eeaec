//! Every route, with what it needs and what can go wrong with it. The OpenAPI document is made of this.

use axum::extract::DefaultBodyLimit;
use axum::middleware::from_fn_with_state;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

use super::leases::{self, LARGE_BODY, MESSAGE_BODY, SMALL_BODY};
use super::security::{Right, Scope, admit, admit_to_leases, admit_to_stage};
use super::{App, configuration, events, openapi, policies, probes, sources, stage, sweeps, watch};

/// What whoever asks must be allowed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Needs {
    Nothing,
    Scope(Scope),
    /// In the staging area of the source that the path names.
    Stage(Right),
}

impl Needs {
    /// As the OpenAPI document says it.
    pub(super) fn scope(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Scope(scope) => Some(scope.as_str()),
            Self::Stage(Right::Read) => Some("stage:read"),
            Self::Stage(Right::Write) => Some("stage:write"),
        }
    }
}

/// A route, what it needs, and the problems that are its own.
type Row = (Needs, &'static [u16], UtoipaMethodRouter<App>);

/// Routes for programs and people.
pub(super) fn api() -> OpenApiRouter<App> {
    let (read, operate) = (Needs::Scope(Scope::Read), Needs::Scope(Scope::Operate));
    let (look, change) = (Needs::Stage(Right::Read), Needs::Stage(Right::Write));
    router([
        (read, &[], routes!(policies::list)),
        (read, &[404], routes!(policies::show)),
        (read, &[404, 502], routes!(policies::explain)),
        (operate, &[404], routes!(policies::pause)),
        (operate, &[404], routes!(policies::resume)),
        // It changes nothing, but the source has to count.
        (operate, &[404, 502], routes!(policies::plan)),
        (operate, &[], routes!(policies::pause_all)),
        (operate, &[], routes!(policies::resume_all)),
        (operate, &[404, 409, 413, 415, 422, 429], routes!(sweeps::start)),
        (read, &[], routes!(sweeps::list)),
        (read, &[404], routes!(sweeps::show)),
        (read, &[404], routes!(events::events)),
        (read, &[], routes!(sources::list)),
        (read, &[404, 502], routes!(sources::show)),
        (read, &[], routes!(watch::alarms)),
        (read, &[], routes!(configuration::show)),
        (read, &[], routes!(watch::metrics)),
        (read, &[], routes!(openapi::openapi)),
        (look, &[404, 502], routes!(stage::totals)),
        (change, &[404, 502], routes!(stage::cleanup)),
        (look, &[404, 502], routes!(stage::list)),
        (look, &[404, 502], routes!(stage::show)),
        (look, &[404, 502], routes!(stage::content)),
        (change, &[404, 422, 502], routes!(stage::touch)),
        (change, &[404, 409, 502], routes!(stage::remove)),
    ])
}

/// Routes that take in what may be of any size, for as long as it takes.
pub(super) fn uploads() -> OpenApiRouter<App> {
    let change = Needs::Stage(Right::Write);
    router([(change, &[404, 408, 422, 502, 507], routes!(stage::put))]).layer(DefaultBodyLimit::disable())
}

/// An operation on a lease store: the right it needs in the namespace that it names, the largest body, the problems that are
/// its own.
type Operation = (Right, usize, &'static [u16], UtoipaMethodRouter<App>);

/// What can go wrong with what writes: there is no such thing, others were faster or have it, the body is too large or no
/// JSON, it makes no sense, the store has too much to do or does not answer, or nobody knows.
const WRITES: &[u16] = &[404, 409, 413, 415, 422, 429, 502, 504];
/// The same for what has no body of JSON.
const STREAMS: &[u16] = &[404, 409, 413, 422, 429, 502, 504];

/// Operations on lease stores.
pub(super) fn leases() -> OpenApiRouter<App> {
    use leases::{lease, queue, state, txn};
    let (read, write) = (Right::Read, Right::Write);
    operations([
        (write, SMALL_BODY, WRITES, routes!(lease::acquire)),
        (write, SMALL_BODY, WRITES, routes!(lease::keepalive)),
        (write, SMALL_BODY, WRITES, routes!(lease::release)),
        (read, SMALL_BODY, WRITES, routes!(state::get)),
        (write, LARGE_BODY, WRITES, routes!(state::update)),
        (write, SMALL_BODY, WRITES, routes!(state::remove)),
        (read, SMALL_BODY, WRITES, routes!(state::describe)),
        (read, SMALL_BODY, WRITES, routes!(leases::attachment::list)),
        (write, MESSAGE_BODY, WRITES, routes!(queue::enqueue)),
        (write, SMALL_BODY, WRITES, routes!(queue::dequeue)),
        (write, MESSAGE_BODY, WRITES, routes!(queue::ack)),
        (write, MESSAGE_BODY, WRITES, routes!(queue::nack)),
        (write, MESSAGE_BODY, WRITES, routes!(queue::extend)),
        (read, SMALL_BODY, WRITES, routes!(queue::dead)),
        (read, SMALL_BODY, WRITES, routes!(queue::stats)),
        (write, SMALL_BODY, WRITES, routes!(txn::begin)),
        (write, LARGE_BODY, WRITES, routes!(txn::stage)),
        (write, SMALL_BODY, WRITES, routes!(txn::commit)),
        (write, SMALL_BODY, WRITES, routes!(txn::rollback)),
        (write, SMALL_BODY, WRITES, routes!(txn::replay)),
    ])
}

/// Operations on lease stores whose bodies are streams.
pub(super) fn streams() -> OpenApiRouter<App> {
    use leases::{attachment, state};
    let (read, write) = (Right::Read, Right::Write);
    operations([
        (read, SMALL_BODY, STREAMS, routes!(state::download)),
        (write, SMALL_BODY, STREAMS, routes!(state::upload)),
        (read, SMALL_BODY, STREAMS, routes!(attachment::download)),
        (write, SMALL_BODY, STREAMS, routes!(attachment::upload)),
        (write, SMALL_BODY, STREAMS, routes!(attachment::remove)),
    ])
}

fn operations<const N: usize>(rows: [Operation; N]) -> OpenApiRouter<App> {
    rows.into_iter().fold(OpenApiRouter::new(), |router, (right, body_bytes_max, problems, route)| {
        let (schemas, mut paths, methods) = route;
        openapi::complete_operation(&mut paths, problems);
        let methods = methods.route_layer(from_fn_with_state(right, admit_to_leases));
        router.routes((schemas, paths, methods.layer(DefaultBodyLimit::max(body_bytes_max))))
    })
}

/// Routes for those who look after processes.
pub(super) fn probes() -> OpenApiRouter<App> {
    router([(Needs::Nothing, &[], routes!(probes::livez)), (Needs::Nothing, &[], routes!(probes::readyz))])
}

fn router<const N: usize>(rows: [Row; N]) -> OpenApiRouter<App> {
    rows.into_iter().fold(OpenApiRouter::new(), |router, (needs, problems, route)| {
        let (schemas, mut paths, methods) = route;
        openapi::complete(&mut paths, needs, problems);
        let methods = match needs {
            Needs::Nothing => methods,
            Needs::Scope(scope) => methods.route_layer(from_fn_with_state(scope, admit)),
            Needs::Stage(right) => methods.route_layer(from_fn_with_state(right, admit_to_stage)),
        };
        router.routes((schemas, paths, methods))
    })
}
