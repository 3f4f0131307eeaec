//! The examples, as cargo has built them: they run, and say what their readers are told that they say.

use std::path::PathBuf;
use std::process::Command;

/// Where cargo puts examples: beside the tests, unless what is built and what comes of it have directories of their own.
fn examples() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let arguments = ["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path", manifest];
    let metadata = Command::new(cargo).args(arguments).output().unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let target = PathBuf::from(metadata["target_directory"].as_str().unwrap());
    let build = metadata["build_directory"].as_str().map_or_else(|| target.clone(), PathBuf::from);
    let test = std::env::current_exe().unwrap();
    // Without the name of the test and the directory of tests: `debug`, or `release`, or one of these below a triple.
    let profile = test.ancestors().nth(2).unwrap().strip_prefix(&build).unwrap();
    target.join(profile).join("examples")
}

/// Runs an example, once in a directory of its own choice and once in a given one. Answers with what it says.
fn run(name: &str) -> Vec<String> {
    let program = examples().join(name);
    let temporary = tempfile::tempdir().unwrap();
    let given = temporary.path().join("store");
    let say = |arguments: &[&std::path::Path]| {
        let started = Command::new(&program).args(arguments).output();
        let output = started.unwrap_or_else(|error| {
            panic!("{}: {error}; `cargo test -p bygone-lease --examples --no-run` builds it", program.display())
        });
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let (said, again) = (say(&[]), say(&[&given]));
    assert!(given.join("leases.db").is_file(), "it did not use the directory that it was given");
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&said), sorted(&again));
    said.lines().map(str::to_owned).collect()
}

#[test]
fn leader_election() {
    let said = run("leader_election");
    let told = [
        "ann leads",
        "ann still leads",
        "ann still leads",
        "ann still leads",
        "ann crashes",
        "ben leads",
        "ben still leads",
        "ben still leads",
        "ben steps down",
        "ann comes back: fencing_mismatch",
    ];
    assert_eq!(said, told);
}

/// Jobs of one millisecond come in any order: what is said of each comes in one.
#[test]
fn job_queue() {
    let said = run("job_queue");
    let of = |job: &str| {
        let told = said.iter().filter_map(|line| line.strip_prefix(job)?.strip_prefix(": "));
        told.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(of("resize cat.png"), ["done"]);
    assert_eq!(of("fetch news"), ["the network is down (attempt 1)", "done at last"]);
    assert_eq!(of("square the circle"), (1..=3).map(|n| format!("nobody knows how (attempt {n})")).collect::<Vec<_>>());
    assert_eq!(of("encode film"), ["done, after twice the time"]);
    assert_eq!(said.last().unwrap(), "0 left to do, 1 put aside");
    assert_eq!(said.len(), 8);
}

#[test]
fn transfer() {
    let told = [
        "at first: ann has 100, ben has 0",
        "after 40 were moved: ann has 60, ben has 40",
        "75 cannot be moved, ann has only 60: ann has 60, ben has 40",
        "while 10 are on their way: ann has 60, ben has 40",
        "when they have come: ann has 70, ben has 30",
    ];
    assert_eq!(run("transfer"), told);
}

#[test]
fn fencing() {
    let told = [
        "ann writes: true",
        "ben reads: Some(\"by ann\")",
        "ben writes: true",
        "ann writes again: false",
        "ann reads: None",
        "it says Some(\"by ann, then by ben\")",
    ];
    assert_eq!(run("fencing"), told);
}
