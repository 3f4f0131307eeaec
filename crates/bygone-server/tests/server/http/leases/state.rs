//! State, by JSON and as it is.

use reqwest::Method;
use serde_json::{Value, json};

use super::jobs;

#[tokio::test]
async fn state_is_written_read_and_removed_under_a_lease() {
    let api = jobs().await;
    let asker = api.asker();
    let lease = asker.acquires("k").await;
    let key = json!({ "namespace": "default", "key": "k" });
    let version = |version: u64| json!({ "namespace": "default", "key": "k", "version": version });
    assert_eq!(asker.does("update", json!({ "lease": lease, "state": "\u{e4}" })).await, version(1));
    let found = asker.does("get", key.clone()).await;
    assert_eq!(found, json!({ "namespace": "default", "key": "k", "version": 1, "state": "\u{e4}" }));
    assert_eq!(asker.does("get", json!({ "lease": lease })).await, found);
    let bytes = json!({ "lease": lease, "state_base64": "/wAK", "if_version": 1, "release": true });
    assert_eq!(asker.does("update", bytes).await, version(2));
    let found = asker.does("get", json!({ "key": "k" })).await;
    assert_eq!((&found["state_base64"], found.get("state")), (&json!("/wAK"), None));
    assert_eq!(asker.does("release", json!({ "lease": lease })).await["released"], false, "it was given back already");
    let lease = asker.acquires("k").await;
    let stale = asker.post("remove", &json!({ "lease": lease, "if_version": 1 })).await;
    stale.refused_with(409, "version-conflict", "version 2, not 1");
    assert_eq!(asker.does("remove", json!({ "lease": lease, "if_version": 2 })).await, version(3));
    asker.post("get", &key).await.refused_with(404, "no-such-key", "has no state");
    let known = asker.does("describe", key).await;
    assert_eq!((&known["exists"], &known["version"]), (&json!(false), &json!(3)));
    asker.post("describe", &json!({ "key": "unheard of" })).await.refused_with(404, "no-such-key", "nothing is known");
    let exists = asker.does("acquire", json!({ "key": "new", "owner": "ada", "if_not_exists": true })).await;
    asker.does("update", json!({ "lease": exists, "state": "", "release": true })).await;
    let again = asker.post("acquire", &json!({ "key": "new", "owner": "ada", "if_not_exists": true })).await;
    again.refused_with(409, "already-exists", "has state already");
}

/// Larger than JSON takes, and of a key that has to be written otherwise in a path and a header.
#[tokio::test]
async fn large_state_goes_and_comes_as_it_is() {
    let api = jobs().await;
    let asker = api.asker();
    let (key, place) = ("a/\u{e4}", "state/default/a%2F%C3%A4");
    let lease = asker.acquires(key).await;
    let header = bygone_server::leases::header_text(&lease).unwrap();
    let state: Vec<u8> = (0..=255).cycle().take(9 << 20).collect();
    let put = async |query: &str, state: Vec<u8>| {
        let with = |request: reqwest::RequestBuilder| request.header("bygone-lease", &header).body(state);
        asker.ask(Method::PUT, &format!("{place}{query}"), with).await
    };
    let version = put("?if_version=0", state.clone()).await.is(200).json();
    assert_eq!(version, json!({ "namespace": "default", "key": key, "version": 1 }));
    put("?if_version=0", Vec::new()).await.refused_with(409, "version-conflict", "version 1, not 0");
    let answer = api.client.get(api.url(&format!("/lease/v1/jobs/{place}"))).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), &answer.headers()["bygone-version"]), (200, &"1".parse().unwrap()));
    assert_eq!(&answer.headers()["content-type"], "application/octet-stream");
    assert!(answer.bytes().await.unwrap() == state);
    let told = asker.post("get", &json!({ "key": key })).await;
    told.refused_with(413, "too-large", "GET /lease/v1/jobs/state/");
    // Beyond what is told at once, within what JSON takes.
    let middle = "m".repeat(1 << 20);
    asker.does("update", json!({ "lease": lease, "state": middle })).await;
    assert_eq!(asker.does("get", json!({ "lease": lease })).await["state"], Value::from(middle));
    put("?release=true", b"small".to_vec()).await.is(200);
    assert_eq!(asker.does("get", json!({ "key": key })).await["state"], "small");
    asker.acquires(key).await;
    put("", b"late".to_vec()).await.refused_with(403, "fencing-mismatch", "somebody else has it now");
    asker.ask(Method::GET, "state/default/none", |request| request).await.refused_with(404, "no-such-key", "no state");
}
