//! A lease that is lost while the command runs: the command is ended, and that is told.

use std::fs;

use bygone_testkit::Process;
use rustix::process::Signal;
use serde_json::json;

use super::shop::{Shop, parsed, until, until_written};
use crate::support::Running;

/// Ends kindly when it is told to, and says so.
const KIND: &str = "trap 'echo told > told; exit 0' TERM; echo up > up; while test -e up; do sleep 0.02; done";
/// Does not end when it is told to, nor does what it has started.
const DEAF: &str = "trap '' TERM; (echo $$ > up; while test -e up; do sleep 0.02; done) & echo $! > other; wait";

fn start(shop: &Shop, flags: &[&str], script: &str) -> Running {
    let arguments = [&["lease", "exec", "--key", "k", "--ttl", "1s"], flags, &["--", "sh", "-c", script]].concat();
    let running = Running::start(&mut shop.bygone(&arguments));
    until_written(&shop.path("up"));
    running
}

/// Stops the keeper for longer than the lease lasts; somebody else takes it meanwhile.
fn taken_over(shop: &Shop, running: &Running) -> String {
    let first = shop.describe("k")["fencing_token"].as_u64().unwrap();
    running.signal(Signal::STOP);
    let taken = shop.acquire("k", &["--wait", "1m", "--ttl", "10m", "--owner", "next"]);
    assert!(parsed(&taken)["fencing_token"].as_u64().unwrap() > first);
    running.signal(Signal::CONT);
    taken
}

#[test]
fn the_command_is_ended_when_somebody_else_has_the_lease() {
    let shop = Shop::new();
    let running = start(&shop, &[], KIND);
    let taken = taken_over(&shop, &running);
    running.end().ends(79).says(&["the lease of `k` is lost"]);
    assert_eq!(until_written(&shop.path("told")), "told", "it was told kindly");
    let seen = shop.describe("k");
    assert_eq!(seen["owner"], json!("next"), "the lease of the next is none of ours to give back");
    shop.pipe(&["lease", "keepalive", "--lease", "-"], &taken).ends(0);
}

#[test]
fn whoever_does_not_listen_is_killed_with_all_that_he_started() {
    let shop = Shop::new();
    let running = start(&shop, &["--grace", "100ms"], DEAF);
    let other: u32 = until_written(&shop.path("other")).parse().unwrap();
    let other = Process::of(other).expect("it runs");
    taken_over(&shop, &running);
    running.end().ends(79);
    until("what it started is gone", || !other.is_alive());
}

/// The store cannot be written: nobody says that the lease is over, but it is.
#[test]
fn the_command_is_ended_when_the_store_is_silent() {
    let shop = Shop::new();
    let running = start(&shop, &[], KIND);
    let blocker = rusqlite::Connection::open(shop.store().join("leases.db")).unwrap();
    blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(until_written(&shop.path("told")), "told");
    drop(blocker);
    running.end().ends(79).says(&["the lease of `k` is lost"]);
}

/// Like flock, but for this: who dies without a word keeps nobody out for ever.
#[test]
fn who_is_killed_is_followed_by_the_next_with_a_higher_token() {
    let shop = Shop::new();
    let running = start(&shop, &[], "echo up > up; while test -e up && ! test -e go; do sleep 0.02; done");
    let first = shop.describe("k")["fencing_token"].as_u64().unwrap();
    running.signal(Signal::KILL);
    until("it is dead", || !running.is_alive());
    let script = "echo $BYGONE_FENCING_TOKEN";
    let run = shop.run(&["lease", "exec", "--key", "k", "--wait", "1m", "--", "sh", "-c", script]).ends(0);
    assert!(run.stdout.trim().parse::<u64>().unwrap() > first);
    fs::write(shop.path("go"), "").unwrap();
}
