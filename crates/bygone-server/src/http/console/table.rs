//! Every route of the console, with the scope that it needs.

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{MethodRouter, get, post};

use super::{assets, forms, overview, plan, policy, sign_in, sources, sweeps};
use crate::http::App;
use crate::http::security::{Identity, Scope, admit_known, only_from_here};

/// Pages, and the forms on them.
pub(in crate::http) fn pages() -> Router<App> {
    let (read, operate) = (Scope::Read, Scope::Operate);
    let rows: [(&str, Scope, MethodRouter<App>); 10] = [
        ("/", read, get(overview::show)),
        ("/policies/{name}", read, get(policy::show)),
        // The source has to count: no other site makes it.
        ("/policies/{name}/plan", operate, get(plan::show).route_layer(from_fn(only_from_here))),
        ("/policies/{name}/pause", operate, post(forms::pause)),
        ("/policies/{name}/resume", operate, post(forms::resume)),
        ("/policies/{name}/sweep", operate, post(forms::sweep)),
        ("/sweeps", read, get(sweeps::list)),
        ("/sweeps/{id}", read, get(sweeps::show)),
        ("/sources", read, get(sources::list)),
        ("/sources/{name}", read, get(sources::show)),
    ];
    rows.into_iter().fold(Router::new(), |router, (path, scope, methods)| {
        router.route(path, methods.route_layer(from_fn_with_state(scope, enter)))
    })
}

/// What stands open to somebody who is not known yet.
pub(in crate::http) fn doors() -> Router<App> {
    Router::new()
        .route("/sign-in", get(sign_in::show).post(sign_in::sign_in))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/console/console.css", get(assets::style))
        .route("/console/console.js", get(assets::script))
        .route("/console/icon.svg", get(assets::icon))
}

/// Lets in those with a scope, and shows the others the door.
async fn enter(State(scope): State<Scope>, request: Request, next: Next) -> Response {
    match request.extensions().get::<Identity>().cloned() {
        Some(Identity::Known(caller)) => admit_known(caller, scope, request, next).await.into_response(),
        _ => Redirect::to("/sign-in").into_response(),
    }
}
