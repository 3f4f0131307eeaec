//! Every route, with what it needs and what can go wrong with it. The OpenAPI document is made of this.

use axum::middleware::from_fn_with_state;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

use super::security::{Scope, admit};
use super::{App, events, openapi, policies, probes, sweeps, watch};

/// A route, the scope it needs, and the problems that are its own.
type Row = (Option<Scope>, &'static [u16], UtoipaMethodRouter<App>);

/// Routes for programs and people.
pub(super) fn api() -> OpenApiRouter<App> {
    let (read, operate) = (Some(Scope::Read), Some(Scope::Operate));
    router([
        (read, &[], routes!(policies::list)),
        (read, &[404], routes!(policies::show)),
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
        (read, &[], routes!(watch::alarms)),
        (read, &[], routes!(watch::metrics)),
        (read, &[], routes!(openapi::openapi)),
    ])
}

/// Routes for those who look after processes.
pub(super) fn probes() -> OpenApiRouter<App> {
    router([(None, &[], routes!(probes::livez)), (None, &[], routes!(probes::readyz))])
}

fn router<const N: usize>(rows: [Row; N]) -> OpenApiRouter<App> {
    rows.into_iter().fold(OpenApiRouter::new(), |router, (needs, problems, route)| {
        let (schemas, mut paths, methods) = route;
        openapi::complete(&mut paths, needs, problems);
        let methods = match needs {
            Some(scope) => methods.route_layer(from_fn_with_state(scope, admit)),
            None => methods,
        };
        router.routes((schemas, paths, methods))
    })
}
