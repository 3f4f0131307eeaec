//! Queues.

use serde_json::{Value, json};

use super::jobs;

#[tokio::test]
async fn a_message_is_delivered_extended_given_back_and_done() {
    let api = jobs().await;
    let asker = api.asker();
    let message = json!({ "queue": "mail", "payload": "hello", "attributes": { "to": "ada" } });
    let id = asker.does("queue/enqueue", message).await["id"].clone();
    let take = json!({ "queue": "mail", "owner": "worker", "limit": 32 });
    let first = async || {
        let taken = asker.does("queue/dequeue", take.clone()).await;
        assert_eq!(taken["deliveries"].as_array().unwrap().len(), 1, "{taken}");
        taken["deliveries"][0].clone()
    };
    let delivery = first().await;
    assert_eq!((&delivery["id"], &delivery["payload"], &delivery["attempts"]), (&id, &json!("hello"), &json!(1)));
    assert_eq!(delivery["attributes"], json!({ "to": "ada" }));
    assert_eq!(asker.does("queue/dequeue", take.clone()).await, json!({ "deliveries": [] }), "one worker at a time");
    let extended = asker.does("queue/extend", json!({ "delivery": delivery, "ttl_ms": 600_000 })).await;
    assert!(extended["expires_at"].as_str() > delivery["expires_at"].as_str());
    let stats = asker.does("queue/stats", json!({ "queue": "mail" })).await;
    assert_eq!(stats, json!({ "messages": 1, "delayed": 0, "dead": 0 }));
    let back = json!({ "delivery": delivery, "defer": true });
    assert_eq!(asker.does("queue/nack", back).await, json!({ "nacked": 1 }));
    let again = first().await;
    assert_eq!(again["attempts"], 1, "that one did not count");
    let mut elsewhere = again.clone();
    elsewhere["name"] = json!("../../meta/k");
    let strange = asker.post("queue/ack", &json!({ "delivery": elsewhere })).await;
    strange.refused_with(422, "unprocessable", "names no message");
    let late = asker.post("queue/ack", &json!({ "delivery": delivery })).await;
    late.refused_with(403, "fencing-mismatch", "somebody else has it now");
    // What is done with it needs no payload.
    let mut bare = again.clone();
    bare.as_object_mut().unwrap().remove("payload");
    assert_eq!(asker.does("queue/ack", json!({ "delivery": bare })).await, json!({ "acked": 1 }));
    assert_eq!(asker.does("queue/ack", json!({ "delivery": again })).await, json!({ "acked": 0 }));
    assert_eq!(asker.does("queue/dequeue", take.clone()).await, json!({ "deliveries": [] }));
}

#[tokio::test]
async fn who_waits_is_called_when_a_message_comes() {
    let api = jobs().await;
    let asker = api.asker();
    let waiting = asker.does("queue/dequeue", json!({ "queue": "q", "owner": "w", "wait_ms": 20_000 }));
    let (taken, _) =
        tokio::join!(waiting, asker.does("queue/enqueue", json!({ "queue": "q", "payload_base64": "/w==" })));
    assert_eq!(taken["deliveries"][0]["payload_base64"], "/w==");
}

#[tokio::test]
async fn a_message_that_fails_too_often_is_put_aside() {
    let api = jobs().await;
    let asker = api.asker();
    let id =
        asker.does("queue/enqueue", json!({ "queue": "q", "payload": "x", "attempts_max": 1 })).await["id"].clone();
    let taken = asker.does("queue/dequeue", json!({ "queue": "q", "owner": "w" })).await;
    asker.does("queue/nack", json!({ "delivery": taken["deliveries"][0] })).await;
    let none = asker.does("queue/dequeue", json!({ "queue": "q", "owner": "w" })).await;
    assert_eq!(none, json!({ "deliveries": [] }));
    assert_eq!(asker.does("queue/dead", json!({ "queue": "q" })).await, json!({ "dead": [id] }));
    asker.does("queue/enqueue", json!({ "queue": "q", "payload": "later", "delay_ms": 600_000 })).await;
    let stats = asker.does("queue/stats", json!({ "queue": "q" })).await;
    assert_eq!(stats, json!({ "messages": 1, "delayed": 1, "dead": 1 }));
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let api = jobs().await;
    let asker = api.asker();
    let refused: [(&str, Value, &str); 9] = [
        ("queue/enqueue", json!({ "queue": "q" }), "`payload`, or `payload_base64`: it is not given"),
        ("queue/enqueue", json!({ "queue": "q", "payload": "x", "payload_base64": "eA==" }), "given twice"),
        ("queue/enqueue", json!({ "queue": "q", "payload_base64": "!" }), "no base64"),
        ("queue/enqueue", json!({ "queue": "q", "payload": "x", "attempts_max": 0 }), "nonzero"),
        (
            "queue/enqueue",
            json!({ "queue": "q", "payload": "x", "ttl_ms": 1_795_036_130_291_733_u64 }),
            "ttl of a message",
        ),
        (
            "queue/enqueue",
            json!({ "queue": "q", "payload": "x", "delay_ms": u64::MAX }),
            "the delay of a message cannot be",
        ),
        ("queue/dequeue", json!({ "queue": "q", "owner": "w", "limit": 33 }), "from 1 to 32"),
        ("queue/dequeue", json!({ "queue": "q", "owner": "w", "ttl_ms": 0 }), "a lease cannot last"),
        ("queue/dead", json!({ "queue": "q", "limit": 0 }), "from 1 to 1000"),
    ];
    for (operation, body, told) in refused {
        asker.post(operation, &body).await.refused_with(422, "unprocessable", told);
    }
    let large = json!({ "queue": "q", "payload": "x".repeat((256 << 10) + 1) });
    asker.post("queue/enqueue", &large).await.refused_with(413, "too-large", "at most 262144 are allowed");
    let most = json!({ "queue": "q", "payload": "\u{1}".repeat(256 << 10) });
    asker.does("queue/enqueue", most).await;
}
