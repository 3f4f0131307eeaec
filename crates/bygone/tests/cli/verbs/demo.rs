//! `bygone demo`: the first thing that anybody runs.

use std::io::Read as _;
use std::time::Duration;

use bygone_testkit::wait::Wait;
use rustix::process::{Pid, Signal, kill_process};

use crate::api::ask;
use crate::support::{Run, bygone};
use crate::terminal::start as on_terminal;

#[test]
fn once_shows_it_all_and_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let run = Run::of(bygone(&["demo", "--once", "--rows", "5000"]).env("TMPDIR", temporary.path())).ends(0);
    let places: Vec<usize> = ["[[policy]]", "would be removed", "removed in", "What survived, and why"]
        .iter()
        .map(|part| run.stdout.find(part).unwrap_or_else(|| panic!("{part:?} is not in {}", run.stdout)))
        .collect();
    assert!(places.is_sorted(), "{places:?} in {}", run.stdout);
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0, "something is left in TMPDIR");
    // Four tables, two directories and what a lease store holds: something is left of each, some stand exactly on the
    // boundary, and nothing is bygone.
    let (_, survivors) = run.stdout.split_once("What survived, and why").unwrap();
    let rows: Vec<Vec<&str>> =
        survivors.lines().map(|line| line.split_whitespace().collect()).filter(|row: &Vec<_>| row.len() == 7).collect();
    assert_eq!(rows.len(), 9, "{survivors}");
    for row in rows {
        assert_ne!(row[1], "0", "{row:?}");
        let on_the_boundary = match row[0] {
            "transactions" | "messages" => "0",
            directory if directory.ends_with('/') => "10",
            _ => "5",
        };
        assert_eq!((row[4], row[6]), (on_the_boundary, "0"), "{row:?}");
    }
    // Leases live, or are gone and have left the state that they guarded; the decision of the abandoned transaction is
    // remembered, that of two days ago is not; messages that nobody has acknowledged wait.
    for counts in [["leases/", "132", "40", "20"], ["transactions", "1", "1", "0"], ["messages", "5", "0", "0"]] {
        let row = survivors.lines().find(|line| line.trim_start().starts_with(counts[0])).unwrap();
        assert_eq!(row.split_whitespace().take(4).collect::<Vec<_>>(), counts, "{survivors}");
    }
}

/// Without a terminal there is nobody to stop it, so it ends.
#[test]
fn without_a_terminal_it_ends_by_itself() {
    let temporary = tempfile::tempdir().unwrap();
    Run::of(bygone(&["demo", "--rows", "100"]).env("TMPDIR", temporary.path())).ends(0);
}

#[test]
fn a_named_directory_stays_and_can_be_swept() {
    let temporary = tempfile::tempdir().unwrap();
    let directory = temporary.path().join("demo");
    let name = directory.to_str().unwrap();
    let run = Run::of(&mut bygone(&["demo", "--once", "--rows", "1000", "--dir", name])).ends(0);
    let config = directory.join("bygone.toml");
    run.says(&[&format!("bygone plan --config {}", config.display())]);
    let plan = Run::of(&mut bygone(&["plan", "--format", "json", "--config", config.to_str().unwrap()])).ends(0);
    assert_eq!(plan.json()["policies"].as_array().unwrap().len(), 7);
    // What is there already is not written over.
    let before = std::fs::read(directory.join("auth.db")).unwrap();
    Run::of(&mut bygone(&["demo", "--once", "--dir", name])).ends(64).says(&["does not exist yet"]);
    assert!(std::fs::read(directory.join("auth.db")).unwrap() == before, "the database was written over");
}

/// Before a person it goes on: a daemon with its console, under which things appear and expire, until Ctrl-C.
#[test]
fn on_a_terminal_it_lives_with_its_console_until_somebody_ends_it() {
    let temporary = tempfile::tempdir().unwrap();
    let mut command = bygone(&["demo", "--rows", "1000"]);
    let (mut child, mut terminal) = on_terminal(command.env("TMPDIR", temporary.path()));
    let (mut seen, mut buffer) = (String::new(), [0; 4_096]);
    let mut read_on = |seen: &mut String| {
        let read = terminal.read(&mut buffer).unwrap_or(0);
        seen.push_str(&String::from_utf8_lossy(&buffer[..read]));
        read > 0
    };
    while !seen.contains("Ctrl-C ends it") {
        assert!(read_on(&mut seen), "it ended: {seen}");
    }
    let (_, place) = seen.split_once("The console: http://127.0.0.1:").expect("where the console is");
    let port: u16 = place.split('/').next().unwrap().parse().unwrap();
    assert!(ask(port, "GET /", "", "").starts_with("HTTP/1.1 200"), "the console answers");
    // Rows, files of both kinds and leases: each of them has something that appeared and went.
    let mut wait = Wait::up_to(Duration::from_mins(1));
    for policy in ["expired-access-tokens", "old-uploads", "staged-files", "ended-leases"] {
        let is_told = |seen: &str| {
            let (_, live) = seen.split_once("Ctrl-C ends it").unwrap_or_default();
            live.lines().any(|line| line.contains(&format!(" {policy}: ")) && line.contains(" removed: complete"))
        };
        while !is_told(&seen) {
            assert!(read_on(&mut seen) && wait.again_blocking(), "{policy} does nothing: {seen}");
        }
        let stands = ask(port, &format!("GET /api/v1/policies/{policy}"), "", "");
        assert!(stands.contains("\"outcome\":\"complete\""), "{stands}");
    }
    assert!(ask(port, "GET /api/v1/alarms", "", "").contains("{\"alarms\":[]}"), "nothing is wrong");
    assert!(ask(port, "GET /metrics", "", "").contains("bygone_items_removed_total{policy=\"old-uploads\""));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    while read_on(&mut seen) {}
    assert_eq!(child.wait().unwrap().code(), Some(0), "{seen}");
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0, "something is left in TMPDIR");
}
