//! `GET /userinfo`: a resource, open to whoever has an access token and its key.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use crate::access_token;
use crate::app::App;
use crate::dpop;
use crate::error::OAuthError;

pub(crate) const PATH: &str = "/userinfo";

/// `GET /userinfo`. A refusal says how to ask (RFC 9449, section 7.1).
pub(crate) async fn answer(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    match claims(&app, &headers).await {
        Ok(claims) => ([(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))], Json(claims)).into_response(),
        Err(refusal) if refusal.status.is_client_error() => {
            let challenge = format!("DPoP algs=\"ES256\", error=\"{}\"", refusal.error);
            let refusal = OAuthError { status: StatusCode::UNAUTHORIZED, ..refusal };
            ([(header::WWW_AUTHENTICATE, challenge)], refusal).into_response()
        }
        Err(refusal) => refusal.into_response(),
    }
}

async fn claims(app: &App, headers: &HeaderMap) -> Result<Value, OAuthError> {
    let authorization = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let (scheme, token) = authorization.and_then(|text| text.split_once(' ')).ok_or(access_token::refused())?;
    if !scheme.eq_ignore_ascii_case("DPoP") {
        return Err(access_token::refused());
    }
    let claims = access_token::check(app, token).await?;
    let request = dpop::Request { headers, method: "GET", path: PATH, access_token: Some(token) };
    if dpop::check(app, &request).await?.jkt != claims.cnf.jkt {
        return Err(access_token::refused());
    }
    Ok(json!({ "sub": claims.sub, "sid": claims.sid, "scope": claims.scope }))
}
