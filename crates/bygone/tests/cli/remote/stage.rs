//! `bygone stage` through the daemon.

use std::fs;

use bygone_core::{Clock, SystemClock};
use serde_json::{Value, json};

use super::host::Host;

const HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

#[test]
fn it_is_as_if_the_area_were_opened_here() {
    let host = Host::new();
    fs::write(host.path("hello.txt"), "hello").unwrap();
    let direct = host.direct("area");
    for store in &host.area() {
        let staged = host.run(store, &["stage", "put", "hello.txt", "--ttl", "1h"]).ends(0);
        let path = staged.stdout.trim();
        assert_eq!(path, host.path("area").join(HELLO).join("hello.txt").to_str().unwrap());
        assert_eq!(fs::read_to_string(path).unwrap(), "hello");
        let piped = host.pipe(store, &["stage", "put", "-", "--persist"], b"from a pipe").ends(0);
        assert!(piped.stdout.trim().ends_with("/stdin"), "{piped:?}");
        for verb in [&["stage", "list"][..], &["stage", "get", HELLO], &["stage", "metrics"]] {
            for format in ["table", "json", "jsonl"] {
                let verb = [verb, &["--format", format]].concat();
                assert_eq!(host.run(store, &verb).ends(0).stdout, host.run(&direct, &verb).ends(0).stdout, "{verb:?}");
            }
        }
        let touched = host.json(store, &["stage", "touch", HELLO, "--ttl", "2h"]);
        assert_eq!(touched[0]["ttl_ms"], 7_200_000);
        fs::write(host.path("gone"), store).unwrap();
        let gone = host.json(store, &["stage", "put", "gone", "--ttl", "0s"])[0]["path"].as_str().unwrap().to_owned();
        assert!(fs::exists(&gone).unwrap());
        let report = host.json(store, &["stage", "cleanup"]);
        assert_eq!((&report["policies"][0]["removed"], &report["outcome"]), (&json!(1), &json!("complete")));
        assert!(!fs::exists(&gone).unwrap() && fs::exists(path).unwrap());
        assert!(host.run(store, &["stage", "cleanup"]).ends(0).stdout.contains("complete: 0 removed"));
        host.run(store, &["stage", "remove", HELLO]).ends(0);
        for verb in ["get", "touch", "remove"] {
            host.run(store, &["stage", verb, HELLO]).ends(1).says(&["nothing that lives is staged"]);
        }
        assert!(!fs::exists(path).unwrap());
    }
    host.end();
}

#[test]
fn names_and_files_that_are_none_are_as_harmless_as_here() {
    let host = Host::new();
    let [store, _] = host.area();
    for (name, kept) in [("..", "_"), (".", "_"), ("../../etc/passwd", "_._.._etc_passwd"), ("a\nb?c#d%e", "a_b_c#d%e")]
    {
        let staged = host.pipe(&store, &["stage", "put", "-", "--name", name, "--format", "json"], name.as_bytes());
        assert_eq!(staged.ends(0).json()[0]["name"], kept, "{name}");
    }
    fs::write(host.path("small"), "small").unwrap();
    let run = host.run(&store, &["stage", "put", "nowhere", "area", "small", "--format", "json"]).ends(1);
    assert_eq!(run.json().as_array().unwrap().len(), 1);
    run.says(&["nowhere: there is no file", "area is a directory"]);
    assert_eq!(host.json(&store, &["stage", "metrics"])["total_count"], 5);
    for (wrong, told) in [
        (&["stage", "reset"][..], "resets no area"),
        (&["stage", "exec", HELLO, "--", "true"], "holds no file"),
        (&["stage", "put", "small", "--by", "reflink"], "is copied"),
        (&["stage", "put", "small", "--max-bytes", "1KiB"], "its configuration says"),
        (&["stage", "put", "a", "b", "--name", "c"], "names one file"),
        (&["stage", "get", "xyz"], "64 hexadecimal digits"),
    ] {
        host.run(&store, wrong).ends(64).says(&[told]);
    }
    host.end();
}

#[test]
fn what_goes_wrong_ends_as_it_does_here() {
    let host = Host::new();
    let [store, socket] = host.area();
    for store in [&store, &socket, &host.direct("area")] {
        host.run(store, &["stage", "list"]).ends(69);
    }
    assert!(!host.path("area").exists(), "who only looks makes none");
    host.run(&format!("{store}s"), &["stage", "list"]).ends(69).says(&["has no staging area"]);
    host.run("http://127.0.0.1:1/stage/v1/up", &["stage", "list"]).ends(69).says(&["no daemon answers"]);
    host.run("unix:/nowhere/api.sock:/stage/v1/up", &["stage", "list"]).ends(69).says(&["no daemon answers"]);
    for wrong in ["http://127.0.0.1:1", "http://127.0.0.1:1/lease/v1/up", "unix:api.sock:/stage/v1/up", "ftp://x"] {
        host.run(wrong, &["stage", "list"]).ends(64);
    }
    let run = host.run("http://me:hunter2@127.0.0.1:1/stage/v1/up", &["stage", "list"]).ends(64);
    assert!(!run.everything().contains("hunter2"), "{run:?}");
    host.end();
}

#[test]
fn an_area_holds_what_its_policy_lets_it() {
    let host = Host::with(
        "[[policy]]\nname = \"full\"\nsource = \"up\"\nkind = \"stage\"\nmax_bytes = \"1KiB\"\nmax_count = 2",
    );
    let [store, _] = host.area();
    let put =
        |bytes: usize| host.pipe(&store, &["stage", "put", "-"], &vec![u8::try_from(bytes % 251).unwrap(); bytes]);
    put(2_000_000).ends(1).says(&["max_bytes = 1024"]);
    put(100).ends(0);
    put(101).ends(0);
    put(102).ends(1).says(&["max_count = 2"]);
    assert_eq!(host.json(&store, &["stage", "metrics"])["total_bytes"], 201);
    host.end();
}

/// Whoever was answered has his file until its deadline, however often the daemon sweeps.
#[test]
fn a_path_that_was_answered_is_good_beside_the_daemons_sweeps() {
    let host = Host::with("[[policy]]\nname = \"often\"\nsource = \"up\"\nkind = \"stage\"\nevery = \"1s\"");
    let [store, _] = host.area();
    let clock = SystemClock::new();
    let mut was_swept = false;
    for round in 0..60 {
        let text = format!("content {}", round % 2);
        let staged = host.pipe(&store, &["stage", "put", "-", "--ttl", "300ms", "--format", "json"], text.as_bytes());
        let staged: Value = staged.ends(0).json()[0].clone();
        was_swept |= round > 1 && staged["cached"] == false;
        let deadline: jiff::Timestamp = staged["deadline"].as_str().unwrap().parse().unwrap();
        let read = fs::read_to_string(staged["path"].as_str().unwrap());
        if clock.now() <= deadline {
            assert_eq!(read.unwrap(), text, "round {round}");
        }
    }
    let left = host.json(&store, &["stage", "metrics"])["total_count"].as_u64().unwrap();
    assert!(left <= 2, "{left}");
    // On a machine that is fast enough nothing expires in between.
    eprintln!("swept meanwhile: {was_swept}");
    host.end();
}
