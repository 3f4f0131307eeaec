//! Policies, as they are told and held back.

use std::time::Duration;

use bygone_core::Schedule;
use reqwest::Method;
use serde_json::json;

use super::api::Api;
use crate::shelves::{Shelves, shelf};

#[tokio::test]
async fn policies_are_told_as_they_stand() {
    let (p, q) = (shelf(10), shelf(3));
    let rarely = Schedule::every(Duration::from_secs(365 * 24 * 3_600)).unwrap();
    let api = Api::over(Shelves::new(&[("a-p", &p, Some(rarely)), ("b-q", &q, None)])).await;
    let told = api.get("/api/v1/policies").await.is(200).json();
    assert_eq!(told["paused"], false);
    let next = told["policies"][0]["next_run"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert!(next > "2026-01-01T00:00:00Z".parse().unwrap(), "{next}");
    assert_eq!(told["policies"][0]["schedule"], "every 8760h");
    let expected = json!({ "name": "b-q", "source": "b", "schedule": null, "next_run": null, "held": null,
        "running": null, "completed": null, "last": null });
    assert_eq!(told["policies"][1], expected);

    let sweep = api.sweep(json!({ "policies": ["a-p"] })).await.is(202).json()["sweep"].clone();
    while api.get("/api/v1/policies/a-p").await.json()["last"].is_null() {}
    let told = api.get("/api/v1/policies/a-p").await.is(200).json();
    let last = &told["last"];
    assert_eq!((&last["sweep"], &last["outcome"]), (&sweep, &json!("complete")));
    assert_eq!((&last["removed"], &last["kept_back"]), (&json!(10), &json!(0)));
    assert_eq!((&last["lag_seconds"], &last["backlog"]), (&json!(0), &json!(0)));
    assert_eq!(told["completed"], last["ended"]);
    let today = &last["ended"].as_str().unwrap()[..10];
    assert_eq!(told["days"], json!([{ "day": today, "done": 10 }]));
    assert_eq!(api.get("/api/v1/policies").await.json()["policies"][0]["last"], *last);
    assert_eq!(q.keys().len(), 4);
}

#[tokio::test]
async fn a_policy_that_runs_says_in_which_sweep() {
    let p = shelf(1_000);
    let api = Api::over(Shelves::new(&[("a-p", &p, None)]).slowly()).await;
    let sweep = api.sweep(json!({ "policies": ["a-p"] })).await.is(202).json()["sweep"].clone();
    assert_eq!(api.get("/api/v1/policies/a-p").await.json()["running"], sweep);
    api.post("/api/v1/policies/a-p/pause").await.is(200);
    while !api.get("/api/v1/policies/a-p").await.json()["running"].is_null() {}
    assert!(p.keys().len() > 1);
}

#[tokio::test]
async fn a_policy_says_which_gates_keep_it_from_running() {
    let p = shelf(1);
    let api = Api::over(Shelves::new(&[("a-p", &p, None)])).await;
    assert_eq!(api.get("/api/v1/policies/a-p").await.is(200).json()["closed_gates"], json!([]));
    let api = Api::over(Shelves::new(&[("a-p", &p, None)]).waiting("the replica is behind")).await;
    let told = api.get("/api/v1/policies/a-p").await.is(200).json();
    assert_eq!(told["closed_gates"], json!([{ "by": "lag", "reason": "the replica is behind" }]));
}

#[tokio::test]
async fn what_is_paused_is_held_until_it_is_resumed() {
    let (p, q) = (shelf(3), shelf(3));
    let api = Api::over(Shelves::new(&[("a-p", &p, None), ("a-q", &q, None)])).await;
    let held = async |path: &str| api.get(path).await.is(200).json()["held"].clone();
    assert_eq!(api.post("/api/v1/policies/a-p/pause").await.is(200).json()["held"], "the policy is paused");
    assert_eq!(held("/api/v1/policies/a-p").await, "the policy is paused");
    assert_eq!(held("/api/v1/policies/a-q").await, json!(null));
    assert_eq!(api.post("/api/v1/pause").await.is(200).json(), json!({ "paused": true }));
    assert_eq!(held("/api/v1/policies/a-q").await, "everything is paused");
    assert_eq!(api.get("/api/v1/policies").await.json()["paused"], true);

    let sweep = api.sweep(json!({ "policies": ["a-p", "a-q"] })).await.is(202);
    let path = sweep.header("location").to_owned();
    while api.get(&path).await.json()["ended"].is_null() {}
    let report = api.get(&path).await.json();
    assert_eq!(
        (&report["policies"][0]["outcome"], &report["policies"][1]["outcome"]),
        (&json!("held"), &json!("held"))
    );
    assert_eq!((p.keys().len(), q.keys().len()), (4, 4));

    assert_eq!(api.post("/api/v1/resume").await.is(200).json(), json!({ "paused": false }));
    assert_eq!(held("/api/v1/policies/a-p").await, "the policy is paused", "that one was paused by itself");
    assert_eq!(api.post("/api/v1/policies/a-p/resume").await.is(200).json()["held"], json!(null));
}

#[tokio::test]
async fn a_plan_tells_what_would_go_and_nothing_goes() {
    let p = shelf(7);
    let api = Api::over(Shelves::new(&[("a-p", &p, None)])).await;
    let plan = api.post("/api/v1/policies/a-p/plan").await.is(200).json();
    assert_eq!(plan, json!({ "policies": [{ "policy": "a-p", "would_remove": 7 }] }));
    assert_eq!(p.keys().len(), 8);
    let api = Api::over(Shelves::new(&[("a-p", &p, None)]).fallen()).await;
    api.post("/api/v1/policies/a-p/plan").await.refused_with(502, "source", "the shelf has fallen down");
}

#[tokio::test]
async fn what_is_not_there_is_said_to_be_not_there() {
    let p = shelf(1);
    let api = Api::over(Shelves::new(&[("a-p", &p, None)])).await;
    api.get("/api/v1/policies/a-x").await.refused_with(404, "no-such-policy", "no policy `a-x`");
    for action in ["pause", "resume", "plan"] {
        let path = format!("/api/v1/policies/a-x/{action}");
        api.post(&path).await.refused_with(404, "no-such-policy", "no policy `a-x`");
    }
    for path in ["/api", "/api/v1", "/api/v1/policies/", "/api/v2/policies", "/api/v1/policies/a-p/days"] {
        api.get(path).await.refused_with(404, "no-such-path", path);
    }
    let answer = api.ask(Method::DELETE, "/api/v1/policies", |request| request).await;
    assert_eq!(answer.refused_with(405, "no-such-method", "DELETE").header("allow"), "GET,HEAD");
    let answer = api.ask(Method::PUT, "/api/v1/sweeps", |request| request).await;
    let answer = answer.refused_with(405, "no-such-method", "PUT");
    assert!(answer.header("allow").contains("GET") && answer.header("allow").contains("POST"));
    api.get("/api/v1/policies/%ff").await.refused_with(400, "bad-request", "UTF-8");
}

#[tokio::test]
async fn probes_tell_whether_it_lives_and_works() {
    let p = shelf(1);
    let mut api = Api::over(Shelves::new(&[("a-p", &p, None)])).await;
    assert_eq!(api.get("/livez").await.is(200).json(), json!({ "status": "alive" }));
    assert_eq!(api.get("/readyz").await.is(200).json(), json!({ "status": "ready" }));
    api.end_daemon().await;
    api.get("/livez").await.is(200);
    api.get("/readyz").await.refused_with(503, "not-ready", "lanes");
    api.sweep(json!({ "policies": ["a-p"] })).await.refused_with(503, "ending", "ending");
}
