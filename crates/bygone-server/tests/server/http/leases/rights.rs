//! Who may do what in which namespace.

use std::sync::Arc;

use bygone_core::{Clock, SystemClock};
use bygone_server::http::{Right, Rights, Scope, Settings, Token, Tokens};
use jiff::SignedDuration;
use reqwest::Method;
use serde_json::{Value, json};

use super::super::api::Api;
use super::super::tokens::{sha256, token};
use crate::jobs::Jobs;

fn with_rights(text: &str, rights: &[(&str, Right)]) -> Token {
    let rights = rights.iter().map(|(namespace, right)| ((*namespace).to_owned(), *right));
    Token::new(&format!("of {text}"), &sha256(text), None, None).unwrap().with_leases(Rights::new(rights))
}

async fn guarded() -> Api {
    let past = SystemClock::new().now() - SignedDuration::from_secs(1);
    let tokens = [
        token("admin", Scope::Admin, None),
        token("operator", Scope::Operate, None),
        token("expired", Scope::Admin, Some(past)),
        with_rights("worker", &[("jobs", Right::Write), ("*", Right::Read)]),
        with_rights("reader", &[("jobs", Right::Read)]),
        token("tame", Scope::Admin, None).with_leases(Rights::new([("jobs".to_owned(), Right::Read)])),
    ];
    Api::with(Jobs::new(), Settings { tokens: Tokens::new(tokens), ..Settings::default() }).await
}

fn acquire(namespace: &str) -> Value {
    json!({ "namespace": namespace, "key": "k", "owner": "a" })
}

#[tokio::test]
async fn a_namespace_is_open_to_those_who_have_a_right_to_it() {
    let api = guarded().await;
    let as_ = |token: &'static str| api.asker().with_token(token);
    let worker = as_("worker");
    let lease = worker.does("acquire", acquire("jobs")).await;
    worker.does("update", json!({ "lease": lease, "state": "x" })).await;
    let refused = worker.post("acquire", &acquire("other")).await;
    assert!(refused.header("www-authenticate").contains("insufficient_scope"));
    refused.refused_with(403, "scope", "the token `of worker` has no right to `write` in the namespace `other`");
    worker.post("describe", &json!({ "namespace": "other", "key": "k" })).await.refused_with(404, "no-such-key", "");

    // Who only reads sees everything of the namespace, and changes nothing.
    let reader = as_("reader");
    let (key, queue) = (json!({ "namespace": "jobs", "key": "k" }), json!({ "namespace": "jobs", "queue": "q" }));
    for (operation, body) in [
        ("get", &key),
        ("describe", &key),
        ("attachments", &key),
        ("queue/dead", &queue),
        ("queue/stats", &queue),
        ("get", &json!({ "lease": lease })),
    ] {
        reader.post(operation, body).await.is(200);
    }
    reader.ask(Method::GET, "state/jobs/k", |request| request).await.is(200);
    reader.post("get", &json!({ "key": "k" })).await.refused_with(403, "scope", "`read` in the namespace `default`");
    let delivery = json!({
        "namespace": "jobs", "queue": "q", "id": lease["id"], "name": "n", "attributes": {}, "attempts": 1,
        "lease": lease["id"], "fencing_token": 1, "expires_at": lease["expires_at"],
    });
    let held = lease.to_string();
    for (operation, body) in [
        ("acquire", acquire("jobs")),
        ("keepalive", json!({ "lease": lease })),
        ("release", json!({ "lease": lease })),
        ("update", json!({ "lease": lease, "state": "y" })),
        ("remove", json!({ "lease": lease })),
        ("queue/enqueue", json!({ "namespace": "jobs", "queue": "q", "payload": "x" })),
        ("queue/dequeue", json!({ "namespace": "jobs", "queue": "q", "owner": "r" })),
        ("queue/ack", json!({ "delivery": delivery })),
        ("queue/nack", json!({ "delivery": delivery })),
        ("queue/extend", json!({ "delivery": delivery })),
        ("txn/begin", json!({})),
        ("txn/stage", json!({ "txn": lease["id"], "namespace": "jobs", "key": "k", "owner": "r", "state": "y" })),
        ("txn/commit", json!({ "txn": lease["id"] })),
        ("txn/rollback", json!({ "txn": lease["id"] })),
        ("txn/replay", json!({})),
    ] {
        reader.post(operation, &body).await.refused_with(403, "scope", "has no right to `write`");
    }
    for (method, place) in
        [(Method::PUT, "state/jobs/k"), (Method::PUT, "attachments/jobs/k/a"), (Method::DELETE, "attachments/jobs/k/a")]
    {
        let answer = reader.ask(method, place, |request| request.header("bygone-lease", &held)).await;
        answer.refused_with(403, "scope", "has no right to `write`");
    }
    assert_eq!(reader.does("get", key).await["state"], "x");
}

/// A lease that names another namespace than it is of opens neither.
#[tokio::test]
async fn what_a_document_names_is_what_is_asked_for() {
    let api = guarded().await;
    let worker = api.asker().with_token("worker");
    let admin = api.asker().with_token("admin");
    let foreign = admin.does("acquire", acquire("other")).await;
    worker.post("update", &json!({ "lease": foreign, "state": "x" })).await.refused_with(403, "scope", "`other`");
    let mut forged = foreign.clone();
    forged["namespace"] = json!("jobs");
    worker.post("update", &json!({ "lease": forged, "state": "x" })).await.refused_with(403, "lease-required", "");
    let answer = worker
        .ask(Method::PUT, "state/other/k", |request| request.header("bygone-lease", foreign.to_string()).body("x"));
    answer.await.refused_with(403, "scope", "`write` in the namespace `other`");
    let known = admin.does("describe", json!({ "namespace": "other", "key": "k" })).await;
    assert_eq!((&known["exists"], &known["owner"]), (&json!(false), &json!("a")));
}

#[tokio::test]
async fn nobody_else_comes_in() {
    let api = guarded().await;
    let begin = async |token: &'static str| api.asker().with_token(token).post("txn/begin", &json!({})).await;
    begin("admin").await.is(200);
    begin("worker").await.is(200);
    begin("operator").await.refused_with(403, "scope", "`of operator` has no right to `write` in any namespace");
    begin("tame").await.refused_with(403, "scope", "no right to `write` in any namespace");
    begin("expired").await.refused_with(401, "unauthorized", "has expired");
    begin("stranger").await.refused_with(401, "unauthorized", "not known");
    api.asker().post("txn/begin", &json!({})).await.refused_with(401, "unauthorized", "send a token");
    // Neither what changes something nor what only looks listens to a browser's cookie.
    for method in [Method::POST, Method::GET] {
        let (operation, body) =
            if method == Method::POST { ("get", json!({ "key": "k" })) } else { ("state/a/k", json!({})) };
        let cookie = |request: reqwest::RequestBuilder| request.header("cookie", "bygone-token=admin").json(&body);
        let answer = api.asker().ask(method, operation, cookie).await;
        answer.refused_with(401, "unauthorized", "send a token");
    }
    // A token for leases alone is good for nothing else.
    let policies = api.ask(Method::GET, "/api/v1/policies", |request| request.bearer_auth("worker")).await;
    policies.refused_with(403, "scope", "the token `of worker` has `none`");
    let other_site = |request: reqwest::RequestBuilder| {
        request.bearer_auth("admin").header("sec-fetch-site", "cross-site").json(&json!({}))
    };
    api.ask(Method::POST, "/lease/v1/jobs/txn/begin", other_site).await.refused_with(403, "other-site", "");
}

#[tokio::test]
async fn without_any_tokens_everything_is_open() {
    let api = Api::over(Jobs::by(Arc::new(SystemClock::new()) as Arc<dyn Clock>)).await;
    api.asker().does("acquire", acquire("any")).await;
}
