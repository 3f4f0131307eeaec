//! `/authorize`: asks a person for consent, and sends the browser back to the client with a code.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use bygone_tokens::{CodeGrant, ConsentBinding, ConsentUse, LogoutTarget};
use serde::Deserialize;
use serde_json::Map;
use url::Url;

use crate::app::App;
use crate::clients::Client;
use crate::error::OAuthError;
use crate::form::Parameters;
use crate::page::{self, Question, Refusal};
use crate::par::AuthorizationRequest;

/// The one user. A real server asks who is there.
const SUBJECT: &str = "alice";

/// What the browser brings from the client.
#[derive(Deserialize)]
pub(crate) struct Asked {
    client_id: String,
    request_uri: String,
}

/// What it brings from the page.
#[derive(Deserialize)]
pub(crate) struct Answered {
    client_id: String,
    request_uri: String,
    consent: String,
    decision: String,
}

/// `GET /authorize`: the page. It can be loaded again; the request stays good until somebody decides.
pub(crate) async fn ask(
    State(app): State<Arc<App>>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Response, Refusal> {
    let missing = OAuthError::invalid_request("the address needs a client_id and a request_uri");
    let Query(Asked { client_id, request_uri }) = asked.map_err(|_| missing)?;
    let client = app.clients.find(&client_id).ok_or(OAuthError::unknown_client())?;
    let found = app.tokens.pushed_requests().fetch(client.id, &request_uri).await?;
    let request: AuthorizationRequest = serde_json::from_value(found.ok_or(unknown_request())?)?;
    let scope: Vec<&str> = request.scope.iter().map(String::as_str).collect();
    let consent = app.tokens.consent_grants().mint(&binding(client, &request, &scope)).await?;
    Ok(page::question(&Question {
        subject: SUBJECT,
        client_id: client.id,
        client_name: client.name,
        scope: &request.scope.join(" "),
        request_uri: &request_uri,
        consent: consent.token.expose(),
    }))
}

/// `POST /authorize`: the decision, once.
pub(crate) async fn decide(
    State(app): State<Arc<App>>,
    answered: Result<Parameters<Answered>, OAuthError>,
) -> Result<Response, Refusal> {
    let Parameters(Answered { client_id, request_uri, consent, decision }) = answered?;
    let client = app.clients.find(&client_id).ok_or(OAuthError::unknown_client())?;
    let requests = app.tokens.pushed_requests();
    // First only looked at: who brings no consent uses up nobody's request.
    let found = requests.fetch(client.id, &request_uri).await?;
    let request: AuthorizationRequest = serde_json::from_value(found.ok_or(unknown_request())?)?;
    let scope: Vec<&str> = request.scope.iter().map(String::as_str).collect();
    let used = app.tokens.consent_grants().consume(&consent, &binding(client, &request, &scope)).await?;
    let ConsentUse::Consumed { subject } = used else {
        return Err(OAuthError::invalid_request("this page is too old, or was answered before: begin again").into());
    };
    // Of two pages that were answered at once, one gets it.
    if requests.take(client.id, &request_uri).await?.is_none() {
        return Err(unknown_request().into());
    }
    if decision != "allow" {
        return Ok(back(&app, &request, &[("error", "access_denied")])?);
    }
    let code = issue(&app, client, &request, subject).await?;
    Ok(back(&app, &request, &[("code", &code)])?)
}

/// Makes a code for a session that begins now, and remembers whom to tell when it ends.
async fn issue(
    app: &App,
    client: &Client,
    request: &AuthorizationRequest,
    subject: String,
) -> Result<String, OAuthError> {
    let sid = app.new_name()?;
    let grant = CodeGrant {
        client_id: client.id.to_owned(),
        subject: subject.clone(),
        scope: request.scope.clone(),
        redirect_uri: request.redirect_uri.clone(),
        code_challenge: Some(request.code_challenge.clone()),
        code_challenge_method: Some("S256".to_owned()),
        claims: Map::from_iter([("sid".to_owned(), sid.clone().into())]),
        ..CodeGrant::default()
    };
    let issued = app.tokens.authorization_codes().issue(&grant).await?;
    // Before the code is handed out: no session begins that a logout would not find.
    let target = LogoutTarget {
        sid,
        subject,
        client_id: client.id.to_owned(),
        family: Some(issued.family),
        backchannel_logout_uri: client.backchannel_logout_uri.clone(),
        backchannel_session_required: true,
        frontchannel_logout_uri: None,
        frontchannel_session_required: false,
    };
    app.tokens.logout_sessions().record(&target).await?;
    Ok(issued.code.expose().to_owned())
}

/// What consent is bound to. The challenge is new with every request, so it is bound to this one.
fn binding<'a>(client: &Client, request: &'a AuthorizationRequest, scope: &'a [&'a str]) -> ConsentBinding<'a> {
    ConsentBinding {
        subject: SUBJECT,
        client_id: client.id,
        redirect_uri: &request.redirect_uri,
        scope,
        code_challenge: Some(&request.code_challenge),
    }
}

/// Sends the browser back, with who sends it (RFC 9207).
fn back(app: &App, request: &AuthorizationRequest, answer: &[(&str, &str)]) -> Result<Response, OAuthError> {
    let mut url = Url::parse(&request.redirect_uri).map_err(|_| OAuthError::server_error())?;
    let state = request.state.as_deref().map(|state| ("state", state));
    url.query_pairs_mut().extend_pairs(answer).extend_pairs(state).append_pair("iss", &app.issuer);
    Ok(Redirect::to(url.as_str()).into_response())
}

fn unknown_request() -> OAuthError {
    OAuthError::invalid_request("this request is unknown, too old, or was answered before")
}
