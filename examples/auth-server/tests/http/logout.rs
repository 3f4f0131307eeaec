//! Back-channel logout: each client is told once, by a token that it can verify.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use axum::extract::{Form, State};
use axum::http::StatusCode;
use axum::routing::post as at_post;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use p256::ecdsa::signature::Verifier as _;
use p256::ecdsa::{Signature, VerifyingKey};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::client::{Client, Session};
use crate::http::{get, post};
use crate::server::Server;

/// A client's server, to which logout tokens are posted.
struct Listener {
    uri: String,
    told: UnboundedReceiver<String>,
    /// What it answers.
    status: Arc<AtomicU16>,
}

impl Listener {
    async fn start() -> Self {
        let (tell, told) = unbounded_channel();
        let status = Arc::new(AtomicU16::new(200));
        let routes = axum::Router::new().route("/logout", at_post(note)).with_state((tell, Arc::clone(&status)));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/logout", listener.local_addr().unwrap());
        tokio::spawn(async { axum::serve(listener, routes).await });
        Self { uri, told, status }
    }

    /// The one token that has come since the last time. It comes before the server answers, so none is under way.
    fn only(&mut self) -> String {
        let token = self.told.try_recv().expect("a logout token");
        self.is_silent();
        token
    }

    fn is_silent(&mut self) {
        assert!(self.told.try_recv().is_err(), "it was told once too often");
    }
}

async fn note(
    State((tell, status)): State<(UnboundedSender<String>, Arc<AtomicU16>)>,
    Form(form): Form<HashMap<String, String>>,
) -> StatusCode {
    tell.send(form["logout_token"].clone()).unwrap();
    StatusCode::from_u16(status.load(Ordering::Relaxed)).unwrap()
}

async fn log_out(server: &Server, name: &str, value: &str) -> (Value, Value) {
    let answer = post(&server.url("/logout"), &[], &[(name, value)]).await.is(200).json();
    (answer["clients_told"].clone(), answer["families_revoked"].clone())
}

async fn sid_of(client: &Client, session: &Session) -> String {
    client.userinfo(&session.access).await.is(200).json()["sid"].as_str().unwrap().to_owned()
}

/// The header and the claims of a token that the server has signed.
async fn verified(server: &Server, token: &str) -> (Value, Value) {
    let bytes = |text: &Value| BASE64_URL_SAFE_NO_PAD.decode(text.as_str().unwrap()).unwrap();
    let keys = get(&server.url("/jwks"), &[]).await.is(200).json();
    let key = &keys["keys"][0];
    assert!(key.get("d").is_none(), "the private part of the key is shown");
    let point = [vec![4], bytes(&key["x"]), bytes(&key["y"])].concat();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let signature = Signature::from_slice(&bytes(&signature.into())).unwrap();
    VerifyingKey::from_sec1_bytes(&point).unwrap().verify(signed.as_bytes(), &signature).unwrap();
    let (header, claims) = signed.split_once('.').unwrap();
    let json = |text: &str| -> Value { serde_json::from_slice(&bytes(&text.into())).unwrap() };
    assert_eq!(json(header)["kid"], key["kid"]);
    (json(header), json(claims))
}

#[tokio::test]
async fn the_client_is_told_once() {
    let mut listener = Listener::start().await;
    let server = Server::with(&["--logout-uri", &listener.uri]);
    let client = Client::new(&server);
    let session = client.sign_in().await;
    let sid = sid_of(&client, &session).await;

    // Somebody else's logout is not hers.
    assert_eq!(log_out(&server, "sub", "bob").await, (json!(0), json!(0)));
    assert_eq!(log_out(&server, "sid", "another").await, (json!(0), json!(0)));
    assert_eq!(log_out(&server, "sid", "").await, (json!(0), json!(0)));
    listener.is_silent();
    client.userinfo(&session.access).await.is(200);

    assert_eq!(log_out(&server, "sid", &sid).await, (json!(1), json!(1)));
    let (header, claims) = verified(&server, &listener.only()).await;
    assert_eq!((&header["typ"], &header["alg"]), (&json!("logout+jwt"), &json!("ES256")));
    let names = ["iss", "aud", "sub", "sid"].map(|name| claims[name].as_str().unwrap().to_owned());
    assert_eq!(names, [&server.issuer, client.id, "alice", &sid]);
    assert_eq!(claims["events"], json!({ "http://schemas.openid.net/event/backchannel-logout": {} }));
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 120);
    assert!(claims["jti"].is_string() && claims.get("nonce").is_none(), "{claims}");
    client.is_dead(&session.access, &session.refresh).await;

    assert_eq!(log_out(&server, "sid", &sid).await, (json!(0), json!(0)));
    assert_eq!(log_out(&server, "sub", "alice").await, (json!(0), json!(0)));
    listener.is_silent();
    client.lives(&client.sign_in().await).await;
}

#[tokio::test]
async fn every_session_of_a_user_is_told_by_one_of_many() {
    let mut listener = Listener::start().await;
    let server = Server::with(&["--logout-uri", &listener.uri]);
    let client = Client::new(&server);
    let (one, two) = (client.sign_in().await, client.sign_in().await);
    let mut expected = [sid_of(&client, &one).await, sid_of(&client, &two).await];
    let asked = futures_util::future::join_all((0..8).map(|_| log_out(&server, "sub", "alice"))).await;
    let sum = |part: fn(&(Value, Value)) -> &Value| asked.iter().map(|both| part(both).as_u64().unwrap()).sum::<u64>();
    assert_eq!((sum(|both| &both.0), sum(|both| &both.1)), (2, 2), "{asked:?}");

    let mut told = Vec::new();
    while let Ok(token) = listener.told.try_recv() {
        told.push(verified(&server, &token).await.1["sid"].as_str().unwrap().to_owned());
    }
    told.sort();
    expected.sort();
    assert_eq!(told, expected);
    for session in [one, two] {
        client.is_dead(&session.access, &session.refresh).await;
    }
}

#[tokio::test]
async fn a_client_that_could_not_be_told_is_told_the_next_time() {
    let mut listener = Listener::start().await;
    let server = Server::with(&["--logout-uri", &listener.uri]);
    let client = Client::new(&server);
    let sid = sid_of(&client, &client.sign_in().await).await;
    listener.status.store(503, Ordering::Relaxed);
    assert_eq!(log_out(&server, "sid", &sid).await, (json!(0), json!(1)));
    listener.only();
    listener.status.store(204, Ordering::Relaxed);
    assert_eq!(log_out(&server, "sid", &sid).await, (json!(1), json!(0)));
    listener.only();
    assert_eq!(log_out(&server, "sid", &sid).await, (json!(0), json!(0)));
    listener.is_silent();
}

#[tokio::test]
async fn one_session_ends_and_the_others_of_the_same_user_go_on() {
    let server = Server::start();
    let client = Client::new(&server);
    let (one, two) = (client.sign_in().await, client.sign_in().await);
    assert_eq!(log_out(&server, "sid", &sid_of(&client, &one).await).await, (json!(0), json!(1)));
    client.is_dead(&one.access, &one.refresh).await;
    client.lives(&two).await;
}

#[tokio::test]
async fn a_code_on_its_way_ends_with_its_user() {
    let server = Server::start();
    let client = Client::new(&server);
    let (code, verifier) = client.code().await;
    log_out(&server, "sub", "alice").await;
    client.redeem(&code, &verifier).await.refused(400, "invalid_grant");
    client.lives(&client.sign_in().await).await;
}

#[tokio::test]
async fn a_logout_says_whose() {
    let server = Server::start();
    let url = server.url("/logout");
    post(&url, &[], &[]).await.refused(400, "invalid_request");
    post(&url, &[], &[("sid", "a"), ("sub", "b")]).await.refused(400, "invalid_request");
}
