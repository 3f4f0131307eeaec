//! Leases and the state that they guard, command by command.

use serde_json::json;

use super::shop::{Shop, parsed};

#[test]
fn a_lease_goes_from_command_to_command() {
    let shop = Shop::new();
    let printed = shop.acquire("nightly", &["--owner", "ada", "--ttl", "5m"]);
    let lease = parsed(&printed);
    assert_eq!([&lease["namespace"], &lease["key"], &lease["owner"]], ["default", "nightly", "ada"]);
    assert_eq!(lease["version"], 0);
    let names: Vec<&String> = lease.as_object().unwrap().keys().collect();
    assert_eq!(names, ["namespace", "key", "id", "owner", "fencing_token", "expires_at", "version"]);

    let seen = shop.describe("nightly");
    assert_eq!([&seen["owner"], &seen["expires_at"]], [&lease["owner"], &lease["expires_at"]]);
    assert_eq!([&seen["fencing_token"], &seen["exists"]], [&lease["fencing_token"], &json!(false)]);
    assert_eq!(shop.state("nightly"), None);

    // From standard input, from a file, from the environment.
    let update = ["lease", "update", "--lease", "-", "--text", "one"];
    assert_eq!(shop.pipe(&update, &printed).ends(0).stdout, "1\n");
    std::fs::write(shop.path("lease.json"), &printed).unwrap();
    std::fs::write(shop.path("state"), b"two").unwrap();
    let update = ["lease", "update", "--lease", "lease.json", "state", "--if-version", "1", "--json"];
    assert_eq!(shop.run(&update).ends(0).json(), json!({ "namespace": "default", "key": "nightly", "version": 2 }));
    assert_eq!(shop.state("nightly").as_deref(), Some("two"));
    let by_name = |arguments: &[&str]| crate::support::Run::of(shop.bygone(arguments).env("BYGONE_LEASE", &printed));
    assert_eq!(by_name(&["lease", "get"]).ends(0).stdout, "two");

    let kept = parsed(&by_name(&["lease", "keepalive", "--ttl", "10m"]).ends(0).stdout);
    assert!(kept["expires_at"].as_str() > lease["expires_at"].as_str(), "{kept} {lease}");
    assert_eq!([&kept["id"], &kept["fencing_token"]], [&lease["id"], &lease["fencing_token"]]);
    assert_eq!(shop.describe("nightly")["expires_at"], kept["expires_at"]);

    assert_eq!(by_name(&["lease", "remove"]).ends(0).stdout, "3\n");
    assert_eq!(shop.state("nightly"), None);
    assert_eq!(by_name(&["lease", "release"]).ends(0).stdout, "released\n");
    assert_eq!(shop.describe("nightly")["owner"], json!(null));
    assert_eq!(by_name(&["lease", "release", "--json"]).ends(0).json(), json!({ "released": false }));
}

#[test]
fn one_holds_and_the_others_are_told() {
    let shop = Shop::new();
    let first = parsed(&shop.acquire("k", &["--owner", "ada", "--request", "r1"]));
    let refused = shop.run(&["lease", "acquire", "--key", "k"]).ends(75).says(&["held by \"ada\"", "waiting"]);
    assert_eq!(refused.stdout, "");
    shop.run(&["lease", "acquire", "--key", "k", "--wait", "50ms"]).ends(75).says(&["held by \"ada\""]);
    // Other namespaces and other keys are none of its business.
    shop.acquire("k", &["--namespace", "other"]);
    shop.acquire("other", &[]);
    // Who lost the reply asks again.
    let again = parsed(&shop.acquire("k", &["--owner", "ada", "--request", "r1"]));
    assert_eq!([&again["id"], &again["fencing_token"]], [&first["id"], &first["fencing_token"]]);
}

#[test]
fn tokens_grow_also_across_removal() {
    let shop = Shop::new();
    let mut last = 0;
    for _ in 0..3 {
        let printed = shop.acquire("k", &[]);
        let token = parsed(&printed)["fencing_token"].as_u64().unwrap();
        assert!(token > last);
        last = token;
        shop.pipe(&["lease", "update", "--lease", "-", "--text", "x"], &printed).ends(0);
        shop.pipe(&["lease", "remove", "--lease", "-"], &printed).ends(0);
        shop.pipe(&["lease", "release", "--lease", "-"], &printed).ends(0);
    }
}

#[test]
fn a_lease_that_is_over_is_told_apart() {
    let shop = Shop::new();
    let ended = shop.acquire("k", &["--ttl", "1ms"]);
    let update = ["lease", "update", "--lease", "-", "--text", "x"];
    shop.pipe(&update, &ended).ends(79).says(&["lease_expired"]);
    shop.pipe(&["lease", "keepalive", "--lease", "-"], &ended).ends(79);
    let next = shop.acquire("k", &["--wait", "1m"]);
    shop.pipe(&update, &ended).ends(79).says(&["fencing_mismatch"]);
    assert_eq!(shop.state("k"), None, "nothing came of it");
    shop.pipe(&["lease", "release", "--lease", "-"], &ended).ends(0);
    shop.pipe(&update, &next).ends(0);
    assert_eq!(shop.state("k").as_deref(), Some("x"));
}

#[test]
fn conditions_and_bytes() {
    let shop = Shop::new();
    let lease = shop.acquire("k", &["--if-not-exists"]);
    std::fs::write(shop.path("state"), [0xff, 0, b'\n']).unwrap();
    std::fs::write(shop.path("lease.json"), &lease).unwrap();
    shop.run(&["lease", "update", "--lease", "lease.json", "state", "--if-version", "7"])
        .ends(1)
        .says(&["version_conflict", "has version 0, not 7"]);
    shop.run(&["lease", "update", "--lease", "lease.json", "state", "--release"]).ends(0);
    assert_eq!(shop.describe("k")["owner"], json!(null), "given back in the same step");
    let bytes = shop.bygone(&["lease", "get", "--key", "k"]).output().unwrap();
    assert_eq!(bytes.stdout, [0xff, 0, b'\n'], "byte by byte");
    let got = shop.run(&["lease", "get", "--key", "k", "--json"]).ends(0).json();
    assert_eq!(got, json!({ "namespace": "default", "key": "k", "version": 1, "state_base64": "/wAK" }));
    shop.run(&["lease", "acquire", "--key", "k", "--if-not-exists"]).ends(1).says(&["already_exists"]);
    let shown = shop.run(&["lease", "describe", "--key", "k"]).ends(0).stdout;
    assert!(shown.contains("held by") && shown.contains("yes"), "{shown}");
}
