//! What the buttons do. Each answers with the page where it can be seen.

use std::collections::BTreeMap;

use axum::Extension;
use axum::extract::State;
use axum::response::Redirect;

use super::words::policy_path;
use crate::http::App;
use crate::http::extract::Name;
use crate::http::policies;
use crate::http::problem::Problem;
use crate::http::security::Caller;

/// Holds a policy back.
pub(super) async fn pause(app: State<App>, caller: Extension<Caller>, Name(name): Name) -> Result<Redirect, Problem> {
    let _ = policies::pause(app, caller, Name(name.clone())).await?;
    Ok(Redirect::to(&policy_path(&name)))
}

/// Lets it go on.
pub(super) async fn resume(app: State<App>, caller: Extension<Caller>, Name(name): Name) -> Result<Redirect, Problem> {
    let _ = policies::resume(app, caller, Name(name.clone())).await?;
    Ok(Redirect::to(&policy_path(&name)))
}

/// Begins a sweep under the brake that the policy has: none is released by a form, whatever stands in it.
pub(super) async fn sweep(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Name(name): Name,
) -> Result<Redirect, Problem> {
    let sweep = app.daemon.sweep(vec![name], BTreeMap::new()).await?;
    tracing::info!(%sweep, by = caller.name(), released = false, "a sweep was asked for");
    Ok(Redirect::to(&format!("/sweeps/{sweep}")))
}
