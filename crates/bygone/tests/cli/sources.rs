//! What the daemon tells of its sources and of its configuration: as it is, bounded, and without touching anything.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use bygone_testkit::wait::Wait;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::api::{ask, serve};
use crate::support::{Engine, TOKENS, World, everyone, on_each_engine};

/// Sources of every kind beside the database, with a policy each but for the last.
const OTHERS: &str = r#"
[source.jobs]
url = "file:jobs"

[[policy]]
name = "ended-leases"
source = "jobs"
kind = "leases"

[source.area]
url = "file:area"

[[policy]]
name = "staged-files"
source = "area"
kind = "stage"

[source.attic]
url = "file:attic"
"#;

/// A database with tables that have no policy, a lease store, a staging area and a directory.
pub(crate) async fn furnished(engine: Engine) -> World {
    let world = World::with_tokens(engine).await;
    let kind = engine.instant_type();
    world.make_table("sessions").await;
    world.run_sql(&format!("CREATE TABLE carts (id INTEGER PRIMARY KEY, deleted_at {kind}, name VARCHAR(9))")).await;
    for (key, ttl) in [("nightly", "25m"), ("weekly", "20m")] {
        let lease = ["lease", "--store", "file:jobs", "--namespace", "reports", "acquire", "--owner", "ada"];
        world.run(&[&lease[..], &["--key", key, "--ttl", ttl]].concat()).ends(0);
    }
    std::fs::write(world.path("a.txt"), "hello").unwrap();
    std::fs::write(world.path("b.txt"), "for ever").unwrap();
    let put = ["stage", "--store", "file:area", "put"];
    world.run(&[&put[..], &["a.txt", "--ttl", "1h"]].concat()).ends(0);
    world.run(&[&put[..], &["b.txt", "--persist"]].concat()).ends(0);
    std::fs::create_dir(world.path("attic")).unwrap();
    world.configure(&format!("{TOKENS}{OTHERS}"));
    world
}

fn get(port: u16, path: &str) -> Value {
    let answer = ask(port, &format!("GET {path}"), "", "");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

/// Every file below, but for the memory that readers share and what the daemon keeps for itself.
fn contents(directory: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.insert(entry.display().to_string(), Vec::new());
            contents(&entry, found);
        } else if entry.extension().is_none_or(|end| end != "db-shm" && end != "db-wal") {
            found.insert(entry.display().to_string(), std::fs::read(&entry).unwrap());
        }
    }
}

/// The sources' files, and the rows of the database.
async fn everything(world: &World) -> (BTreeMap<String, Vec<u8>>, Vec<u32>) {
    let mut found = BTreeMap::new();
    for source in ["jobs", "area", "attic"] {
        contents(&world.path(source), &mut found);
    }
    (found, world.survivors().await)
}

on_each_engine!(every_source_is_looked_at_and_none_is_touched);

async fn every_source_is_looked_at_and_none_is_touched(engine: Engine) {
    let world = furnished(engine).await;
    let before = everything(&world).await;
    assert_eq!(before.1, everyone());
    let (running, port) = serve(&world);
    let list = get(port, "/api/v1/sources");
    let kinds: Vec<(&str, &str)> = list["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|source| (source["name"].as_str().unwrap(), source["kind"].as_str().unwrap()))
        .collect();
    let [area, attic, db, jobs] =
        [("area", "staging_area"), ("attic", "directory"), ("db", "database"), ("jobs", "lease_store")];
    assert_eq!(kinds, [area, attic, ("bygone-history", "database"), db, jobs], "the history is the daemon's own");
    assert_eq!(list["sources"][3]["policies"], json!(["tokens"]));
    assert_eq!((&list["sources"][3]["closed_gates"], &list["sources"][3]["turn"]), (&json!([]), &json!(null)));

    let database = get(port, "/api/v1/sources/db");
    let coverage = &database["coverage"];
    let uncovered = coverage["uncovered"].as_array().unwrap();
    let of = |at: usize| [&uncovered[at]["table"], &uncovered[at]["column"], &uncovered[at]["index"]];
    assert_eq!((&coverage["tables"], uncovered.len()), (&json!(3), 2), "{coverage}");
    assert_eq!(of(0), [&json!("carts"), &json!("deleted_at"), &json!(null)]);
    assert_eq!(of(1), [&json!("sessions"), &json!("expires_at"), &json!("sessions_expires_at")]);

    let leases = &get(port, "/api/v1/sources/jobs")["leases"];
    let reports = json!({ "namespace": "reports", "live": 2, "expired": 0, "more": false });
    assert_eq!((&leases["namespaces"], &leases["more"]), (&json!([reports]), &json!(false)), "{leases}");
    let hours = leases["hours"].as_array().unwrap();
    let ending: u64 = hours.iter().map(|hour| hour["ending"].as_u64().unwrap()).sum();
    assert_eq!((hours.len(), ending), (24, 2), "{leases}");

    let staged = &get(port, "/api/v1/sources/area")["staged"];
    assert_eq!(staged["total"], json!({ "count": 2, "bytes": 13 }));
    assert_eq!(staged["persistent"], json!({ "count": 1, "bytes": 8 }));
    assert_eq!(staged["expirable"], json!({ "count": 1, "bytes": 5 }));
    assert_eq!(
        (&staged["next"][0]["name"], &staged["next"][1], &staged["more"]),
        (&json!("a.txt"), &json!(null), &json!(false))
    );
    assert_eq!(get(port, "/api/v1/sources/attic")["coverage"], json!(null));

    let explained = get(port, "/api/v1/policies/tokens/explanation");
    assert!(
        explained["statements"].as_array().unwrap().iter().any(|one| one.as_str().unwrap().contains("DELETE")),
        "{explained}"
    );
    assert_eq!(explained["index"], "tokens_expires_at");
    assert_eq!(
        get(port, "/api/v1/policies/tokens")["meaning"],
        "Rows of `tokens` whose `expires_at` is past are removed."
    );
    for policy in ["ended-leases", "staged-files"] {
        let explained = get(port, &format!("/api/v1/policies/{policy}/explanation"));
        assert!(
            explained["walk"].is_string() && explained["place"].as_str().is_some_and(|place| !place.is_empty()),
            "{explained}"
        );
    }
    running.signal(Signal::TERM);
    running.end().ends(0);
    let after = everything(&world).await;
    assert_eq!(after.0.keys().collect::<Vec<_>>(), before.0.keys().collect::<Vec<_>>(), "nothing was made or removed");
    assert!(after == before, "something was written");

    // What is proposed holds.
    let proposals: Vec<&str> = uncovered.iter().map(|table| table["proposal"].as_str().unwrap()).collect();
    world.configure(&format!("{TOKENS}{OTHERS}\n{}\n", proposals.join("\n\n")));
    let checked = world.run(&["check"]).ends(0);
    assert!(checked.stdout.contains("5 policies checked: 0 errors"), "{checked:#?}");
}

#[tokio::test]
async fn a_source_that_is_away_is_told_as_such_and_the_rest_stays_readable() {
    let world = furnished(Engine::Sqlite).await;
    let (running, port) = serve(&world);
    std::fs::rename(world.path("area"), world.path("elsewhere")).unwrap();
    std::fs::rename(world.path("jobs"), world.path("nowhere")).unwrap();
    for source in ["area", "jobs"] {
        let answer = ask(port, &format!("GET /api/v1/sources/{source}"), "", "");
        assert!(answer.starts_with("HTTP/1.1 502") && answer.contains("urn:bygone:problem:source"), "{answer}");
        let page = ask(port, &format!("GET /sources/{source}"), "Accept: text/html\r\n", "");
        assert!(page.starts_with("HTTP/1.1 200") && page.contains("The source could not be asked"), "{page}");
        assert!(!world.path(source).exists(), "a look makes nothing");
    }
    assert!(ask(port, "GET /api/v1/sources/db", "", "").starts_with("HTTP/1.1 200"));
    running.signal(Signal::TERM);
    running.end().ends(0);
}

#[tokio::test]
async fn what_is_wrong_with_a_file_is_told_to_people_without_its_secrets() {
    let world = World::with_tokens(Engine::Sqlite).await;
    let (mut running, port) = serve(&world);
    let told = || get(port, "/api/v1/configuration");
    let is_rejected = || ask(port, "GET /metrics", "", "").contains("\nbygone_config_rejected 1\n");
    assert_eq!((&told()["rejected"], is_rejected()), (&json!(null), false));

    // The first line of the diagnostic's quotation has a password in it.
    world.configure(&format!("[source.other]\nurl = \"postgres://ada:hunter2@db.example/app\"\nevry = 1\n{TOKENS}"));
    running.until_it_says("the one before stays in force");
    let mut wait = Wait::up_to(Duration::from_mins(1));
    while told()["rejected"].is_null() {
        assert!(wait.again().await);
    }
    let first = told();
    let diagnostic = first["rejected"]["diagnostic"].as_str().unwrap();
    assert!(diagnostic.contains("config::unknown_key") && diagnostic.contains("evry"), "{diagnostic}");
    assert!(!diagnostic.contains("hunter2") && !diagnostic.contains('\u{1b}'), "{diagnostic}");
    assert!(diagnostic.contains("postgres://ada:"), "the line is quoted: {diagnostic}");
    let page = ask(port, "GET /", "Accept: text/html\r\n", "");
    assert!(page.contains("The configuration on disk cannot be used") && page.contains("evry"), "{page}");
    assert!(!page.contains("hunter2") && is_rejected());
    assert_eq!(get(port, "/api/v1/policies")["policies"][0]["name"], "tokens", "the old one is in force");

    world.add_lines("[serve]\nhosts = [\"b.example\"]");
    let said = running.until_it_says("restart it");
    assert!(said.contains("`[serve]` says something else than when the daemon was started: hosts"), "{said}");
    let mut wait = Wait::up_to(Duration::from_mins(1));
    while told()["restart_needed"].is_null() {
        assert!(wait.again().await);
    }
    assert_eq!((&told()["rejected"], &told()["restart_needed"]["keys"]), (&json!(null), &json!(["hosts"])));
    assert!(!is_rejected());
    world.configure(TOKENS);
    running.until_it_says("the configuration was read anew");
    let mut wait = Wait::up_to(Duration::from_mins(1));
    while !told()["restart_needed"].is_null() {
        assert!(wait.again().await);
    }
    running.signal(Signal::TERM);
    running.end().ends(0);
    assert_eq!(world.survivors().await, everyone());
}
