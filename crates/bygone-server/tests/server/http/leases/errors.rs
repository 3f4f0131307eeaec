//! What stores and daemons refuse, each in its own word.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Clock, ManualClock, SystemClock};
use reqwest::Method;
use serde_json::{Value, json};

use super::super::api::Api;
use super::{jobs, token};
use crate::jobs::Jobs;

#[tokio::test]
async fn a_lease_that_is_over_is_over_for_each_reason_in_its_own_word() {
    let clock = Arc::new(ManualClock::at(SystemClock::new().now()));
    let api = Api::over(Jobs::by(Arc::clone(&clock) as Arc<dyn Clock>)).await;
    let asker = api.asker();
    let lease = asker.acquires("k").await;
    let held = asker.post("acquire", &json!({ "key": "k", "owner": "bob" })).await;
    let after = held.json()["retry_after_ms"].as_u64().unwrap();
    assert_eq!((after, held.header("retry-after")), (30_001, "31"), "a moment behind its end, rounded up");
    held.refused_with(409, "held", "the lease is held by \"ada\" until");
    clock.advance(Duration::from_millis(30_001));
    let update = |lease: &Value| json!({ "lease": lease, "state": "late" });
    asker.post("update", &update(&lease)).await.refused_with(403, "lease-expired", "the lease ended at");
    let next = asker.acquires("k").await;
    asker.post("update", &update(&lease)).await.refused_with(403, "fencing-mismatch", &token(&next).to_string());
    asker.does("release", json!({ "lease": next })).await;
    asker.post("update", &update(&next)).await.refused_with(403, "lease-required", "acquire it first");
    asker.post("get", &json!({ "key": "k" })).await.refused_with(404, "no-such-key", "no state");
}

#[tokio::test]
async fn a_store_is_made_by_those_who_begin_and_by_nobody_else() {
    let lease = jobs().await.asker().acquires("k").await;
    let api = jobs().await;
    let asker = api.asker();
    let looks = [
        ("keepalive", json!({ "lease": lease })),
        ("release", json!({ "lease": lease })),
        ("get", json!({ "key": "k" })),
        ("update", json!({ "lease": lease, "state": "x" })),
        ("remove", json!({ "lease": lease })),
        ("describe", json!({ "key": "k" })),
        ("attachments", json!({ "key": "k" })),
        ("queue/dead", json!({ "queue": "q" })),
        ("queue/stats", json!({ "queue": "q" })),
        ("txn/commit", json!({ "txn": lease["id"] })),
        ("txn/rollback", json!({ "txn": lease["id"] })),
        ("txn/replay", json!({})),
    ];
    for (operation, body) in &looks {
        asker.post(operation, body).await.refused_with(404, "no-such-store", "is not there yet");
    }
    let state = asker.ask(Method::GET, "state/default/k", |request| request).await;
    state.refused_with(404, "no-such-store", "is not there yet");
    asker.does("queue/dequeue", json!({ "queue": "q", "owner": "w" })).await;
    for (operation, body) in looks {
        assert_ne!(asker.post(operation, &body).await.status, 500, "{operation}");
    }
    let strange =
        api.ask(Method::POST, "/lease/v1/other/acquire", |request| request.json(&json!({ "key": "k", "owner": "a" })));
    strange.await.refused_with(404, "no-such-store", "no source `other` has leases");
    let fallen = api.ask(Method::POST, "/lease/v1/fallen/describe", |request| request.json(&json!({ "key": "k" })));
    fallen.await.refused_with(502, "source", "the store has fallen down: lift it");
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_and_named() {
    let api = jobs().await;
    let asker = api.asker();
    let lease = asker.acquires("k").await;
    let refused: [(&str, Value, &str); 12] = [
        ("acquire", json!({ "key": "k", "owner": "a", "ttl": 3 }), "unknown field `ttl`"),
        ("acquire", json!({ "key": "k" }), "missing field `owner`"),
        ("acquire", json!({ "key": "", "owner": "a" }), "it is empty"),
        ("acquire", json!({ "namespace": "a\nb", "key": "k", "owner": "a" }), "control characters"),
        ("acquire", json!({ "key": "x".repeat(257), "owner": "a" }), "longer than 256 bytes"),
        ("acquire", json!({ "key": "k", "owner": "a", "ttl_ms": 0 }), "a lease cannot last"),
        ("acquire", json!({ "key": "k", "owner": "a", "ttl_ms": 1_800_001 }), "a lease cannot last"),
        ("acquire", json!({ "key": "k", "owner": "a", "wait_ms": -1 }), "invalid value"),
        ("get", json!({}), "name a `key`"),
        ("get", json!({ "key": "k", "lease": lease }), "or else a `lease`"),
        ("get", json!({ "namespace": "n" }), "name a `key`"),
        ("update", json!({ "lease": lease, "state": "x", "state_base64": "eA==" }), "given twice"),
    ];
    for (operation, body, told) in refused {
        asker.post(operation, &body).await.refused_with(422, "unprocessable", told);
    }
    let raw = async |media: &'static str, body: &'static str| {
        asker.ask(Method::POST, "acquire", |request| request.header("content-type", media).body(body)).await
    };
    raw("application/json", "{").await.refused_with(400, "bad-request", "no JSON");
    raw("application/json", "").await.refused_with(400, "bad-request", "no JSON");
    raw("application/json", "[]").await.refused_with(422, "unprocessable", "a list");
    raw("text/plain", "{}").await.refused_with(415, "media-type", "send JSON");
    api.get("/lease/v1/jobs/acquire").await.refused_with(405, "no-such-method", "does not answer GET");
    api.post("/lease/v1/jobs/aquire").await.refused_with(404, "no-such-path", "nothing answers");
}
