//! Transactions over several processes: each command is one.

use serde_json::json;

use super::shop::{Shop, parsed};
use crate::support::Run;

fn within(shop: &Shop, txn: &str, arguments: &[&str]) -> Run {
    Run::of(shop.bygone(arguments).env("BYGONE_TXN", txn))
}

fn begin(shop: &Shop) -> String {
    shop.run(&["txn", "begin", "--ttl", "5m"]).ends(0).stdout.trim().to_owned()
}

fn both(shop: &Shop) -> [Option<String>; 2] {
    [shop.state("ada"), shop.state("bob")]
}

fn some(ada: &str, bob: &str) -> [Option<String>; 2] {
    [Some(ada.to_owned()), Some(bob.to_owned())]
}

#[test]
fn all_of_it_comes_true_or_nothing() {
    let shop = Shop::new();
    let begun = shop.run(&["txn", "begin", "--json"]).ends(0).json();
    assert!(begun["expires_at"].is_string(), "{begun}");
    let txn = begun["txn"].as_str().unwrap();
    let staged = within(&shop, txn, &["txn", "stage", "--key", "ada", "--text", "60", "--if-version", "0"]).ends(0);
    assert_eq!(parsed(&staged.stdout)["txn"], begun["txn"]);
    within(&shop, txn, &["txn", "stage", "--key", "bob", "--text", "40"]).ends(0);
    assert_eq!(both(&shop), [None, None], "nobody sees it yet");
    shop.run(&["lease", "acquire", "--key", "ada"]).ends(75);
    let committed = within(&shop, txn, &["txn", "commit", "--json"]).ends(0).json();
    assert_eq!(committed, json!({ "txn": txn, "state": "commit" }));
    assert_eq!(both(&shop), some("60", "40"));
    within(&shop, txn, &["txn", "commit"]).ends(0);
    within(&shop, txn, &["txn", "rollback"]).ends(1).says(&["txn_conflict"]);
    assert_eq!(both(&shop), some("60", "40"));

    let txn = begin(&shop);
    within(&shop, &txn, &["txn", "stage", "--key", "ada", "--text", "0"]).ends(0);
    // A key may also be leased in it, and changed as any other.
    let lease = within(&shop, &txn, &["lease", "acquire", "--key", "bob"]).ends(0).stdout;
    shop.pipe(&["lease", "update", "--lease", "-", "--text", "100"], &lease).ends(0);
    assert_eq!(shop.pipe(&["lease", "get", "--lease", "-"], &lease).ends(0).stdout, "100");
    shop.pipe(&["lease", "release", "--lease", "-"], &lease).ends(1).says(&["txn_pending"]);
    within(&shop, &txn, &["txn", "rollback"]).ends(0);
    assert_eq!(both(&shop), some("60", "40"));
    within(&shop, &txn, &["txn", "commit"]).ends(1).says(&["txn_conflict"]);
    shop.acquire("ada", &[]);
}

#[test]
fn what_is_stale_stages_nothing() {
    let shop = Shop::new();
    let txn = begin(&shop);
    let stale = ["txn", "stage", "--key", "ada", "--text", "60", "--if-version", "3"];
    within(&shop, &txn, &stale).ends(1).says(&["version_conflict"]);
    // It was named, and is not prepared: the whole fails.
    within(&shop, &txn, &["txn", "commit"]).ends(1).says(&["txn_conflict"]);
    assert_eq!(both(&shop), [None, None]);
}

#[test]
fn one_that_never_was() {
    let shop = Shop::new();
    begin(&shop);
    let never = "019a0000-0000-7000-8000-000000000000";
    within(&shop, never, &["txn", "commit"]).ends(1).says(&["txn_unknown"]);
    let undone = within(&shop, never, &["txn", "rollback", "--json"]).ends(0).json();
    assert_eq!(undone["known"], false);
    within(&shop, "nonsense", &["txn", "commit"]).ends(64).says(&["bygone txn begin"]);
    shop.run(&["txn", "commit"]).ends(64).says(&["--txn"]);
}

#[test]
fn a_message_waits_for_its_transaction() {
    let shop = Shop::new();
    let receive = |shop: &Shop| shop.run(&["queue", "receive", "--queue", "mail"]).ends(0).stdout;
    let txn = begin(&shop);
    within(&shop, &txn, &["txn", "stage", "--key", "ada", "--text", "60"]).ends(0);
    within(&shop, &txn, &["queue", "send", "--queue", "mail", "--text", "60 left"]).ends(0);
    assert_eq!(receive(&shop), "");
    within(&shop, &txn, &["txn", "commit"]).ends(0);
    assert_eq!(shop.state("ada").as_deref(), Some("60"));
    assert!(receive(&shop).contains("\"payload\""));
    let undone = begin(&shop);
    within(&shop, &undone, &["queue", "send", "--queue", "mail", "--text", "never"]).ends(0);
    within(&shop, &undone, &["txn", "rollback"]).ends(0);
    assert_eq!(receive(&shop), "");
}
