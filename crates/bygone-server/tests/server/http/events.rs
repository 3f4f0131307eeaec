//! Pages as they happen.

use bygone_server::What;
use bygone_server::http::{Address, Limits};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use uuid::Uuid;

use super::api::{Api, limited};
use crate::shelves::{Shelves, shelf};

/// Names and data, in their order. Comments are left out.
fn events(text: &str) -> Vec<(String, Value)> {
    let blocks = text.split("\n\n").filter(|block| !block.trim().is_empty() && !block.starts_with(':'));
    let event = |block: &str| {
        let line = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned();
        (line("event:"), serde_json::from_str(&line("data:")).unwrap())
    };
    blocks.map(event).collect()
}

fn names(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

#[tokio::test]
async fn the_pages_of_a_sweep_are_told_in_their_order_to_its_end() {
    let p = shelf(200);
    let api = Api::over(Shelves::new(&[("a-p", &p, None)]).slowly()).await;
    let path = api.sweep(json!({ "policies": ["a-p"] })).await.is(202).header("location").to_owned();
    let answer = api.get(&format!("{path}/events")).await.is(200);
    assert_eq!(answer.header("content-type"), "text/event-stream");
    assert_eq!(answer.header("cache-control"), "no-store");
    let events = events(&answer.text);
    let (name, state) = &events[0];
    assert_eq!((name.as_str(), &state["outcome"]), ("state", &json!(null)));
    assert_eq!(names(&events)[events.len() - 2..], ["policy_ended", "sweep_ended"]);
    assert_eq!(events.last().unwrap().1["outcome"], "complete");
    let pages: Vec<u64> = events.iter().filter_map(|(_, data)| data["so_far"]["removed"].as_u64()).collect();
    let before = state["policies"][0]["removed"].as_u64().unwrap();
    assert_eq!(pages, (before + 1..=200).collect::<Vec<_>>(), "each page once, after what was before");
    assert!(events.iter().skip(1).all(|(_, data)| data["sweep"] == state["sweep"]));
    assert_eq!(api.get(&path).await.json()["outcome"], "complete", "who hears of the end finds the report");
    // Whoever comes later is told of the end.
    let later = api.get(&format!("{path}/events")).await.is(200).text;
    let later = self::events(&later);
    assert_eq!((names(&later), &later[0].1["outcome"]), (vec!["state", "sweep_ended"], &json!("complete")));
    assert_eq!(later[1].1, json!({ "sweep": state["sweep"], "event": "sweep_ended", "outcome": "complete" }));
}

#[tokio::test]
async fn the_pages_of_another_sweep_are_not_told() {
    let (p, q) = (shelf(300), shelf(30));
    let api = Api::over(Shelves::new(&[("a-p", &p, None), ("b-q", &q, None)]).slowly()).await;
    api.sweep(json!({ "policies": ["a-p"] })).await.is(202);
    let path = api.sweep(json!({ "policies": ["b-q"] })).await.is(202).header("location").to_owned();
    let events = events(&api.get(&format!("{path}/events")).await.is(200).text);
    assert!(events.iter().skip(1).all(|(_, data)| data["policy"].is_null() || data["policy"] == "b-q"), "{events:?}");
    assert!(p.keys().len() > 1, "the other one still runs");
}

#[tokio::test]
async fn a_sweep_that_is_not_there_has_no_events() {
    let p = shelf(1);
    let api = Api::over(Shelves::new(&[("a-p", &p, None)])).await;
    let path = format!("/api/v1/sweeps/{}/events", Uuid::nil());
    api.get(&path).await.refused_with(404, "no-such-sweep", "no sweep");
    api.get("/api/v1/sweeps/x/events").await.refused_with(400, "bad-request", "`x`");
}

#[tokio::test]
async fn a_stream_without_events_shows_that_it_is_alive_and_has_no_time_limit() {
    let p = shelf(1_000);
    let limits = Limits {
        heartbeat: std::time::Duration::from_millis(20),
        request_within: std::time::Duration::from_millis(200),
        ..Limits::default()
    };
    let estate = Shelves::new(&[("a-p", &p, None)]).slowly().resting(std::time::Duration::from_millis(300));
    let api = Api::with(estate, limited(limits)).await;
    let path = api.sweep(json!({ "policies": ["a-p"] })).await.is(202).header("location").to_owned();
    let mut answer = api.client.get(api.url(&format!("{path}/events"))).send().await.unwrap();
    let (mut beats, mut pages) = (0, 0);
    while beats < 30 || pages < 2 {
        let chunk = answer.chunk().await.unwrap().unwrap();
        let text = String::from_utf8(chunk.to_vec()).unwrap();
        beats += text.lines().filter(|line| line.starts_with(':')).count();
        pages += text.lines().filter(|line| *line == "event: page").count();
    }
}

#[tokio::test]
async fn a_listener_that_is_too_slow_is_told_what_it_missed() {
    let p = shelf(1_250);
    // Its events are so long that the system does not keep many for somebody who reads none.
    let name = format!("a-{}", "p".repeat(60_000));
    let api = Api::over(Shelves::new(&[(&name, &p, None)]).slowly()).await;
    let mut watcher = api.daemon.watch();
    let path = api.sweep(json!({ "policies": [name] })).await.is(202).header("location").to_owned();
    let Address::Tcp(address) = api.address else { panic!() };
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let request = format!("GET {path}/events HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = vec![0; 16];
    stream.read_exact(&mut text).await.unwrap();
    // It sleeps until the sweep is over.
    while !watcher.recv().await.is_ok_and(|happening| matches!(happening.what, What::SweepEnded { .. })) {}
    stream.read_to_end(&mut text).await.unwrap();
    let text = String::from_utf8(text).unwrap();
    let told: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    let missed = told.iter().position(|name| *name == "missed").unwrap();
    assert_eq!(told[missed..], ["missed", "state", "sweep_ended"]);
    assert!(text.lines().any(|line| line.starts_with(r#"data: {"missed":"#)), "{missed}");
}

#[tokio::test]
async fn so_many_may_listen_and_no_more() {
    let p = shelf(1_000);
    let limits = Limits { streams_max: 1, ..Limits::default() };
    let api = Api::with(Shelves::new(&[("a-p", &p, None)]).slowly(), limited(limits)).await;
    let path = api.sweep(json!({ "policies": ["a-p"] })).await.is(202).header("location").to_owned() + "/events";
    let first = api.client.get(api.url(&path)).send().await.unwrap();
    api.get(&path).await.refused_with(503, "busy", "listen");
    drop(first);
    // Its place is free once the daemon has noticed.
    while api.client.get(api.url(&path)).send().await.unwrap().status() != 200 {}
}
