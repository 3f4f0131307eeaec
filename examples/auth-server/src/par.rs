//! `POST /par`: pushed authorization requests (RFC 9126). Whatever is wrong with a request is told to the client here;
//! what is kept is known to be good.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::clients::SCOPES;
use crate::error::OAuthError;
use crate::form::Parameters;
use crate::pkce;

/// What a client pushes.
#[derive(Deserialize)]
pub(crate) struct Pushed {
    client_id: String,
    response_type: String,
    redirect_uri: String,
    code_challenge: Option<String>,
    code_challenge_method: Option<String>,
    #[serde(default)]
    scope: String,
    state: Option<String>,
    request_uri: Option<String>,
}

/// What is kept of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AuthorizationRequest {
    pub(crate) redirect_uri: String,
    pub(crate) scope: Vec<String>,
    pub(crate) code_challenge: String,
    pub(crate) state: Option<String>,
}

/// What the client presents in its place.
#[derive(Serialize)]
struct Reference {
    request_uri: String,
    expires_in: i64,
}

/// `POST /par`.
pub(crate) async fn push(
    State(app): State<Arc<App>>,
    Parameters(pushed): Parameters<Pushed>,
) -> Result<impl IntoResponse, OAuthError> {
    let client = app.clients.find(&pushed.client_id).ok_or(OAuthError::unknown_client())?;
    let request = checked(client.redirect_uri, pushed)?;
    let kept = app.tokens.pushed_requests().put(client.id, &serde_json::to_value(&request)?).await?;
    // In whole seconds, and rather one too few.
    let expires_in = kept.expires_at.duration_since(app.clock.now()).as_secs();
    let reference = Reference { request_uri: kept.request_uri.expose().to_owned(), expires_in };
    Ok((StatusCode::CREATED, [(header::CACHE_CONTROL, "no-store")], Json(reference)))
}

fn checked(redirect_uri: &str, pushed: Pushed) -> Result<AuthorizationRequest, OAuthError> {
    if pushed.request_uri.is_some() {
        return Err(OAuthError::invalid_request("a pushed request cannot refer to another"));
    }
    if pushed.response_type != "code" {
        return Err(OAuthError::new("unsupported_response_type", "the response_type must be code"));
    }
    if pushed.redirect_uri != redirect_uri {
        return Err(OAuthError::invalid_request("the redirect_uri is not one of the client's"));
    }
    let code_challenge = pushed.code_challenge.filter(|challenge| pkce::is_challenge(challenge));
    let (Some(code_challenge), Some("S256")) = (code_challenge, pushed.code_challenge_method.as_deref()) else {
        return Err(OAuthError::invalid_request("the request needs a code_challenge with S256"));
    };
    let scope: Vec<String> = pushed.scope.split_ascii_whitespace().map(str::to_owned).collect();
    if !scope.iter().all(|scope| SCOPES.contains(&scope.as_str())) {
        return Err(OAuthError::new("invalid_scope", "the scope may have openid and profile"));
    }
    Ok(AuthorizationRequest { redirect_uri: pushed.redirect_uri, scope, code_challenge, state: pushed.state })
}
