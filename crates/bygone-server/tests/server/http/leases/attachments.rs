//! Attachments, streamed.

use reqwest::{Body, Method, RequestBuilder};
use serde_json::{Value, json};

use super::jobs;

const PLACE: &str = "attachments/default/k/r%C3%A9port%20%2F1";

#[tokio::test]
async fn an_attachment_goes_comes_is_listed_and_goes_away() {
    let api = jobs().await;
    let asker = api.asker();
    let lease = asker.acquires("k").await;
    let header = bygone_server::leases::header_text(&lease).unwrap();
    // In pieces, the sum of which is not told beforehand: more than one of the store's own.
    let pieces: Vec<Vec<u8>> = (0..90_u8).map(|n| vec![n; 100_000]).collect();
    let content = pieces.concat();
    let stream = futures_util::stream::iter(pieces.into_iter().map(Ok::<_, std::io::Error>));
    let with = |request: RequestBuilder| {
        let request = request.header("bygone-lease", &header).header("content-type", "application/pdf");
        request.body(Body::wrap_stream(stream))
    };
    let put = asker.ask(Method::PUT, PLACE, with).await.is(200).json();
    assert_eq!((&put["name"], &put["bytes"]), (&json!("r\u{e9}port /1"), &json!(9_000_000)));
    assert_eq!(put["content_type"], "application/pdf");
    let listed = asker.does("attachments", json!({ "key": "k" })).await;
    assert_eq!(listed, json!({ "attachments": [put] }));

    let answer = api.client.get(api.url(&format!("/lease/v1/jobs/{PLACE}"))).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    let said = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
    assert_eq!((said("content-type"), said("content-length")), ("application/pdf".to_owned(), "9000000".to_owned()));
    assert_eq!(said("content-disposition"), "attachment", "no browser shows it under our name");
    assert_eq!(serde_json::from_str::<Value>(&said("bygone-attachment")).unwrap(), put);
    assert!(answer.bytes().await.unwrap() == content);

    let gone = asker.ask(Method::DELETE, PLACE, |request| request.header("bygone-lease", &header)).await;
    let told = json!({ "namespace": "default", "key": "k", "name": "r\u{e9}port /1", "detached": true });
    assert_eq!(gone.is(200).json(), told);
    let again = asker.ask(Method::DELETE, PLACE, |request| request.header("bygone-lease", &header)).await;
    again.refused_with(404, "no-such-attachment", "has no attachment");
    asker.ask(Method::GET, PLACE, |request| request).await.refused_with(404, "no-such-attachment", "has no attachment");
    assert_eq!(asker.does("attachments", json!({ "key": "k" })).await, json!({ "attachments": [] }));
}

#[tokio::test]
async fn a_lease_is_needed_and_must_be_of_the_key() {
    let api = jobs().await;
    let asker = api.asker();
    let lease = asker.acquires("k").await;
    let put = async |place: &str, leases: &[&str]| {
        let with = |request: RequestBuilder| {
            leases.iter().fold(request.body("x"), |request, lease| request.header("bygone-lease", *lease))
        };
        asker.ask(Method::PUT, place, with).await
    };
    let text = lease.to_string();
    put("attachments/default/k/a", &[]).await.refused_with(400, "bad-request", "`Bygone-Lease`");
    put("attachments/default/k/a", &[&text, &text]).await.refused_with(400, "bad-request", "once");
    put("attachments/default/k/a", &["{"]).await.refused_with(400, "bad-request", "holds no lease");
    put("attachments/default/k/a", &["{}"]).await.refused_with(422, "unprocessable", "missing field");
    put("attachments/default/other/a", &[&text]).await.refused_with(422, "unprocessable", "another key");
    put("attachments/other/k/a", &[&text]).await.refused_with(422, "unprocessable", "another key");
    put("attachments/default/k/%0A", &[&text]).await.refused_with(422, "unprocessable", "control characters");
    put("attachments/default/%0A/a", &[&text]).await.refused_with(422, "unprocessable", "control characters");
    put("attachments/default/%FF/a", &[&text]).await.refused_with(400, "bad-request", "");
    put("attachments/default/k/a", &[&text]).await.is(200);
    asker.does("release", json!({ "lease": lease })).await;
    put("attachments/default/k/b", &[&text]).await.refused_with(403, "lease-required", "acquire it first");
    let left = asker.does("attachments", json!({ "key": "k" })).await;
    assert_eq!(left["attachments"].as_array().unwrap().len(), 1);
}
