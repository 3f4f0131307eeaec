//! The end: nobody new, what is under way is answered, streams end.

use std::time::Duration;

use bygone_server::http::{Address, Limits};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::api::{Api, limited};
use crate::shelves::{Shelves, shelf};

#[tokio::test]
async fn event_streams_end_and_connections_that_wait_are_closed() {
    let p = shelf(5_000);
    let mut api = Api::over(Shelves::new(&[("a-p", &p, None)]).slowly()).await;
    let path = api.sweep(json!({ "policies": ["a-p"] })).await.is(202).header("location").to_owned();
    let mut stream = api.client.get(api.url(&format!("{path}/events"))).send().await.unwrap();
    assert!(stream.chunk().await.unwrap().is_some());
    let mut idle = api.connect().await;
    idle.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    idle.read_exact(&mut [0; 12]).await.unwrap();
    api.stop.cancel();
    while stream.chunk().await.unwrap().is_some() {}
    idle.read_to_end(&mut Vec::new()).await.unwrap();
    (&mut api.serving).await.unwrap();
    let Address::Tcp(address) = api.address else { panic!() };
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
    assert!(p.keys().len() > 1, "the sweep is the daemon's, and goes on");
}

#[tokio::test]
async fn a_request_under_way_is_answered() {
    let (p, q) = (shelf(100), shelf(1));
    let mut api = Api::over(Shelves::new(&[("a-p", &p, None), ("a-q", &q, None)]).slowly()).await;
    api.sweep(json!({ "policies": ["a-p"] })).await.is(202);
    let (client, url) = (api.client.clone(), api.url("/api/v1/sweeps"));
    let mut waiting = Box::pin(client.post(url).json(&json!({ "policies": ["a-q"] })).send());
    // It is sent, and waits for the lane.
    let early = tokio::time::timeout(Duration::from_millis(50), &mut waiting).await;
    assert!(early.is_err(), "{early:?}");
    api.stop.cancel();
    let answer = waiting.await.unwrap();
    assert_eq!(answer.status(), 202);
    (&mut api.serving).await.unwrap();
}

#[tokio::test]
async fn a_request_that_does_not_end_is_broken_off() {
    let p = shelf(1);
    let limits = Limits { end_within: Duration::from_millis(100), ..Limits::default() };
    let mut api = Api::with(Shelves::new(&[("a-p", &p, None)]), limited(limits)).await;
    let mut stream = api.connect().await;
    let head = "POST /api/v1/sweeps HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{";
    stream.write_all(head.as_bytes()).await.unwrap();
    // The daemon has heard of it once it answers the next one.
    api.get("/livez").await.is(200);
    api.stop.cancel();
    (&mut api.serving).await.unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    assert_eq!(answer, "");
}
