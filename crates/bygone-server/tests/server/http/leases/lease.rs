//! Leases: taken, kept, given back, and fought for.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{jobs, token};

#[tokio::test]
async fn a_lease_is_taken_kept_and_given_back() {
    let api = jobs().await;
    let asker = api.asker();
    let lease = asker.acquires("k").await;
    let fields: BTreeSet<&str> = lease.as_object().unwrap().keys().map(String::as_str).collect();
    let stable = ["namespace", "key", "id", "owner", "fencing_token", "expires_at", "version"];
    assert_eq!(fields, BTreeSet::from(stable));
    assert_eq!((&lease["namespace"], &lease["key"], &lease["owner"]), (&json!("default"), &json!("k"), &json!("ada")));
    let kept = asker.does("keepalive", json!({ "lease": lease, "ttl_ms": 600_000 })).await;
    assert!(kept["expires_at"].as_str() > lease["expires_at"].as_str(), "{kept}");
    assert_eq!((&kept["id"], token(&kept)), (&lease["id"], token(&lease)));
    let known = asker.does("describe", json!({ "key": "k" })).await;
    assert_eq!((&known["owner"], &known["exists"], &known["updated_at"]), (&json!("ada"), &json!(false), &Value::Null));
    assert_eq!(known["expires_at"], kept["expires_at"]);
    // The one that was given out first is good for as long as the lease is.
    assert_eq!(asker.does("release", json!({ "lease": lease })).await, json!({ "released": true }));
    assert_eq!(asker.does("release", json!({ "lease": kept })).await, json!({ "released": false }));
    assert!(token(&asker.acquires("k").await) > token(&lease));
    let other = asker.does("acquire", json!({ "namespace": "other", "key": "k", "owner": "bob" })).await;
    assert_eq!(other["namespace"], "other", "keys of two namespaces never meet");
}

#[tokio::test]
async fn one_of_many_has_a_lease_and_tokens_only_grow() {
    let api = jobs().await;
    let asker = api.asker();
    let mut last = 0;
    for _ in 0..10 {
        let all = (0..8).map(|n| {
            let (asker, body) = (&asker, json!({ "key": "k", "owner": format!("worker-{n}") }));
            async move { asker.post("acquire", &body).await }
        });
        let (winners, losers): (Vec<_>, Vec<_>) =
            join_all(all).await.into_iter().partition(|answer| answer.status == 200);
        assert_eq!((winners.len(), losers.len()), (1, 7));
        for answer in losers {
            answer.refused_with(409, "held", "worker-");
        }
        let lease = winners[0].json();
        assert!(token(&lease) > last);
        last = token(&lease);
        asker.does("release", json!({ "lease": lease })).await;
    }
}

#[tokio::test]
async fn who_waits_is_called_when_the_lease_is_given_back() {
    let api = jobs().await;
    let asker = api.asker();
    let lease = asker.does("acquire", json!({ "key": "k", "owner": "ada", "ttl_ms": 600_000 })).await;
    let waiting = asker.does("acquire", json!({ "key": "k", "owner": "bob", "wait_ms": 20_000 }));
    let giving = async {
        // He is in the queue when the lease is given back: asked at once, the store says who has it.
        asker.post("acquire", &json!({ "key": "k", "owner": "eve" })).await.refused_with(409, "held", "ada");
        asker.does("release", json!({ "lease": lease })).await
    };
    let (waited, released) = tokio::join!(waiting, giving);
    assert_eq!((&waited["owner"], &released["released"]), (&json!("bob"), &json!(true)));
    assert!(token(&waited) > token(&lease));
    let late = asker.post("acquire", &json!({ "key": "k", "owner": "eve", "wait_ms": 5 })).await;
    late.refused_with(409, "held", "bob");
}

#[tokio::test]
async fn who_lost_the_answer_asks_again_and_has_the_same_lease() {
    let api = jobs().await;
    let asker = api.asker();
    let ask = json!({ "key": "k", "owner": "ada", "request": "r-1" });
    let first = asker.does("acquire", ask.clone()).await;
    assert_eq!(asker.does("acquire", ask.clone()).await, first);
    let other = json!({ "key": "k", "owner": "ada", "request": "r-2" });
    asker.post("acquire", &other).await.refused_with(409, "held", "ada");
    let stranger = json!({ "key": "k", "owner": "bob", "request": "r-1" });
    asker.post("acquire", &stranger).await.refused_with(409, "held", "ada");
    asker.does("release", json!({ "lease": first })).await;
    assert_ne!(asker.does("acquire", ask).await["id"], first["id"], "a lease that is over is over");
}
