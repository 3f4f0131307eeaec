//! Who may do what.

use std::sync::Arc;

use bygone_core::ManualClock;
use bygone_server::http::{Listener, Scope, Settings, Token, TokenError, Tokens};
use jiff::Timestamp;
use reqwest::Method;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::api::{Answer, Api, local};
use crate::shelves::{Shelves, shelf};

pub(crate) fn sha256(text: &str) -> String {
    let digits = |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16).unwrap());
    Sha256::digest(text).iter().flat_map(digits).collect()
}

pub(crate) fn token(text: &str, scope: impl Into<Option<Scope>>, expires: Option<Timestamp>) -> Token {
    Token::new(&format!("of {text}"), &sha256(text), scope, expires).unwrap()
}

pub(crate) fn guarded() -> Settings {
    let scopes = [("reader", Scope::Read), ("operator", Scope::Operate), ("admin", Scope::Admin)];
    let tokens = Tokens::new(scopes.map(|(text, scope)| token(text, scope, None)));
    Settings { tokens, ..Settings::default() }
}

async fn ask(api: &Api, method: Method, path: &str, authorization: &str) -> Answer {
    let is_wish = path == "/api/v1/sweeps" && method == Method::POST;
    let with = |request: reqwest::RequestBuilder| {
        let request = request.header("authorization", authorization);
        if is_wish { request.json(&json!({ "policies": ["a-p"] })) } else { request }
    };
    api.ask(method, path, with).await
}

/// Each route with the scope that it needs.
const ROUTES: [(&str, &str, Scope); 11] = [
    ("GET", "/api/v1/policies", Scope::Read),
    ("GET", "/api/v1/policies/a-p", Scope::Read),
    ("GET", "/api/v1/sweeps", Scope::Read),
    ("GET", "/api/v1/openapi.json", Scope::Read),
    ("POST", "/api/v1/policies/a-p/pause", Scope::Operate),
    ("POST", "/api/v1/policies/a-p/resume", Scope::Operate),
    ("POST", "/api/v1/policies/a-p/plan", Scope::Operate),
    ("POST", "/api/v1/pause", Scope::Operate),
    ("POST", "/api/v1/resume", Scope::Operate),
    ("POST", "/api/v1/sweeps", Scope::Operate),
    ("HEAD", "/api/v1/policies", Scope::Read),
];

#[tokio::test]
async fn every_route_asks_for_a_token_with_its_scope() {
    let p = shelf(10);
    let api = Api::with(Shelves::new(&[("a-p", &p, None)]), guarded()).await;
    for (method, path, needs) in ROUTES.into_iter().filter(|(method, ..)| *method != "HEAD") {
        let method: Method = method.parse().unwrap();
        let answer = api.ask(method.clone(), path, |request| request).await;
        let answer = answer.refused_with(401, "unauthorized", "Authorization: Bearer");
        assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"bygone\"");
        for wrong in ["Bearer wrong", "Bearer reader2", "Bearer Reader", "bearer  reader"] {
            let answer = ask(&api, method.clone(), path, wrong).await.refused_with(401, "unauthorized", "not known");
            assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"bygone\", error=\"invalid_token\"");
            assert!(!answer.text.contains("wrong"), "{}", answer.text);
        }
        for none in ["Basic cmVhZGVy", "reader", "Bearer", "Bearer "] {
            ask(&api, method.clone(), path, none).await.refused_with(401, "unauthorized", "Bearer");
        }
        let answer = ask(&api, method.clone(), path, "Bearer reader").await;
        if needs > Scope::Read {
            let answer = answer.refused_with(403, "scope", "`operate`");
            assert!(answer.header("www-authenticate").contains("insufficient_scope"));
            assert_eq!(p.keys().len(), 11, "{path}");
        } else {
            answer.is(200);
        }
    }
    assert!(!api.daemon.is_paused());
    for (method, path, _) in ROUTES.into_iter().filter(|(method, ..)| *method != "HEAD") {
        for authorization in ["Bearer operator", "bearer admin"] {
            let status = ask(&api, method.parse().unwrap(), path, authorization).await.status;
            assert!(status.is_success(), "{path} {authorization}: {status}");
        }
    }
    let head = api.client.head(api.url("/api/v1/policies")).send().await.unwrap();
    assert_eq!(head.status(), 401);
}

#[tokio::test]
async fn events_and_sweeps_ask_for_a_token_too() {
    let p = shelf(1);
    let api = Api::with(Shelves::new(&[("a-p", &p, None)]), guarded()).await;
    let path = ask(&api, Method::POST, "/api/v1/sweeps", "Bearer operator").await.is(202).header("location").to_owned();
    for path in [path.clone(), format!("{path}/events")] {
        api.get(&path).await.refused_with(401, "unauthorized", "token");
        ask(&api, Method::GET, &path, "Bearer reader").await.is(200);
    }
}

#[tokio::test]
async fn only_an_admin_releases_a_brake() {
    let p = shelf(10);
    let api = Api::with(Shelves::new(&[("a-p", &p, None)]), guarded()).await;
    let wish = json!({ "policies": ["a-p"], "release_brake": ["a-p"] });
    let ask = async |bearer| {
        let asked = |request: reqwest::RequestBuilder| request.bearer_auth(bearer).json(&wish);
        api.ask(Method::POST, "/api/v1/sweeps", asked).await
    };
    ask("operator").await.refused_with(403, "scope", "`admin`");
    assert_eq!(p.keys().len(), 11);
    ask("admin").await.is(202);
}

#[tokio::test]
async fn a_token_is_good_until_it_expires() {
    let expires: Timestamp = "2026-11-18T12:00:00Z".parse().unwrap();
    let clock = Arc::new(ManualClock::at(expires - jiff::SignedDuration::from_millis(1)));
    let settings = Settings { tokens: Tokens::new([token("t", Scope::Read, Some(expires))]), ..Settings::default() };
    let listener = Listener::bind(&local(), None, &settings.tokens).await.unwrap();
    // Without policies nobody sleeps by that clock, which would move it on.
    let directory = tempfile::tempdir().unwrap();
    let api = Api::at(listener, Shelves::new(&[]), settings, directory, clock.clone()).await;
    ask(&api, Method::GET, "/api/v1/policies", "Bearer t").await.is(200);
    clock.advance(std::time::Duration::from_millis(1));
    ask(&api, Method::GET, "/api/v1/policies", "Bearer t").await.refused_with(401, "unauthorized", "expired");
}

#[tokio::test]
async fn two_tokens_in_one_request_are_none() {
    let api = Api::with(Shelves::new(&[]), guarded()).await;
    let with = |request: reqwest::RequestBuilder| request.bearer_auth("reader").header("authorization", "Bearer admin");
    api.ask(Method::GET, "/api/v1/policies", with).await.refused_with(401, "unauthorized", "token");
}

#[tokio::test]
async fn probes_need_no_token() {
    let api = Api::with(Shelves::new(&[]), guarded()).await;
    api.get("/livez").await.is(200);
    api.get("/readyz").await.is(200);
}

#[test]
fn a_hash_that_is_none_is_refused_and_none_is_shown() {
    let hash = sha256("t");
    for wrong in ["", "t", &hash[1..], &format!("{hash}0"), &hash.replace(|c: char| c.is_ascii_digit(), "x")] {
        assert_eq!(Token::new("n", wrong, Scope::Read, None).unwrap_err(), TokenError::Hash);
    }
    let token = Token::new("n", &hash.to_uppercase(), Scope::Read, None).unwrap();
    let shown = format!("{token:?}");
    assert!(shown.contains("\"n\"") && !shown.contains("hash"), "{shown}");
    assert_eq!("operate".parse(), Ok(Scope::Operate));
    assert!("root".parse::<Scope>().unwrap_err().to_string().contains("`admin`"));
}
