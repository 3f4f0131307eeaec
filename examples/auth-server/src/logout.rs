//! `POST /logout`: ends sessions, and tells the clients that take part in them (OpenID Connect Back-Channel Logout).
//! Only for the demo: a real server asks who is there before it ends anybody's session.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use bygone_tokens::{LogoutOf, LogoutTarget};
use futures_util::{StreamExt as _, stream};
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::app::App;
use crate::error::{OAuthError, with_sources};
use crate::form::Parameters;
use crate::jwt;

/// How long a logout token is good for: the specification recommends two minutes at the most.
const LIFE: SignedDuration = SignedDuration::from_mins(2);
/// How many clients are told at once.
const AT_ONCE_MAX: usize = 8;

/// Whose sessions: one, or all of a user's.
#[derive(Deserialize)]
pub(crate) struct Request {
    sid: Option<String>,
    sub: Option<String>,
}

/// What became of it.
#[derive(Serialize)]
pub(crate) struct Ended {
    clients_told: usize,
    families_revoked: u64,
}

/// `POST /logout`.
pub(crate) async fn answer(
    State(app): State<Arc<App>>,
    Parameters(request): Parameters<Request>,
) -> Result<Json<Ended>, OAuthError> {
    if request.sid.is_some() == request.sub.is_some() {
        return Err(OAuthError::invalid_request("the request needs a sid or a sub"));
    }
    // Who was taken must be told, also when whoever asked for it hangs up: hence a task of its own.
    let errand = {
        let app = Arc::clone(&app);
        async move { end(&app, &request).await }
    };
    let ended = app.errands.spawn(errand).await.map_err(|_| OAuthError::server_error())?;
    ended.map(Json)
}

async fn end(app: &App, request: &Request) -> Result<Ended, OAuthError> {
    let of = match (&request.sid, &request.sub) {
        (Some(sid), _) => LogoutOf::Session(sid),
        (None, sub) => LogoutOf::Subject(sub.as_deref().unwrap_or_default()),
    };
    let sessions = app.tokens.logout_sessions();
    // First only looked at: where the tokens cannot be revoked, nobody is taken, and the caller may ask again.
    let mut families_revoked = match &request.sub {
        Some(subject) => app.tokens.revoke_subject(subject).await?,
        None => 0,
    };
    for family in sessions.targets(of).await?.iter().filter_map(|target| target.family.as_ref()) {
        families_revoked += u64::from(app.tokens.revoke_grant(family).await?);
    }
    // Of several who end a session at once, each client is told by one.
    let targets = sessions.take_targets(of).await?;
    let told = stream::iter(targets).map(|target| tell(app, target)).buffer_unordered(AT_ONCE_MAX);
    let clients_told = told.filter(|told| std::future::ready(*told)).count().await;
    Ok(Ended { clients_told, families_revoked })
}

/// Tells one client. One that could not be told is recorded again, so that the next logout tries once more.
async fn tell(app: &App, target: LogoutTarget) -> bool {
    let Some(uri) = &target.backchannel_logout_uri else { return false };
    let told = match logout_token(app, &target) {
        Ok(token) => app.back_channel.post(uri, &token).await,
        Err(_) => false,
    };
    if !told {
        tracing::warn!(client = target.client_id, "a client could not be told of a logout");
        if let Err(error) = app.tokens.logout_sessions().record(&target).await {
            tracing::error!(error = with_sources(&error), "nor can that be tried again");
        }
    }
    told
}

fn logout_token(app: &App, target: &LogoutTarget) -> Result<String, OAuthError> {
    let now = app.clock.now().as_second();
    let claims = json!({
        "iss": app.issuer,
        "aud": target.client_id,
        "iat": now,
        "exp": now + LIFE.as_secs(),
        "jti": app.new_name()?,
        "sub": target.subject,
        "sid": target.sid,
        "events": { "http://schemas.openid.net/event/backchannel-logout": {} },
    });
    Ok(jwt::sign("logout+jwt", &claims, &app.key)?)
}
