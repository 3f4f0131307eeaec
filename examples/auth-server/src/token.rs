//! `POST /token`: who asks, by which key, and for what.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use bygone_tokens::IssuedRefreshToken;
use serde::{Deserialize, Serialize};

use crate::access_token::{self, Issued};
use crate::app::App;
use crate::dpop;
use crate::error::{OAuthError, with_sources};
use crate::form::Parameters;
use crate::{redeem, refresh};

pub(crate) const PATH: &str = "/token";

/// What a client sends. It has secrets in it, and hence no `Debug`.
#[derive(Deserialize)]
pub(crate) struct Request {
    grant_type: String,
    client_id: String,
    pub(crate) code: Option<String>,
    pub(crate) redirect_uri: Option<String>,
    pub(crate) code_verifier: Option<String>,
    pub(crate) refresh_token: Option<String>,
}

/// What it gets.
#[derive(Serialize)]
pub(crate) struct Granted {
    access_token: String,
    token_type: &'static str,
    expires_in: i64,
    refresh_token: String,
    scope: String,
}

impl Granted {
    pub(crate) fn new(access: Issued, refresh: &IssuedRefreshToken) -> Self {
        Self {
            access_token: access.token,
            token_type: "DPoP",
            expires_in: access_token::LIFE.as_secs(),
            refresh_token: refresh.token.expose().to_owned(),
            scope: refresh.grant.scope.join(" "),
        }
    }
}

/// `POST /token`. Every answer brings the nonce of the next proof.
pub(crate) async fn answer(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    request: Result<Parameters<Request>, OAuthError>,
) -> Response {
    let granted = match request {
        Ok(Parameters(request)) => grant(&app, &headers, &request).await,
        Err(refusal) => Err(refusal),
    };
    let mut response = granted.map(Json).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    match app.tokens.nonces().issue().await.map(|issued| HeaderValue::from_str(issued.nonce.expose())) {
        Ok(Ok(nonce)) => _ = response.headers_mut().insert("dpop-nonce", nonce),
        // The client is told to ask again the next time; what it was granted it keeps.
        Ok(Err(_)) => {}
        Err(error) => tracing::warn!(error = with_sources(&error), "no nonce could be made"),
    }
    response
}

async fn grant(app: &App, headers: &HeaderMap, request: &Request) -> Result<Granted, OAuthError> {
    let client = app.clients.find(&request.client_id).ok_or(OAuthError::unknown_client())?;
    let proven = dpop::Request { headers, method: "POST", path: PATH, access_token: None };
    let proof = dpop::check(app, &proven).await?;
    dpop::accept_nonce(app, &proof).await?;
    match request.grant_type.as_str() {
        "authorization_code" => redeem::answer(app, client, &proof.jkt, request).await,
        "refresh_token" => refresh::answer(app, client, &proof.jkt, request).await,
        _ => Err(OAuthError::new("unsupported_grant_type", "codes and refresh tokens are good here")),
    }
}
