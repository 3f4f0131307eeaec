//! Help, the manual page and the completions: what the program says of itself.

use crate::support::{Run, bygone};

fn stdout(arguments: &[&str]) -> String {
    let run = Run::of(&mut bygone(arguments)).ends(0);
    assert_eq!(run.stderr, "", "{arguments:?}");
    run.stdout
}

#[test]
fn help() {
    insta::assert_snapshot!("help", stdout(&["--help"]));
    insta::assert_snapshot!("help_short", stdout(&["-h"]));
}

#[test]
fn help_of_each_verb() {
    for verb in [
        "demo",
        "check",
        "plan",
        "sweep",
        "guard",
        "grants",
        "index",
        "init",
        "packs",
        "schema",
        "lease",
        "queue",
        "txn",
        "stage",
        "tokens",
        "completions",
        "man",
    ] {
        insta::assert_snapshot!(format!("help_{verb}"), stdout(&[verb, "--help"]));
    }
    insta::assert_snapshot!("help_packs_show", stdout(&["packs", "show", "--help"]));
    insta::assert_snapshot!("help_stage_put", stdout(&["stage", "put", "--help"]));
    insta::assert_snapshot!("help_stage_exec", stdout(&["stage", "exec", "--help"]));
    for (verb, commands) in [
        ("lease", &["acquire", "keepalive", "release", "get", "update", "remove", "describe", "exec"][..]),
        ("lease", &["attach", "attachments", "fetch", "detach"]),
        ("queue", &["send", "receive", "ack", "nack", "extend", "dead", "stats"]),
        ("txn", &["begin", "stage", "commit", "rollback"]),
    ] {
        for command in commands {
            insta::assert_snapshot!(format!("help_{verb}_{command}"), stdout(&[verb, command, "--help"]));
        }
    }
    insta::assert_snapshot!("help_tokens_ddl", stdout(&["tokens", "ddl", "--help"]));
}

#[test]
fn version() {
    assert_eq!(stdout(&["--version"]), concat!("bygone ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn the_manual_tells_of_every_verb() {
    let pages = stdout(&["man"]);
    let flags = ["\\-\\-config", "\\-\\-dry\\-run", "\\-\\-detailed\\-exitcode", "\\-\\-once"];
    let titles = [
        ".TH bygone 1",
        ".TH bygone-sweep 1",
        ".TH bygone-plan 1",
        ".TH bygone-packs-show 1",
        ".TH bygone-lease-exec 1",
    ];
    for part in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "SUBCOMMANDS"].iter().chain(&flags).chain(&titles) {
        assert!(pages.contains(part), "{part} is not in:\n{pages}");
    }
}

/// Each knows every verb and the flags of `sweep`; the shells themselves read them where they are installed.
#[test]
fn completions() {
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout(&["completions", shell]);
        for word in [
            "demo",
            "check",
            "plan",
            "sweep",
            "index",
            "packs",
            "schema",
            "completions",
            "man",
            "dry-run",
            "release-brake",
            "keepalive",
            "rollback",
        ] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("script");
        std::fs::write(&path, &script).unwrap();
        if let Ok(output) = std::process::Command::new(shell).arg("-n").arg(&path).output() {
            assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
