//! Too much, too long, too slow.

use std::sync::Arc;
use std::time::Duration;

use bygone_server::http::Limits;
use reqwest::Method;
use serde_json::json;

use super::api::{Api, limited};
use crate::shelves::{Shelves, shelf};

#[tokio::test]
async fn a_body_that_is_too_large_is_not_read() {
    let p = shelf(1);
    let api = Api::over(Shelves::new(&[("a-p", &p, None)])).await;
    let padded = |length: usize| {
        let wish = r#"{"policies": ["a-p"]}"#;
        format!("{wish}{}", " ".repeat(length - wish.len()))
    };
    let send = async |body: reqwest::Body| {
        let with = |request: reqwest::RequestBuilder| request.header("content-type", "application/json").body(body);
        api.ask(Method::POST, "/api/v1/sweeps", with).await
    };
    send(padded(64 * 1_024 + 1).into()).await.refused_with(413, "too-large", "larger");
    // Without a length that is told beforehand.
    let chunks = vec![Ok::<_, std::io::Error>(padded(64 * 1_024)), Ok(" ".to_owned())];
    let streamed = reqwest::Body::wrap_stream(futures_util::stream::iter(chunks));
    send(streamed).await.refused_with(413, "too-large", "larger");
    assert_eq!(p.keys().len(), 2);
    send(padded(64 * 1_024).into()).await.is(202);
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let limits = Limits { head_bytes_max: 4_096, headers_max: 10, ..Limits::default() };
    let api = Api::with(Shelves::new(&[]), limited(limits)).await;
    let head = |headers: &str| format!("GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n");
    let status = async |headers: &str| api.send_raw(&head(headers)).await.get(9..12).unwrap_or_default().to_owned();
    assert_eq!(status(&format!("x: {}\r\n", "x".repeat(2_000))).await, "200");
    assert_eq!(status(&format!("x: {}\r\n", "x".repeat(5_000))).await, "431");
    assert_eq!(status(&"x: x\r\n".repeat(8)).await, "200");
    assert_eq!(status(&"x: x\r\n".repeat(9)).await, "431");
}

#[tokio::test]
async fn who_is_slow_to_say_what_he_wants_is_left() {
    let limits = Limits { head_within: Duration::from_millis(100), ..Limits::default() };
    let api = Api::with(Shelves::new(&[]), limited(limits)).await;
    for begun in ["", "GET /livez HTT", "GET /livez HTTP/1.1\r\nhost: localhost\r\n"] {
        let answer = api.send_raw(begun).await;
        assert!(!answer.contains(" 200 "), "{answer}");
    }
    // One who has asked before, and asks no more.
    let answer = api.send_raw("GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let p = shelf(1);
    let limits = Limits { request_within: Duration::from_millis(100), ..Limits::default() };
    let api = Api::with(Shelves::new(&[("a-p", &p, None)]), limited(limits)).await;
    let head = "POST /api/v1/sweeps HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{";
    let answer = api.send_raw(head).await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("urn:bygone:problem:too-slow"), "{answer}");
}

#[tokio::test]
async fn what_takes_too_long_is_given_up_and_nothing_comes_of_it_later() {
    let (p, q) = (shelf(300), shelf(5));
    let limits = Limits { request_within: Duration::from_millis(200), ..Limits::default() };
    let api = Api::with(Shelves::new(&[("a-p", &p, None), ("a-q", &q, None)]).slowly(), limited(limits)).await;
    let path = api.sweep(json!({ "policies": ["a-p"] })).await.is(202).header("location").to_owned();
    let answer = api.sweep(json!({ "policies": ["a-q"] })).await.refused_with(503, "too-slow", "0.2 s");
    assert_eq!(answer.header("retry-after"), "5");
    while api.get(&path).await.json()["ended"].is_null() {}
    let path = api.sweep(json!({ "policies": ["a-p"] })).await.is(202).header("location").to_owned();
    while api.get(&path).await.json()["ended"].is_null() {}
    assert_eq!((p.keys().len(), q.keys().len()), (1, 6));
    assert_eq!(api.get("/api/v1/sweeps").await.json()["sweeps"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn more_at_once_than_allowed_is_turned_away_but_for_probes() {
    let p = shelf(2_000);
    let limits = Limits { requests_max: 1, ..Limits::default() };
    let api = Arc::new(Api::with(Shelves::new(&[("a-p", &p, None)]).slowly(), limited(limits)).await);
    api.sweep(json!({ "policies": ["a-p"] })).await.is(202);
    // It waits for its turn, and is under way all the while.
    let waiting = tokio::spawn({
        let api = Arc::clone(&api);
        // Now and then it is itself the one too many.
        async move { while api.sweep(json!({ "policies": ["a-p"] })).await.status == 503 {} }
    });
    let answer = loop {
        let answer = api.get("/api/v1/policies").await;
        if answer.status != 200 {
            break answer.refused_with(503, "busy", "too many requests");
        }
    };
    assert_eq!(answer.header("retry-after"), "5");
    api.get("/livez").await.is(200);
    api.get("/readyz").await.is(200);
    waiting.abort();
    while api.get("/api/v1/policies").await.status != 200 {}
}

#[tokio::test]
async fn connections_beyond_the_most_wait_until_one_is_free() {
    let limits = Limits { connections_max: 1, ..Limits::default() };
    let api = Api::with(Shelves::new(&[]), limited(limits)).await;
    let held = api.connect().await;
    let request = "GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let answered = api.send_raw(request);
    tokio::pin!(answered);
    let early = tokio::time::timeout(Duration::from_millis(50), &mut answered).await;
    assert!(early.is_err(), "{early:?}");
    drop(held);
    assert!(answered.await.starts_with("HTTP/1.1 200"));
}
