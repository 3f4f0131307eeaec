//! `grant_type=authorization_code`: a code for an access token and the first of a family of refresh tokens.

use bygone_tokens::{CodeGrant, CodeTake, FamilyStart, IssuedAccessToken, RefreshGrant};

use crate::access_token::{self, Grant};
use crate::app::App;
use crate::clients::Client;
use crate::error::OAuthError;
use crate::pkce;
use crate::refresh::session;
use crate::token::{Granted, Request};

/// Redeems a code.
pub(crate) async fn answer(app: &App, client: &Client, jkt: &str, request: &Request) -> Result<Granted, OAuthError> {
    let (Some(code), Some(redirect_uri), Some(verifier)) =
        (&request.code, &request.redirect_uri, &request.code_verifier)
    else {
        return Err(OAuthError::invalid_request("the request needs a code, a redirect_uri and a code_verifier"));
    };
    let codes = app.tokens.authorization_codes();
    let (grant, family) = match codes.take(code).await? {
        CodeTake::Granted { grant, family } => (grant, family),
        CodeTake::Reused(reuse) => {
            tracing::warn!(client = reuse.client_id, family = %reuse.family, "a code came twice: its grant is revoked");
            app.tokens.revoke_grant(&reuse.family).await?;
            return Err(OAuthError::invalid_grant());
        }
        CodeTake::Taken | CodeTake::Unknown => return Err(OAuthError::invalid_grant()),
    };
    // The code is used up from here on, whatever is wrong: one that others have seen is worth nothing.
    if !is_for(&grant, client, redirect_uri, verifier) {
        return Err(OAuthError::invalid_grant());
    }
    let access = access_token::issue(
        app,
        &Grant {
            subject: &grant.subject,
            client_id: client.id,
            scope: &grant.scope,
            sid: session(&grant.claims),
            family: &family,
            jkt,
        },
    )?;
    let lasting = RefreshGrant {
        client_id: client.id.to_owned(),
        subject: grant.subject,
        scope: grant.scope,
        resource: grant.resource,
        dpop_jkt: Some(jkt.to_owned()),
        claims: grant.claims,
        ..RefreshGrant::default()
    };
    let FamilyStart::Issued(refresh) = app.tokens.refresh_tokens().start(&family, &lasting).await? else {
        return Err(OAuthError::invalid_grant());
    };
    let issued = IssuedAccessToken { jti: &access.jti, expires_at: access.expires_at };
    if !codes.redeemed(code, Some(issued)).await? {
        // So late that the code is forgotten: nothing would remember what came of it.
        app.tokens.revoke_grant(&family).await?;
        return Err(OAuthError::invalid_grant());
    }
    Ok(Granted::new(access, &refresh))
}

/// Whether a code was made for this client, and by its request.
fn is_for(grant: &CodeGrant, client: &Client, redirect_uri: &str, verifier: &str) -> bool {
    let challenge = grant.code_challenge.as_deref();
    grant.client_id == client.id
        && grant.redirect_uri == redirect_uri
        && challenge.is_some_and(|challenge| pkce::is_verifier_of(challenge, verifier))
}
