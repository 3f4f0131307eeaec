//! `grant_type=refresh_token`: a refresh token for an access token and its own successor.

use bygone_tokens::{Holder, Rotation};
use serde_json::{Map, Value};

use crate::access_token::{self, Grant};
use crate::app::App;
use crate::clients::Client;
use crate::error::OAuthError;
use crate::token::{Granted, Request};

/// Rotates a refresh token. A client that has lost the answer gets the same successor once more.
pub(crate) async fn answer(app: &App, client: &Client, jkt: &str, request: &Request) -> Result<Granted, OAuthError> {
    let missing = OAuthError::invalid_request("the request needs a refresh_token");
    let token = request.refresh_token.as_deref().ok_or(missing)?;
    let refresh = match app
        .tokens
        .refresh_tokens()
        .rotate(Holder { client_id: client.id, dpop_jkt: Some(jkt) }, token)
        .await?
    {
        Rotation::Rotated(issued) | Rotation::Retried(issued) => issued,
        Rotation::Reused(reuse) => {
            tracing::warn!(client = client.id, family = %reuse.family, "a refresh token came twice: its family is revoked");
            return Err(OAuthError::invalid_grant());
        }
        Rotation::Revoked | Rotation::Unknown => return Err(OAuthError::invalid_grant()),
    };
    let grant = Grant {
        subject: &refresh.grant.subject,
        client_id: client.id,
        scope: &refresh.grant.scope,
        sid: session(&refresh.grant.claims),
        family: &refresh.family,
        jkt,
    };
    Ok(Granted::new(access_token::issue(app, &grant)?, &refresh))
}

/// The session that a grant belongs to.
pub(crate) fn session(claims: &Map<String, Value>) -> &str {
    claims.get("sid").and_then(Value::as_str).unwrap_or_default()
}
