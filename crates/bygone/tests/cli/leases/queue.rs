//! Queues, command by command.

use serde_json::{Value, json};

use super::shop::{Shop, parsed};

fn send(shop: &Shop, text: &str, flags: &[&str]) -> String {
    let run = shop.run(&[&["queue", "send", "--queue", "mail", "--text", text], flags].concat()).ends(0);
    run.stdout.trim().to_owned()
}

fn receive(shop: &Shop, flags: &[&str]) -> Vec<String> {
    let run = shop.run(&[&["queue", "receive", "--queue", "mail"], flags].concat()).ends(0);
    run.stdout.lines().map(str::to_owned).collect()
}

fn stats(shop: &Shop) -> Value {
    shop.run(&["queue", "stats", "--queue", "mail", "--json"]).ends(0).json()
}

#[test]
fn a_message_is_sent_received_and_done() {
    let shop = Shop::new();
    assert!(receive(&shop, &[]).is_empty(), "nothing to receive is no error");
    let first = send(&shop, "one", &["--attribute", "to=ada", "--attribute", "cc=a=b"]);
    send(&shop, "two", &[]);
    assert_eq!(stats(&shop), json!({ "messages": 2, "delayed": 0, "dead": 0 }));

    let got = receive(&shop, &["--owner", "w", "--ttl", "5m"]);
    let delivery = parsed(&got[0]);
    assert_eq!([&delivery["payload"], &delivery["queue"], &delivery["namespace"]], ["one", "mail", "default"]);
    assert_eq!([&delivery["id"], &delivery["attributes"]], [&json!(first), &json!({ "to": "ada", "cc": "a=b" })]);
    assert_eq!([&delivery["attempts"], &delivery["payload_base64"]], [&json!(1), &json!(null)]);
    // It is in somebody's hands: the next one gets the next.
    let second = receive(&shop, &["--limit", "10"]);
    assert_eq!(second.iter().map(|line| parsed(line)["payload"].clone()).collect::<Vec<_>>(), ["two"]);
    assert!(receive(&shop, &["--wait", "50ms"]).is_empty());

    let acked = shop.pipe(&["queue", "ack", "--delivery", "-", "--json"], &got[0]).ends(0).json();
    assert_eq!(acked, json!({ "acked": 1 }));
    let acked = shop.pipe(&["queue", "ack", "--delivery", "-", "--json"], &got[0]).ends(0).json();
    assert_eq!(acked, json!({ "acked": 0 }), "twice is no error");
    assert_eq!(stats(&shop)["messages"], 1, "the other one is still there");
}

#[test]
fn several_at_once_and_each_by_itself() {
    let shop = Shop::new();
    for text in ["a", "b", "c"] {
        send(&shop, text, &[]);
    }
    let all = shop.run(&["queue", "receive", "--queue", "mail", "--limit", "3", "--json"]).ends(0);
    assert_eq!(all.json().as_array().unwrap().len(), 3, "one list: {all:?}");
    std::fs::write(shop.path("mail.json"), &all.stdout).unwrap();
    let extended = shop.run(&["queue", "extend", "--delivery", "mail.json", "--ttl", "10m"]).ends(0).stdout;
    let extended: Vec<Value> = extended.lines().map(parsed).collect();
    for (before, after) in all.json().as_array().unwrap().iter().zip(&extended) {
        assert!(after["expires_at"].as_str() > before["expires_at"].as_str(), "{after}");
    }
    // One of them goes back, and is lost to whoever had it.
    shop.pipe(&["queue", "nack", "--delivery", "-"], &extended[1].to_string()).ends(0);
    let again = receive(&shop, &[]);
    assert_eq!([&parsed(&again[0])["payload"], &parsed(&again[0])["attempts"]], [&json!("b"), &json!(2)]);
    let run = shop.run(&["queue", "ack", "--delivery", "mail.json", "--json"]).ends(79);
    assert_eq!(run.json(), json!({ "acked": 2 }), "the others go all the same");
    run.says(&[extended[1]["id"].as_str().unwrap(), "fencing_mismatch"]);
    assert_eq!(stats(&shop)["messages"], 1);
}

#[test]
fn what_fails_too_often_is_put_aside() {
    let shop = Shop::new();
    let id = send(&shop, "poison", &["--attempts-max", "2"]);
    let deferred = receive(&shop, &[]);
    shop.pipe(&["queue", "nack", "--defer", "--delivery", "-"], &deferred[0]).ends(0);
    for attempt in 1..=2 {
        let got = receive(&shop, &[]);
        assert_eq!(parsed(&got[0])["attempts"], attempt);
        shop.pipe(&["queue", "nack", "--delivery", "-"], &got[0]).ends(0);
    }
    assert!(receive(&shop, &[]).is_empty());
    assert_eq!(stats(&shop), json!({ "messages": 0, "delayed": 0, "dead": 1 }));
    assert_eq!(shop.run(&["queue", "dead", "--queue", "mail"]).ends(0).stdout.trim(), id);
    assert_eq!(shop.run(&["queue", "dead", "--queue", "mail", "--json"]).ends(0).json(), json!({ "dead": [id] }));
}

#[test]
fn what_is_delayed_waits() {
    let shop = Shop::new();
    send(&shop, "later", &["--delay", "1h"]);
    assert!(receive(&shop, &[]).is_empty());
    assert_eq!(stats(&shop), json!({ "messages": 1, "delayed": 1, "dead": 0 }));
    let run = shop.pipe(&["queue", "send", "--queue", "mail", "-"], "from a pipe");
    run.ends(0);
    let got = receive(&shop, &["--wait", "1m", "--limit", "5"]);
    assert_eq!(got.iter().map(|line| parsed(line)["payload"].clone()).collect::<Vec<_>>(), ["from a pipe"]);
    let shown = shop.run(&["queue", "stats", "--queue", "mail"]).ends(0).stdout;
    assert!(shown.contains("messages") && shown.contains("delayed"), "{shown}");
}

#[test]
fn what_is_past_its_time_is_delivered_to_nobody() {
    let shop = Shop::new();
    send(&shop, "short", &["--ttl", "1ms"]);
    send(&shop, "long", &["--ttl", "1h"]);
    let received = receive(&shop, &["--limit", "5"]);
    assert_eq!(received.len(), 1);
    assert_eq!(stats(&shop)["messages"], 1, "the other one is gone");
}
