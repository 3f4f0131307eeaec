//! `bygone status` and `bygone history`: how policies stand, and what the daemon did.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{BYGONE_LAST, Engine, Running, World, everyone, living, on_each_engine, until_told};

const DAILY: &str = "schedule = \"0 30 2 * * *\"";

/// A daemon that runs until it has swept so often.
async fn served(world: &World, runs: usize) {
    world.add_lines("every = \"1s\"");
    let mut running = Running::start(&mut world.bygone(&["serve", "--state", "state"]));
    running.until_it_says("serving");
    until_told(world, "state", "complete", runs).await;
    running.signal(Signal::TERM);
    running.end().ends(0);
}

fn status(world: &World) -> Value {
    world.run(&["status", "--state", "state", "--format", "json"]).ends(0).only_policy()
}

fn history(world: &World, flags: &[&str]) -> Value {
    let arguments = [&["history", "--state", "state", "--format", "json"], flags].concat();
    world.run(&arguments).ends(0).json()
}

on_each_engine!(a_status_tells_the_backlog_and_removes_nothing, a_status_tells_of_the_last_run);

async fn a_status_tells_the_backlog_and_removes_nothing(engine: Engine) {
    let world = World::with_tokens(engine).await;
    world.add_lines(DAILY);
    let policy = status(&world);
    assert_eq!(policy["backlog"], BYGONE_LAST);
    // The first of them ended one second into 2020.
    assert!(policy["oldest"].as_str().unwrap().starts_with("2020-01-01T00:00:0"), "{policy}");
    assert!(policy["lag_seconds"].as_u64().unwrap() > 6 * 365 * 86_400, "{policy}");
    assert!(policy["next_run"].as_str().unwrap().ends_with("T02:30:00.000000Z"), "{policy}");
    assert_eq!((&policy["last"], &policy["held"], &policy["error"]), (&Value::Null, &Value::Null, &Value::Null));
    let told = world.run(&["status", "--state", "state"]).ends(0).stdout;
    for part in ["tokens", "60", "02:30:00Z", "nothing was written"] {
        assert!(told.contains(part), "{part} is not in:\n{told}");
    }
    assert_eq!(world.survivors().await, everyone());
    assert!(!world.path("state").exists(), "who only looks makes no state");
}

async fn a_status_tells_of_the_last_run(engine: Engine) {
    let world = World::with_tokens(engine).await;
    served(&world, 1).await;
    assert_eq!(world.survivors().await, living());
    let policy = status(&world);
    assert_eq!((&policy["backlog"], &policy["lag_seconds"]), (&json!(0), &json!(0)));
    assert_eq!(policy["last"]["outcome"], "complete");
    assert!(policy["last"]["sweep"].is_string() && policy["last"]["ended"].is_string(), "{policy}");
}

#[tokio::test]
async fn a_history_goes_backwards_page_by_page_and_has_every_report() {
    let world = World::with_tokens(Engine::Sqlite).await;
    served(&world, 3).await;
    let all = history(&world, &[]);
    let sweeps = all["sweeps"].as_array().unwrap();
    assert!(sweeps.len() >= 3 && all["next_before"].is_null(), "{all}");
    assert!(sweeps.is_sorted_by(|newer, older| newer["began"].as_str() >= older["began"].as_str()), "{all}");
    let removed: u64 = sweeps.iter().map(|sweep| sweep["removed"].as_u64().unwrap()).sum();
    assert_eq!(removed, u64::from(BYGONE_LAST));

    let first = history(&world, &["--limit", "1", "tokens"]);
    assert_eq!(first["sweeps"], json!([sweeps[0]]));
    let next = first["next_before"].as_str().unwrap();
    assert_eq!(history(&world, &["--limit", "1", "--before", next])["sweeps"], json!([sweeps[1]]));
    assert_eq!(history(&world, &["others"])["sweeps"], json!([]));

    let oldest = sweeps.last().unwrap()["sweep"].as_str().unwrap();
    let report = world.run(&["history", "--state", "state", "--sweep", oldest]).ends(0).json();
    assert_eq!((&report["sweep"], &report["policies"][0]["removed"]), (&json!(oldest), &json!(BYGONE_LAST)));
    let told = world.run(&["history", "--state", "state", "--limit", "1"]).ends(0).stdout;
    for part in ["complete", "schedule", "tokens", "there are more: --before"] {
        assert!(told.contains(part), "{part} is not in:\n{told}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_told_with_the_remedy() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.run(&["history", "--state", "state"]).ends(64).says(&["there is no history in", "--state DIR"]);
    world.run(&["status", "--state", "state", "token"]).ends(64).says(&["token"]);
    std::fs::create_dir(world.path("state")).unwrap();
    std::fs::write(world.path("state/ledger.db"), "no ledger at all, but long enough to be read as one").unwrap();
    for verb in ["history", "status"] {
        world.run(&[verb, "--state", "state"]).ends(1).says(&["ledger.db cannot be used"]);
    }
    served_elsewhere(&world).await;
}

/// A sweep that the history does not have.
async fn served_elsewhere(world: &World) {
    std::fs::remove_file(world.path("state/ledger.db")).unwrap();
    served(world, 1).await;
    let nobody = "01a1eed0-96b2-7a6d-8648-e8bc69a56990";
    world.run(&["history", "--state", "state", "--sweep", nobody]).ends(64).says(&["has no sweep", "lists them"]);
    world.run(&["history", "--state", "state", "--limit", "0"]).ends(64);
}

/// A source that does not answer is told by its policy, and by the exit code.
#[tokio::test]
async fn a_source_that_is_gone_is_told() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.alter("table = \"tokens\"", "table = \"nowhere\"");
    let run = world.run(&["status", "--state", "state", "--format", "json"]).ends(65);
    let policy = run.only_policy();
    assert_eq!(policy["backlog"], Value::Null);
    assert!(policy["error"].as_str().unwrap().contains("nowhere"), "{policy}");
}
