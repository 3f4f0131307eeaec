//! `bygone queue` through the daemon.

use serde_json::{Value, json};

use super::host::Host;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn messages_go_through_the_daemon_as_they_go_without_it() {
    let host = Host::new();
    let direct = host.direct("store");
    for (store, other) in host.store().iter().map(|store| (store, &direct)) {
        let queue = ["--queue", "mail"];
        let on =
            |store: &str, verb: &str, flags: &[&str]| host.run(store, &[&["queue", verb], &queue[..], flags].concat());
        assert_eq!(on(store, "receive", &[]).ends(0).stdout, "");
        assert_eq!(on(store, "receive", &["--wait", "300ms"]).ends(0).stdout, "");
        let id = on(store, "send", &["--text", "hello", "--attribute", "to=ada"]).ends(0).stdout;
        host.pipe(store, &["queue", "send", "--queue", "mail", "-"], b"\xff\x00").ends(0);
        let stats = on(store, "stats", &["--json"]).ends(0).json();
        assert_eq!((&stats, &stats["messages"]), (&on(other, "stats", &["--json"]).ends(0).json(), &json!(2)));

        let received = on(store, "receive", &["--limit", "100", "--ttl", "5m"]).ends(0).stdout;
        let taken = lines(&received);
        assert_eq!((taken.len(), &taken[0]["id"], &taken[0]["payload"]), (2, &json!(id.trim()), &json!("hello")));
        assert_eq!((&taken[0]["attributes"]["to"], &taken[1]["payload_base64"]), (&json!("ada"), &json!("/wA=")));
        let extend = ["queue", "extend", "--delivery", "-", "--ttl", "10m"];
        let extended = host.pipe(store, &extend, received.as_bytes()).ends(0).stdout;
        assert_eq!(lines(&extended)[0]["payload"], "hello", "{extended}");
        let nacked =
            host.pipe(store, &["queue", "nack", "--delivery", "-", "--json"], received.as_bytes()).ends(0).json();
        assert_eq!(nacked, json!({ "nacked": 2 }));
        host.pipe(store, &["queue", "ack", "--delivery", "-"], received.as_bytes()).ends(79);

        let received = on(store, "receive", &["--limit", "100", "--wait", "1m"]).ends(0).stdout;
        assert_eq!(lines(&received)[0]["attempts"], 2);
        let ack = ["queue", "ack", "--delivery", "-", "--json"];
        let acked = host.pipe(store, &ack, received.as_bytes()).ends(0).json();
        assert_eq!(acked, json!({ "acked": 2 }));
        assert_eq!(host.pipe(store, &ack, received.as_bytes()).ends(0).json(), json!({ "acked": 0 }));
        assert_eq!(on(store, "dead", &["--json"]).ends(0).json(), json!({ "dead": [] }));
    }
    host.end();
}

/// The daemon gives so many at once; who wants more gets them.
#[test]
fn more_than_the_daemon_gives_at_once_comes_in_one_answer() {
    let host = Host::new();
    let [store, _] = host.store();
    for _ in 0..40 {
        host.run(&host.direct("store"), &["queue", "send", "--queue", "mail", "--text", "x"]).ends(0);
    }
    let received = host.run(&store, &["queue", "receive", "--queue", "mail", "--limit", "38"]).ends(0).stdout;
    assert_eq!(lines(&received).len(), 38);
    let rest = host.run(&store, &["queue", "receive", "--queue", "mail", "--limit", "38"]).ends(0).stdout;
    assert_eq!(lines(&rest).len(), 2);
    host.end();
}
