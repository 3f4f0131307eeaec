//! Too large, too many, too slow; and what is counted of it.

use std::time::Duration;

use bygone_server::http::Limits;
use futures_util::FutureExt;
use reqwest::{Body, Method, RequestBuilder};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::super::api::{Answer, Api, limited};
use super::{Asker, jobs};
use crate::jobs::Jobs;

#[tokio::test]
async fn each_operation_reads_as_much_as_it_needs() {
    let api = jobs().await;
    let asker = api.asker();
    let lease = asker.acquires("k").await;
    let long = json!({ "key": "k", "owner": "x".repeat(64 << 10) });
    asker.post("acquire", &long).await.refused_with(413, "too-large", "larger than the daemon reads");
    let state = |bytes: usize| json!({ "lease": lease, "state": "x".repeat(bytes) });
    asker.post("update", &state(8 << 20)).await.refused_with(413, "too-large", "larger than the daemon reads");
    asker.does("update", state((8 << 20) - 1_024)).await;
    let message = json!({ "queue": "q", "payload": "x".repeat(2 << 20) });
    asker.post("queue/enqueue", &message).await.refused_with(413, "too-large", "larger than the daemon reads");
    // No other route reads more than it did.
    let sweep = json!({ "policies": ["x".repeat(64 << 10)] });
    api.sweep(sweep).await.refused_with(413, "too-large", "larger than the daemon reads");
}

/// Somebody who waits, and another who was turned away: one operation is let in at once, and either may have come first.
async fn one_who_waits<W: Future<Output = Answer> + Unpin>(asker: &Asker<'_>, wait: impl Fn() -> W) -> (W, Answer) {
    let (key, mut waiting) = (json!({ "key": "k" }), wait());
    loop {
        let mut looking = Box::pin(asker.post("describe", &key));
        tokio::select! {
            answer = &mut waiting => {
                assert_eq!(answer.status, 503, "{}", answer.text);
                // Whoever is in is out before the next one comes: it is not he who turns others away.
                looking.await;
                waiting = wait();
            }
            answer = &mut looking => if answer.status == 503 { return (waiting, answer) },
        }
    }
}

#[tokio::test]
async fn those_who_wait_keep_nobody_from_looking() {
    let limits = Limits { operations_max: 1, requests_max: 1, ..Limits::default() };
    let api = Api::with(Jobs::new(), limited(limits)).await;
    let asker = api.asker();
    let lease = asker.acquires("k").await;
    let wait = json!({ "key": "k", "owner": "bob", "wait_ms": 25_000 });
    let (waiting, turned_away) = one_who_waits(&asker, || Box::pin(asker.post("acquire", &wait))).await;
    assert_eq!(turned_away.header("retry-after"), "5");
    turned_away.refused_with(503, "busy", "too many requests are under way");
    api.get("/api/v1/policies").await.is(200);
    api.get("/livez").await.is(200);
    // He goes away, and leaves the lease to others.
    drop(waiting);
    let mut answer = asker.post("release", &json!({ "lease": lease })).await;
    while answer.status == 503 {
        answer = asker.post("release", &json!({ "lease": lease })).await;
    }
    answer.is(200);
    let known = asker.does("describe", json!({ "key": "k" })).await;
    assert!(known["owner"].is_null(), "whoever has gone is given nothing: {known}");
}

#[tokio::test]
async fn a_wait_is_cut_off_and_an_end_ends_it() {
    let limits = Limits { wait_max: Duration::from_millis(5), ..Limits::default() };
    let api = Api::with(Jobs::new(), limited(limits)).await;
    api.asker().acquires("k").await;
    let wait = json!({ "key": "k", "owner": "bob", "wait_ms": 3_600_000_u64 });
    api.asker().post("acquire", &wait).await.refused_with(409, "held", "ada");

    let api = Api::with(Jobs::new(), limited(Limits { operations_max: 1, ..Limits::default() })).await;
    let asker = api.asker();
    asker.acquires("k").await;
    let (waiting, _) = one_who_waits(&asker, || Box::pin(asker.post("acquire", &wait))).await;
    api.stop.cancel();
    waiting.await.refused_with(503, "ending", "the daemon is ending");
}

/// A stream may take longer than a request, but not stand still.
#[tokio::test]
async fn a_stream_takes_as_long_as_it_moves() {
    let limits =
        Limits { request_within: Duration::from_secs(2), stall_within: Duration::from_secs(2), ..Limits::default() };
    let api = Api::with(Jobs::new(), limited(limits)).await;
    let asker = api.asker();
    let lease = asker.acquires("k").await.to_string();
    let clock = api.daemon.clock();
    let pieces = futures_util::stream::unfold(0, |sent| async move {
        pause().await;
        (sent < 30).then(|| (Ok::<_, std::io::Error>(vec![b'x'; 10]), sent + 1))
    });
    let began = clock.elapsed();
    let put = |body: Body| {
        let lease = lease.clone();
        let with = move |request: RequestBuilder| request.header("bygone-lease", lease).body(body);
        asker.ask(Method::PUT, "attachments/default/k/a", with)
    };
    assert_eq!(put(Body::wrap_stream(pieces)).await.is(200).json()["bytes"], 300);
    assert!(clock.elapsed() > began + Duration::from_secs(2), "longer than a request may take");
    let stuck = futures_util::stream::pending::<Result<Vec<u8>, std::io::Error>>();
    put(Body::wrap_stream(stuck)).await.refused_with(400, "bad-request", "nothing came for 2 s");
    let left = asker.does("attachments", json!({ "key": "k" })).await;
    assert_eq!(left["attachments"][0]["bytes"], 300, "what did not come to its end changed nothing");
}

/// A tenth of a second, by the runtime's own timer.
async fn pause() {
    let never = std::future::pending::<()>();
    let _ = tokio::time::timeout(Duration::from_millis(100), never).await;
}

#[tokio::test]
async fn streams_at_once_are_bounded_and_one_that_breaks_off_changes_nothing() {
    let limits = Limits { transfers_max: 1, ..Limits::default() };
    let api = Api::with(Jobs::new(), limited(limits)).await;
    let asker = api.asker();
    let lease = asker.acquires("k").await.to_string();
    let head = format!(
        "PUT /lease/v1/jobs/attachments/default/k/half HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\
         Bygone-Lease: {lease}\r\n\r\nhalf"
    );
    let send_half = async || {
        let mut half = api.connect().await;
        half.write_all(head.as_bytes()).await.unwrap();
        half
    };
    let mut half = send_half().await;
    let put = async || {
        let with = |request: RequestBuilder| request.header("bygone-lease", &lease).body("x");
        asker.ask(Method::PUT, "attachments/default/k/a", with).await
    };
    while put().await.status != 503 {
        // He may have been turned away himself by the one before.
        if half.read_u8().now_or_never().is_some() {
            half = send_half().await;
        }
    }
    put().await.refused_with(503, "busy", "too many attachments are on their way");
    drop(half);
    while put().await.status != 200 {}
    let left = asker.does("attachments", json!({ "key": "k" })).await;
    let names: Vec<_> = left["attachments"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["a"]);
}

#[tokio::test]
async fn operations_are_counted_by_what_came_of_them() {
    let api = jobs().await;
    let asker = api.asker();
    asker.acquires("secret-key").await;
    asker.post("acquire", &json!({ "key": "secret-key", "owner": "b" })).await.is(409);
    asker.ask(Method::GET, "state/default/secret-key", |request| request).await.is(404);
    let describe = |source: &str| {
        let path = format!("/lease/v1/{source}/describe");
        api.ask(Method::POST, Box::leak(path.into_boxed_str()), |request| request.json(&json!({ "key": "k" })))
    };
    describe("fallen").await.is(502);
    describe("made-up").await.is(404);
    let metrics = api.get("/metrics").await.is(200).text;
    for line in [
        "{source=\"jobs\",operation=\"acquire\",result=\"ok\"} 1",
        "{source=\"jobs\",operation=\"acquire\",result=\"refused\"} 1",
        "{source=\"jobs\",operation=\"get state\",result=\"refused\"} 1",
        "{source=\"fallen\",operation=\"describe\",result=\"failed\"} 1",
    ] {
        assert!(metrics.contains(&format!("bygone_lease_operations_total{line}\n")), "{line}: {metrics}");
    }
    assert!(!metrics.contains("secret-key") && !metrics.contains("made-up"), "{metrics}");
}
