//! Sweeps, as they are asked for and told.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bygone_core::SystemClock;
use bygone_server::http::{Listener, Settings};
use bygone_server::{Cause, Ledger};
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use super::api::{Answer, Api, local};
use crate::shelves::{Shelves, shelf};

/// The sweep, once it has ended.
async fn ended(api: &Api, path: &str) -> Value {
    loop {
        let told = api.get(path).await.is(200).json();
        if !told["ended"].is_null() {
            return told;
        }
    }
}

#[tokio::test]
async fn a_sweep_is_begun_and_its_report_is_the_one_of_the_ledger() {
    let (p, q) = (shelf(10), shelf(3));
    let api = Api::over(Shelves::new(&[("a-p", &p, None), ("b-q", &q, None)])).await;
    let answer = api.sweep(json!({ "policies": ["a-p", "a-p"] })).await.is(202);
    let id: Uuid = answer.json()["sweep"].as_str().unwrap().parse().unwrap();
    assert_eq!(answer.header("location"), format!("/api/v1/sweeps/{id}"));
    let mut told = ended(&api, answer.header("location")).await;
    assert_eq!((p.keys().len(), q.keys().len()), (1, 4));
    assert_eq!(told["cause"], "request");
    for own in ["began", "ended", "cause"] {
        told.as_object_mut().unwrap().remove(own).unwrap();
    }
    let report = api.daemon.ledger().report(id).await.unwrap().unwrap();
    assert_eq!(told, serde_json::from_str::<Value>(&report).unwrap());
    assert_eq!(told["policies"][0]["removed"], 10);
}

#[tokio::test]
async fn a_sweep_that_runs_tells_how_far_it_has_come() {
    let p = shelf(1_000);
    let api = Api::over(Shelves::new(&[("a-p", &p, None)]).slowly()).await;
    let path = api.sweep(json!({ "policies": ["a-p"] })).await.is(202).header("location").to_owned();
    let removed = async || api.get(&path).await.is(200).json()["policies"][0]["removed"].as_u64().unwrap();
    while removed().await < 5 {}
    let told = api.get(&path).await.is(200).json();
    assert_eq!((&told["outcome"], &told["ended"]), (&json!(null), &json!(null)));
    let policy = &told["policies"][0];
    assert_eq!((&policy["policy"], &policy["outcome"]), (&json!("a-p"), &json!(null)));
    assert_eq!((&policy["pages"], &policy["examined"]), (&policy["removed"], &policy["removed"]));
    assert_eq!(policy["kept_back"], json!({ "referenced": 0, "locked": 0, "unreadable": 0, "conflict": 0 }));
    let listed = api.get("/api/v1/sweeps").await.is(200).json();
    assert_eq!((&listed["sweeps"][0]["sweep"], &listed["sweeps"][0]["outcome"]), (&told["sweep"], &json!(null)));
    api.post("/api/v1/pause").await.is(200);
    assert_eq!(ended(&api, &path).await["outcome"], "partial");
}

#[tokio::test]
async fn a_sweep_whose_daemon_was_killed_is_told_of_without_a_report() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(SystemClock::new());
    let id = Uuid::now_v7();
    let ledger = Ledger::open(&directory.path().join("ledger.db"), clock.clone()).await.unwrap();
    ledger.begin(id, Cause::Schedule, vec!["a-p".into()]).await.unwrap();
    ledger.progress(id, "a-p".into(), bygone_core::Tally::removed(41)).await.unwrap();
    drop(ledger);
    let p = shelf(1);
    let listener = Listener::bind(&local(), None, &Settings::default().tokens).await.unwrap();
    let api = Api::at(listener, Shelves::new(&[("a-p", &p, None)]), Settings::default(), directory, clock).await;
    let told = api.get(&format!("/api/v1/sweeps/{id}")).await.is(200).json();
    assert_eq!((&told["outcome"], &told["cause"]), (&json!("interrupted"), &json!("schedule")));
    let policy = &told["policies"][0];
    assert_eq!((&policy["outcome"], &policy["removed"]), (&json!("interrupted"), &json!(41)));
    assert_eq!((&policy["kept_back"], &told["boundary"]), (&json!(null), &json!(null)));
}

#[tokio::test]
async fn the_newest_come_first_page_by_page() {
    let (p, q) = (shelf(1), shelf(1));
    let api = Api::over(Shelves::new(&[("a-p", &p, None), ("b-q", &q, None)])).await;
    let mut ids = Vec::new();
    for policy in ["a-p", "b-q", "a-p", "a-p", "b-q"] {
        let path = api.sweep(json!({ "policies": [policy] })).await.is(202).header("location").to_owned();
        ids.insert(0, ended(&api, &path).await["sweep"].clone());
    }
    let page = async |query: &str| -> (Vec<Value>, Value) {
        let told = api.get(&format!("/api/v1/sweeps{query}")).await.is(200).json();
        let sweeps = told["sweeps"].as_array().unwrap();
        (sweeps.iter().map(|sweep| sweep["sweep"].clone()).collect(), told["next_before"].clone())
    };
    assert_eq!(page("").await, (ids.clone(), json!(null)));
    let (first, next) = page("?limit=2").await;
    assert_eq!((&first[..], &next), (&ids[..2], &ids[1]));
    let (second, next) = page(&format!("?limit=3&before={}", next.as_str().unwrap())).await;
    assert_eq!((&second[..], next), (&ids[2..], json!(null)), "exactly the last page");
    let (of_q, _) = page("?policy=b-q").await;
    assert_eq!(of_q, [ids[0].clone(), ids[3].clone()]);
    assert_eq!(page("?policy=c").await, (Vec::new(), json!(null)));
}

#[tokio::test]
async fn a_question_that_cannot_be_read_is_refused_by_name() {
    let p = shelf(1);
    let api = Api::over(Shelves::new(&[("a-p", &p, None)])).await;
    let cases = [
        ("?limit=0", "`limit` is 0"),
        ("?limit=201", "1 to 200"),
        ("?limit=many", "limit"),
        ("?before=yesterday", "before"),
        ("?polcy=a-p", "polcy"),
    ];
    for (query, detail) in cases {
        api.get(&format!("/api/v1/sweeps{query}")).await.refused_with(400, "bad-request", detail);
    }
    api.get("/api/v1/sweeps/latest").await.refused_with(400, "bad-request", "`latest`");
    let unknown = format!("/api/v1/sweeps/{}", Uuid::nil());
    api.get(&unknown).await.refused_with(404, "no-such-sweep", &Uuid::nil().to_string());
}

#[tokio::test]
async fn a_wish_that_makes_no_sense_is_refused_and_nothing_goes() {
    let (p, q) = (shelf(1), shelf(1));
    let estate = Shelves::new(&[("a-p", &p, None), ("b-q", &q, None)]);
    let turn = Arc::clone(&estate.turn);
    let api = Api::over(estate).await;
    let cases = [
        (json!({ "policies": ["a-x"] }), 404, "no-such-policy", "`a-x`"),
        (json!({ "policies": ["a-p", "b-q"] }), 422, "unprocessable", "several sources"),
        (json!({ "policies": [] }), 422, "unprocessable", "empty"),
        (json!({}), 422, "unprocessable", "`policies`"),
        (json!([["a-p"], []]), 422, "unprocessable", "object"),
        (json!({ "policies": "a-p" }), 422, "unprocessable", "sequence"),
        (json!({ "policies": ["a-p"], "force": true }), 422, "unprocessable", "unknown field `force`"),
        (json!({ "policies": ["a-p"], "release_brake": ["b-q"] }), 422, "unprocessable", "`b-q`"),
    ];
    for (body, status, word, detail) in cases {
        api.sweep(body).await.refused_with(status, word, detail);
    }
    let send = async |body: &'static str, media: &str| -> Answer {
        let with = |request: reqwest::RequestBuilder| request.header("content-type", media).body(body);
        api.ask(Method::POST, "/api/v1/sweeps", with).await
    };
    for body in ["", "{", "{\"policies\": [\"a-p\"]} {}", "policies: [a-p]"] {
        send(body, "application/json").await.refused_with(400, "bad-request", "JSON");
    }
    let body = r#"{"policies": ["a-p"]}"#;
    for media in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp"] {
        send(body, media).await.refused_with(415, "media-type", "application/json");
    }
    turn.is_theirs.store(true, Ordering::Release);
    api.sweep(json!({ "policies": ["a-p"] })).await.refused_with(409, "swept-by-another", "turn");
    turn.is_theirs.store(false, Ordering::Release);
    assert_eq!((p.keys().len(), q.keys().len()), (2, 2));
    assert_eq!(api.get("/api/v1/sweeps").await.json()["sweeps"], json!([]));
    send(body, "Application/JSON; charset=utf-8").await.is(202);
}

#[tokio::test]
async fn the_brake_holds_unless_somebody_releases_it() {
    let p = shelf(2_000);
    let api = Api::over(Shelves::new(&[("a-p", &p, None)]).braked()).await;
    let path = api.sweep(json!({ "policies": ["a-p"] })).await.is(202).header("location").to_owned();
    let report = ended(&api, &path).await;
    assert_eq!((&report["outcome"], p.keys().len()), (&json!("refused"), 2_001));
    let wish = json!({ "policies": ["a-p"], "release_brake": ["a-p"] });
    let path = api.sweep(wish).await.is(202).header("location").to_owned();
    assert_eq!(ended(&api, &path).await["outcome"], "complete");
    assert_eq!(p.keys(), ["alive"]);
}

#[tokio::test]
async fn too_many_sweeps_at_once_are_too_many() {
    let p = shelf(1_000);
    let api = Arc::new(Api::over(Shelves::new(&[("a-p", &p, None)]).slowly()).await);
    api.sweep(json!({ "policies": ["a-p"] })).await.is(202);
    // One is under way, sixteen may wait.
    let mut asked = tokio::task::JoinSet::new();
    for _ in 0..17 {
        let api = Arc::clone(&api);
        asked.spawn(async move { api.sweep(json!({ "policies": ["a-p"] })).await });
    }
    let answer = asked.join_next().await.unwrap().unwrap().refused_with(429, "too-many", "waiting");
    assert_eq!(answer.header("retry-after"), "5");
}
