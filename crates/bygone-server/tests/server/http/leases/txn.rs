//! Transactions.

use serde_json::{Value, json};
use uuid::Uuid;

use super::{Asker, jobs};

async fn begun(asker: &Asker<'_>) -> Value {
    let begun = asker.does("txn/begin", json!({ "ttl_ms": 600_000 })).await;
    assert!(begun["expires_at"].as_str().unwrap().ends_with('Z'), "{begun}");
    begun["txn"].clone()
}

async fn staged(asker: &Asker<'_>, txn: &Value, key: &str, state: &str) -> Value {
    asker.does("txn/stage", json!({ "txn": txn, "key": key, "owner": "ada", "state": state })).await
}

#[tokio::test]
async fn all_of_a_transaction_comes_true_at_once() {
    let api = jobs().await;
    let asker = api.asker();
    let txn = begun(&asker).await;
    let lease = staged(&asker, &txn, "ada", "60").await;
    staged(&asker, &txn, "bob", "40").await;
    asker.does("queue/enqueue", json!({ "queue": "q", "payload": "sent", "txn": txn })).await;
    assert_eq!(lease["txn"], txn);
    // The holder sees what he has staged, and nobody else does.
    assert_eq!(asker.does("get", json!({ "lease": lease })).await["state"], "60");
    asker.post("get", &json!({ "key": "ada" })).await.refused_with(404, "no-such-key", "no state");
    asker.post("release", &json!({ "lease": lease })).await.refused_with(409, "txn-pending", "not over");
    let took = async || asker.does("queue/dequeue", json!({ "queue": "q", "owner": "w" })).await["deliveries"].clone();
    assert_eq!(took().await, json!([]));
    let committed = asker.does("txn/commit", json!({ "txn": txn })).await;
    assert_eq!(committed, json!({ "txn": txn, "state": "commit" }));
    for (key, state) in [("ada", "60"), ("bob", "40")] {
        assert_eq!(asker.does("get", json!({ "key": key })).await["state"], state);
    }
    assert_eq!(took().await[0]["payload"], "sent");
    asker.does("txn/commit", json!({ "txn": txn })).await;
    let undone = asker.post("txn/rollback", &json!({ "txn": txn })).await;
    undone.refused_with(409, "txn-conflict", "decided otherwise");
}

#[tokio::test]
async fn none_of_one_that_is_rolled_back_does() {
    let api = jobs().await;
    let asker = api.asker();
    let txn = begun(&asker).await;
    staged(&asker, &txn, "k", "never").await;
    let undone = asker.does("txn/rollback", json!({ "txn": txn })).await;
    assert_eq!(undone, json!({ "txn": txn, "state": "rollback", "known": true }));
    asker.post("txn/commit", &json!({ "txn": txn })).await.refused_with(409, "txn-conflict", "decided otherwise");
    asker.post("get", &json!({ "key": "k" })).await.refused_with(404, "no-such-key", "no state");
    let stranger = json!({ "txn": Uuid::from_u128(7) });
    asker.post("txn/commit", &stranger).await.refused_with(404, "no-such-txn", "there is no transaction");
    assert_eq!(asker.does("txn/rollback", stranger).await["known"], false);
    let (one, other) = (begun(&asker).await, begun(&asker).await);
    staged(&asker, &one, "k", "1").await;
    let stage = json!({ "txn": other, "key": "k", "owner": "bob", "state": "2" });
    asker.post("txn/stage", &stage).await.refused_with(409, "held", "ada");
    let outdated = json!({ "txn": other, "key": "free", "owner": "bob", "state": "2", "if_version": 3 });
    asker.post("txn/stage", &outdated).await.refused_with(409, "version-conflict", "not 3");
}

#[tokio::test]
async fn what_others_left_is_ended() {
    let api = jobs().await;
    let asker = api.asker();
    let left = asker.does("txn/begin", json!({ "ttl_ms": 500 })).await["txn"].clone();
    let alive = begun(&asker).await;
    staged(&asker, &alive, "k", "1").await;
    // It is past its time after half a second, and nobody comes back for it.
    let mut ended = 0;
    for _ in 0..10_000 {
        ended = asker.does("txn/replay", json!({})).await["ended"].as_u64().unwrap();
        if ended > 0 {
            break;
        }
    }
    assert_eq!(ended, 1);
    asker.post("txn/commit", &json!({ "txn": left })).await.refused_with(409, "txn-conflict", "");
    asker.does("txn/commit", json!({ "txn": alive })).await;
}
