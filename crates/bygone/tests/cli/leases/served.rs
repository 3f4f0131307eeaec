//! Leases through the daemon: for those who have a token for them, counted, and swept while nobody is there.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Clock, ManualClock, SystemClock};
use bygone_lease::storage::Disk;
use bygone_lease::{
    Acquire, Enqueue, IfVersion, Key, LeaseStore, Namespace, Options, Queue, QueueName, Replay, SystemChance,
};
use bygone_testkit::wait::Wait;
use jiff::SignedDuration;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::api::{ask, serve};
use crate::support::{Engine, World, runs, until_told};

/// `printf %s secret | sha256sum`
const SECRET: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
const BEARER: &str = "Authorization: Bearer secret\r\nContent-Type: application/json\r\n";
const JSON: &str = "Content-Type: application/json\r\n";

/// A world whose only source is a lease store that nobody has made yet.
async fn world(gates: &str, lines: &str) -> World {
    let world = World::empty(Engine::Sqlite).await;
    // The daemon tells of one that never runs by itself when it is there.
    let other = "[source.yard]\nurl = \"file:yard\"\n[[policy]]\nname = \"other\"\nsource = \"yard\"\nkind = \"tree\"\nkeep = \"1d\"\n";
    let policy = "[[policy]]\nname = \"ended\"\nsource = \"jobs\"\nkind = \"leases\"\n";
    world.configure(&format!("[source.jobs]\nurl = \"file:jobs\"\n{gates}\n{policy}{lines}\n{other}"));
    world
}

fn url(world: &World) -> String {
    format!("file:{}", world.path("jobs").display())
}

/// Asks for an operation, and reads the answer.
fn operate(port: u16, operation: &str, headers: &str, body: &Value) -> (String, Value) {
    let answer = ask(port, &format!("POST /lease/v1/jobs/{operation}"), headers, &body.to_string());
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().to_owned();
    (status, serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}")))
}

fn does(port: u16, operation: &str, headers: &str, body: &Value) -> Value {
    let (status, answer) = operate(port, operation, headers, body);
    assert_eq!(status, "200", "{operation}: {answer}");
    answer
}

fn sweep(port: u16) {
    let begun = ask(port, "POST /api/v1/sweeps", JSON, "{\"policies\":[\"ended\"]}");
    assert!(begun.starts_with("HTTP/1.1 202"), "{begun}");
}

/// What a counter of the policy stands at.
fn counted(port: u16, name: &str) -> u64 {
    let metrics = ask(port, "GET /metrics", "", "");
    let begins = format!("bygone_{name}{{policy=\"ended\",source=\"jobs\"}} ");
    metrics.lines().find_map(|line| line.strip_prefix(&begins)?.parse().ok()).unwrap_or(0)
}

#[tokio::test]
async fn a_worker_and_the_shell_share_a_store_through_the_daemon_and_beside_it() {
    let rights = "leases = { default = \"write\", audit = \"read\" }";
    let token = format!("[[serve.token]]\nname = \"worker\"\nsha256 = \"{SECRET}\"\n{rights}\n");
    let world = world("", &token).await;
    let (running, port) = serve(&world);
    let (status, missing) = operate(port, "describe", BEARER, &json!({ "key": "k" }));
    assert_eq!((status.as_str(), &missing["type"]), ("404", &json!("urn:bygone:problem:no-such-store")));
    let lease = does(port, "acquire", BEARER, &json!({ "key": "k", "owner": "worker", "ttl_ms": 600_000 }));

    // What the one printed the other takes, in both directions.
    std::fs::write(world.path("lease.json"), lease.to_string()).unwrap();
    let url = url(&world);
    let shell = |arguments: &[&str]| world.run(&[arguments, &["--store", &url]].concat());
    shell(&["lease", "update", "--lease", "lease.json", "--text", "by the shell"]).ends(0);
    assert_eq!(does(port, "get", BEARER, &json!({ "lease": lease }))["state"], "by the shell");
    let told = shell(&["lease", "describe", "--key", "k", "--json"]).ends(0).json();
    assert_eq!(does(port, "describe", BEARER, &json!({ "key": "k" })), told);
    does(port, "update", BEARER, &json!({ "lease": lease, "state": "by the worker", "release": true }));
    let theirs = shell(&["lease", "acquire", "--key", "k"]).ends(0);
    let theirs: Value = serde_json::from_str(&theirs.stdout).unwrap();
    assert!(theirs["fencing_token"].as_u64() > lease["fencing_token"].as_u64());
    let kept = does(port, "keepalive", BEARER, &json!({ "lease": theirs, "ttl_ms": 600_000 }));
    assert_eq!(kept["id"], theirs["id"]);
    let (status, held) = operate(port, "acquire", BEARER, &json!({ "key": "k", "owner": "worker", "wait_ms": 1 }));
    assert_eq!((status.as_str(), &held["type"]), ("409", &json!("urn:bygone:problem:held")));
    assert!(held["retry_after_ms"].is_u64(), "{held}");

    // And no further than the file says.
    for (operation, body, status, detail) in [
        (
            "acquire",
            json!({ "namespace": "audit", "key": "k", "owner": "w" }),
            "403",
            "`write` in the namespace `audit`",
        ),
        ("describe", json!({ "namespace": "other", "key": "k" }), "403", "`read` in the namespace `other`"),
        ("describe", json!({ "namespace": "audit", "key": "k" }), "404", "nothing is known"),
    ] {
        let (found, problem) = operate(port, operation, BEARER, &body);
        assert!(found == status && problem["detail"].as_str().unwrap().contains(detail), "{found}: {problem}");
    }
    assert_eq!(operate(port, "describe", JSON, &json!({ "key": "k" })).0, "401");
    let cookie = format!("{JSON}Cookie: bygone-token=secret\r\n");
    assert_eq!(operate(port, "describe", &cookie, &json!({ "key": "k" })).0, "401");
    assert!(ask(port, "GET /api/v1/policies", BEARER, "").starts_with("HTTP/1.1 403"));
    running.signal(Signal::TERM);
    assert!(!running.end().ends(0).stderr.contains("secret"));
}

/// A store in which somebody began three days ago, and left.
async fn abandoned(world: &World, leases: usize) {
    let clock = Arc::new(ManualClock::at(SystemClock::new().now() - SignedDuration::from_hours(72)));
    let replay = Replay { every: Duration::MAX, ..Replay::default() };
    let options = Options { replay, ..Options::default() };
    let disk = Disk::open(&world.path("jobs")).unwrap();
    let by = Arc::clone(&clock) as Arc<dyn Clock>;
    let store = LeaseStore::open_by(disk, options, by, Arc::new(SystemChance)).await.unwrap();
    let ask = |key: &str| Acquire::new(Namespace::default(), Key::new(key).unwrap(), "gone");
    let txn = store.begin(None).unwrap();
    store.stage(&Acquire { txn: Some(txn), ..ask("staged") }, b"60", IfVersion::Any).await.unwrap();
    store.commit(txn).await.unwrap();
    let queue = Queue { namespace: Namespace::default(), name: QueueName::new("q").unwrap() };
    let brief = Enqueue { ttl: Some(Duration::from_secs(1)), ..Enqueue::default() };
    store.enqueue(&queue, &brief).await.unwrap();
    // Long over, but not for as long as the last tokens are kept.
    clock.advance(Duration::from_hours(70));
    for n in 0..leases {
        store.acquire(&ask(&format!("k-{n:03}"))).await.unwrap();
    }
    clock.advance(Duration::from_hours(1));
    let alive = Acquire { ttl: Some(Duration::from_mins(30)), ..ask("alive") };
    clock.advance(Duration::from_mins(59));
    store.acquire(&alive).await.unwrap();
}

#[tokio::test]
async fn what_a_sweep_of_leases_did_is_counted() {
    let world = world("", "").await;
    abandoned(&world, 3).await;
    let (running, port) = serve(&world);
    sweep(port);
    until_told(&world, "state", "complete", 1).await;
    assert_eq!(counted(port, "leases_cleared_total"), 3);
    assert_eq!(counted(port, "decision_markers_deleted_total"), 1);
    assert_eq!(counted(port, "messages_deleted_total"), 1);
    assert!(counted(port, "index_entries_deleted_total") >= 4);
    assert_eq!(counted(port, "sweep_seconds_count"), 1);
    assert_eq!(counted(port, "aborts_on_activity_total"), 0);
    assert_eq!(does(port, "get", JSON, &json!({ "key": "staged" }))["state"], "60", "state stays");
    assert_eq!(does(port, "describe", JSON, &json!({ "key": "alive" }))["owner"], "gone", "and so does what lives");
    let metrics = ask(port, "GET /metrics", "", "");
    let operation = "bygone_lease_operations_total{source=\"jobs\",operation=\"get\",result=\"ok\"} 1\n";
    assert!(metrics.contains(operation), "{metrics}");
    running.signal(Signal::TERM);
    running.end().ends(0);
}

/// Pages of ten, a second apart. Who merely looks at the daemon does not stop them, who uses the store does, and when he has
/// gone they go on.
#[tokio::test]
async fn a_sweep_stops_within_a_page_when_somebody_comes_and_goes_on_when_he_has_gone() {
    const LEASES: u64 = 60;
    let gates = "gates = { idle_grace = \"2s\" }";
    let world = world(gates, "every = \"1s\"\nbudget = { page = 10, pause = \"1s\" }").await;
    abandoned(&world, usize::try_from(LEASES).unwrap()).await;
    let (running, port) = serve(&world);
    let mut wait = Wait::up_to(Duration::from_mins(1));
    while counted(port, "leases_cleared_total") == 0 {
        for question in ["GET /livez", "GET /readyz", "GET /api/v1/policies", "GET /api/v1/sweeps", "GET /"] {
            assert!(ask(port, question, "", "").starts_with("HTTP/1.1 200"), "{question}");
        }
        assert!(wait.again().await, "nobody uses the store: {:?}", runs(&world, "state"));
    }
    let aborted = counted(port, "aborts_on_activity_total");
    does(port, "describe", JSON, &json!({ "key": "alive" }));
    let cleared = counted(port, "leases_cleared_total");
    let mut wait = Wait::up_to(Duration::from_mins(1));
    while counted(port, "aborts_on_activity_total") == aborted {
        assert!(wait.again().await, "{:?}", runs(&world, "state"));
    }
    let left = counted(port, "leases_cleared_total");
    assert!(left < LEASES && left <= cleared + 10, "it stopped within a page: {cleared}, then {left}");
    let stopped = runs(&world, "state").into_iter().find(|run| run.outcome == "activity" && run.removed > 0).unwrap();
    assert!(stopped.stopped_by.as_deref().unwrap().contains("the store was used less than 2s ago"), "{stopped:?}");
    let mut wait = Wait::up_to(Duration::from_mins(2));
    while counted(port, "leases_cleared_total") < LEASES {
        assert!(wait.again().await, "it goes on: {:?}", runs(&world, "state"));
    }
    assert_eq!(does(port, "describe", JSON, &json!({ "key": "alive" }))["owner"], "gone");
    running.signal(Signal::TERM);
    running.end().ends(0);
}

/// By hand the sweep goes on: nobody but himself would stop it.
#[tokio::test]
async fn a_sweep_by_hand_asks_for_no_idleness() {
    let world = world("gates = { idle_grace = \"1h\" }", "").await;
    abandoned(&world, 2).await;
    let policy = world.run(&["sweep", "ended", "--format", "json"]).ends(0).only_policy();
    assert_eq!(policy["outcome"], "complete", "{policy}");
    assert!(policy["removed"].as_u64().unwrap() >= 2, "{policy}");
}
