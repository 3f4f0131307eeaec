//! Access tokens: signed, so that they need no store (RFC 9068), and with their family, so that they can be revoked.

use axum::http::StatusCode;
use bygone_tokens::FamilyId;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::error::OAuthError;
use crate::jwt::{self, Unverified};

const TYPE: &str = "at+jwt";
/// How long one is good for.
pub(crate) const LIFE: SignedDuration = SignedDuration::from_mins(15);

/// The key that something is bound to (RFC 9449, section 6).
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Confirmation {
    pub(crate) jkt: String,
}

/// What a token says of whoever has it.
pub(crate) struct Grant<'a> {
    pub(crate) subject: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) scope: &'a [String],
    pub(crate) sid: &'a str,
    pub(crate) family: &'a FamilyId,
    pub(crate) jkt: &'a str,
}

/// What stands in it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Claims {
    iss: String,
    aud: String,
    pub(crate) sub: String,
    client_id: String,
    pub(crate) scope: String,
    pub(crate) sid: String,
    family: FamilyId,
    pub(crate) cnf: Confirmation,
    jti: String,
    iat: i64,
    exp: i64,
}

/// A token that was just made.
pub(crate) struct Issued {
    pub(crate) token: String,
    pub(crate) jti: String,
    pub(crate) expires_at: Timestamp,
}

/// Makes a token.
pub(crate) fn issue(app: &App, grant: &Grant<'_>) -> Result<Issued, OAuthError> {
    let (now, jti) = (app.clock.now(), app.new_name()?);
    let expires_at = now.checked_add(LIFE).map_err(|_| OAuthError::server_error())?;
    let claims = Claims {
        iss: app.issuer.clone(),
        aud: app.issuer.clone(),
        sub: grant.subject.to_owned(),
        client_id: grant.client_id.to_owned(),
        scope: grant.scope.join(" "),
        sid: grant.sid.to_owned(),
        family: grant.family.clone(),
        cnf: Confirmation { jkt: grant.jkt.to_owned() },
        jti: jti.clone(),
        iat: now.as_second(),
        exp: expires_at.as_second(),
    };
    Ok(Issued { token: jwt::sign(TYPE, &claims, &app.key)?, jti, expires_at })
}

/// What a token says, if it is one of ours, has not expired and was not revoked.
pub(crate) async fn check(app: &App, token: &str) -> Result<Claims, OAuthError> {
    let claims: Option<Claims> = Unverified::read(token, TYPE).and_then(|token| token.claims(app.key.verifying()));
    let claims = claims.filter(|claims| claims.iss == app.issuer && claims.aud == app.issuer).ok_or(refused())?;
    if claims.exp <= app.clock.now().as_second() {
        return Err(refused());
    }
    // A token that came of a code is revoked by its own name, and every one by that of its family.
    let is_revoked = app.tokens.refresh_tokens().is_revoked(&claims.family).await?
        || app.tokens.authorization_codes().is_access_token_revoked(&claims.jti).await?;
    if is_revoked { Err(refused()) } else { Ok(claims) }
}

/// A token that is good for nothing (RFC 6750, section 3.1).
pub(crate) fn refused() -> OAuthError {
    let refusal = OAuthError::new("invalid_token", "the access token is no good, has expired or was revoked");
    OAuthError { status: StatusCode::UNAUTHORIZED, ..refusal }
}
