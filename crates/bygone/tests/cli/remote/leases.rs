//! `bygone lease` and `bygone txn` through the daemon.

use std::fs;

use serde_json::{Value, json};

use super::host::Host;
use crate::leases::{UNTIL_GO, until, until_written};
use crate::support::{PROGRAM, Running};

fn acquire(host: &Host, store: &str, key: &str, flags: &[&str]) -> String {
    host.run(store, &[&["lease", "acquire", "--key", key], flags].concat()).ends(0).stdout
}

fn pipe(host: &Host, store: &str, arguments: &[&str], lease: &str) -> crate::support::Run {
    host.pipe(store, &[arguments, &["--lease", "-"]].concat(), lease.as_bytes())
}

#[test]
fn a_lease_of_the_daemon_is_one_of_the_store() {
    let host = Host::new();
    let direct = host.direct("store");
    for store in &host.store() {
        let lease = acquire(&host, store, "k", &["--ttl", "5m", "--owner", "ada"]);
        for other in [store, &direct] {
            host.run(other, &["lease", "acquire", "--key", "k"]).ends(75).says(&["held by \"ada\""]);
            host.run(other, &["lease", "acquire", "--key", "k", "--wait", "300ms"]).ends(75);
        }
        let fields = |lease: &str| {
            let lease: Value = serde_json::from_str(lease).unwrap();
            lease.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(fields(&lease), ["namespace", "key", "id", "owner", "fencing_token", "expires_at", "version"]);
        let kept = pipe(&host, store, &["lease", "keepalive", "--ttl", "10m"], &lease).ends(0).stdout;
        assert!(kept.len() == lease.len() && kept != lease, "{kept}");

        let version = pipe(&host, store, &["lease", "update", "--text", "state \u{e4}"], &lease).ends(0).stdout;
        fs::write(host.path("new.bin"), b"\xff\x00binary").unwrap();
        pipe(&host, store, &["lease", "update", "new.bin", "--if-version", version.trim()], &lease).ends(0);
        pipe(&host, store, &["lease", "update", "new.bin", "--if-version", "99"], &lease).ends(1).says(&["not 99"]);
        for arguments in [&["lease", "get", "--key", "k", "--json"][..], &["lease", "describe", "--key", "k", "--json"]]
        {
            assert_eq!(host.run(store, arguments).ends(0).json(), host.run(&direct, arguments).ends(0).json());
        }
        let held = pipe(&host, store, &["lease", "get", "--json"], &lease).ends(0).json();
        assert_eq!(held["state_base64"], host.json(&direct, &["lease", "get", "--key", "k"])["state_base64"]);
        assert_eq!(pipe(&host, store, &["lease", "release"], &lease).ends(0).stdout, "released\n");
        assert_eq!(pipe(&host, store, &["lease", "release"], &lease).ends(0).stdout, "it was over already\n");
        for lost in [&["lease", "keepalive"][..], &["lease", "update", "--text", "late"], &["lease", "remove"]] {
            let codes = [store, &direct].map(|store| pipe(&host, store, lost, &lease).code);
            assert_eq!(codes, [Some(79); 2], "{lost:?}");
        }
        let lease = acquire(&host, store, "k", &[]);
        pipe(&host, store, &["lease", "remove"], &lease).ends(0);
        host.run(store, &["lease", "get", "--key", "k"]).ends(1).says(&["has no state"]);
        host.run(store, &["lease", "describe", "--key", "unheard"]).ends(1).says(&["nothing is known"]);
        pipe(&host, store, &["lease", "release"], &lease).ends(0);
    }
    host.end();
}

#[test]
fn the_same_request_is_the_same_lease() {
    let host = Host::new();
    let [store, _] = host.store();
    let flags = ["--request", "mine", "--owner", "ada"];
    let ids = [(); 2].map(|()| {
        let lease: Value = serde_json::from_str(&acquire(&host, &store, "k", &flags)).unwrap();
        lease["id"].clone()
    });
    assert_eq!(ids[0], ids[1]);
    host.run(&store, &["lease", "acquire", "--key", "k", "--owner", "ada"]).ends(75);
    host.end();
}

#[test]
fn a_command_has_its_token_and_its_lease_as_long_as_it_runs() {
    let host = Host::new();
    for store in &host.store() {
        let before = host.run(store, &["lease", "describe", "--key", "k", "--json"]);
        let before = if before.code == Some(0) { before.json()["fencing_token"].as_u64().unwrap() } else { 0 };
        let script =
            format!("echo $BYGONE_FENCING_TOKEN > token; {PROGRAM} lease update --text mine > version; {UNTIL_GO}");
        let arguments = ["lease", "exec", "--key", "k", "--ttl", "1s", "--owner", "ada", "--", "sh", "-c", &script];
        let running = Running::start(&mut host.bygone(store, &arguments));
        until_written(&host.path("up"));
        let first = host.json(store, &["lease", "describe", "--key", "k"]);
        assert_eq!(until_written(&host.path("token")), first["fencing_token"].to_string());
        assert!(first["fencing_token"].as_u64().unwrap() > before);
        // Past the end that it was given with, and longer.
        let long: jiff::Timestamp = first["expires_at"].as_str().unwrap().parse().unwrap();
        let long = format!("{:.3}", long + jiff::SignedDuration::from_secs(3));
        until("it is extended", || {
            host.json(store, &["lease", "describe", "--key", "k"])["expires_at"].as_str() > Some(&long)
        });
        host.run(store, &["lease", "exec", "--key", "k", "--", "touch", "ran"]).ends(75).says(&["held by \"ada\""]);
        assert!(!host.path("ran").exists());
        fs::write(host.path("go"), "").unwrap();
        running.end().ends(0);
        let after = host.json(store, &["lease", "describe", "--key", "k"]);
        assert_eq!((&after["owner"], &after["fencing_token"]), (&json!(null), &first["fencing_token"]));
        assert_eq!(host.run(store, &["lease", "get", "--key", "k"]).ends(0).stdout, "mine");
        host.run(store, &["lease", "exec", "--key", "k", "--", "sh", "-c", "exit 7"]).ends(7);
        for file in ["up", "go", "token", "version"] {
            fs::remove_file(host.path(file)).unwrap();
        }
    }
    host.end();
}

/// Whoever cannot extend his lease in time has lost it.
#[test]
fn a_command_ends_when_its_daemon_is_gone_for_too_long() {
    let host = Host::new();
    let [store, _] = host.store();
    let script = format!("trap 'echo told > told; exit' TERM; {UNTIL_GO}");
    let arguments = ["lease", "exec", "--key", "k", "--ttl", "2s", "--", "sh", "-c", &script];
    let running = Running::start(&mut host.bygone(&store, &arguments));
    until_written(&host.path("up"));
    let (directory, _) = host.end();
    running.end().ends(79).says(&["the lease of `k` is lost"]);
    assert_eq!(until_written(&directory.path().join("told")), "told");
}

#[test]
fn attachments_are_streamed_both_ways() {
    let host = Host::new();
    let direct = host.direct("store");
    let large: Vec<u8> = (0..6_000_000_u32).map(|at| at.to_le_bytes()[1]).collect();
    fs::write(host.path("large.bin"), &large).unwrap();
    for store in &host.store() {
        let lease = acquire(&host, store, "k", &["--ttl", "5m"]);
        let attach = ["lease", "attach", "large.bin", "--content-type", "application/x-large", "--name", "a \u{e4}/?"];
        let sha256 = pipe(&host, store, &attach, &lease).ends(0).stdout;
        let list = ["lease", "attachments", "--key", "k", "--json"];
        let listed = host.run(store, &list).ends(0).json();
        assert_eq!(listed, host.run(&direct, &list).ends(0).json());
        assert_eq!((&listed[0]["bytes"], &listed[0]["sha256"]), (&json!(6_000_000), &json!(sha256.trim())));
        assert_eq!(listed[0]["content_type"], "application/x-large");
        let fetch = ["lease", "fetch", "--key", "k", "--name", "a \u{e4}/?", "copy.bin", "--json"];
        assert_eq!(host.run(store, &fetch).ends(0).json(), listed[0]);
        assert!(fs::read(host.path("copy.bin")).unwrap() == large);
        let detach = ["lease", "detach", "--name", "a \u{e4}/?"];
        pipe(&host, store, &detach, &lease).ends(0);
        pipe(&host, store, &detach, &lease).ends(1).says(&["has no attachment"]);
        host.run(store, &fetch).ends(1).says(&["has no attachment"]);
        pipe(&host, store, &["lease", "release"], &lease).ends(0);
        pipe(&host, store, &attach, &lease).ends(79);
        assert_eq!(host.run(store, &list).ends(0).json(), json!([]));
    }
    host.end();
}

#[test]
fn several_keys_change_together_or_none_does() {
    let host = Host::new();
    let direct = host.direct("store");
    for store in &host.store() {
        for (end, seen) in [("commit", Some("new")), ("rollback", None)] {
            let keys = [format!("a-{end}"), format!("b-{end}")];
            let txn = host.run(store, &["txn", "begin", "--ttl", "5m"]).ends(0).stdout;
            for key in &keys {
                let stage = ["txn", "stage", "--txn", txn.trim(), "--key", key, "--text", "new"];
                let lease: Value = serde_json::from_str(&host.run(store, &stage).ends(0).stdout).unwrap();
                assert_eq!(lease["txn"], txn.trim());
                host.run(&direct, &["lease", "get", "--key", key]).ends(1);
            }
            let answer = host.run(store, &["txn", end, "--txn", txn.trim(), "--json"]).ends(0).json();
            assert_eq!(answer["state"], end);
            for key in &keys {
                let run = host.run(&direct, &["lease", "get", "--key", key]);
                assert_eq!((run.code == Some(0)).then_some(run.stdout.as_str()), seen);
            }
            let other = if end == "commit" { "rollback" } else { "commit" };
            let codes = [store, &direct].map(|store| host.run(store, &["txn", other, "--txn", txn.trim()]).code);
            assert_eq!(codes[0], codes[1], "{other} after {end}");
            for key in &keys {
                // For the other address.
                let lease = acquire(&host, store, key, &["--wait", "1m"]);
                pipe(&host, store, &["lease", "remove"], &lease).ends(0);
                pipe(&host, store, &["lease", "release"], &lease).ends(0);
            }
        }
    }
    host.end();
}

#[test]
fn what_is_not_there_or_makes_no_sense_ends_as_it_does_here() {
    let host = Host::new();
    let [store, _] = host.store();
    host.run(&store, &["lease", "get", "--key", "k"]).ends(1).says(&["is not there yet"]);
    assert!(!host.path("store").exists());
    let [other, _] = host.addresses("/lease/v1/up");
    host.run(&other, &["lease", "acquire", "--key", "k"]).ends(1).says(&["has leases"]);
    host.run("http://127.0.0.1:1/lease/v1/jobs", &["lease", "acquire", "--key", "k"]).ends(69);
    let direct = host.direct("store");
    for wrong in
        [&["lease", "acquire", "--key", "k", "--ttl", "2h"][..], &["lease", "acquire", "--key", "k", "--ttl", "0s"]]
    {
        let codes = [&store, &direct].map(|store| host.run(store, wrong).code);
        assert_eq!(codes, [Some(64); 2], "{wrong:?}");
    }
    host.end();
}
