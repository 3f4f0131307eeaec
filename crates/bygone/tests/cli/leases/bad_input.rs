//! What is wrong with a command line of `lease`, `queue` and `txn`: exit 64, with the place and the remedy, and nothing is
//! made.

use super::shop::Shop;
use crate::support::Run;

/// A test for each: arguments, and what the refusal says.
macro_rules! refused {
    ($($name:ident: $code:literal, $arguments:expr, $says:expr;)*) => {
        $(
            #[test]
            fn $name() {
                let shop = Shop::new();
                let run = shop.run(&$arguments).ends($code).says(&$says);
                assert_eq!(run.stdout, "", "a refusal is no data");
                assert!(!shop.store().exists(), "a refusal makes no store");
            }
        )*
    };
}

refused! {
    no_verb: 64, ["lease"], ["Usage: bygone lease"];
    no_key: 64, ["lease", "acquire"], ["--key"];
    an_empty_key: 64, ["lease", "acquire", "--key", ""], ["it is empty"];
    a_bad_namespace: 64, ["lease", "acquire", "--key", "k", "--namespace", "a\nb"], ["control characters"];
    a_ttl_without_a_unit: 64, ["lease", "acquire", "--key", "k", "--ttl", "30"], ["a number without a unit"];
    a_wait_of_no_kind: 64, ["lease", "acquire", "--key", "k", "--wait", "long"], ["--wait"];
    no_command: 64, ["lease", "exec", "--key", "k"], ["COMMAND"];
    no_lease: 64, ["lease", "release"], ["which lease?", "BYGONE_LEASE"];
    no_key_and_no_lease: 64, ["lease", "get"], ["which lease?"];
    a_lease_that_is_not_there: 64, ["lease", "release", "--lease", "lease.json"], ["cannot read lease.json"];
    an_empty_lease: 64, ["lease", "release", "--lease", "-"], ["standard input holds no lease"];
    an_attachment_without_a_lease: 64, ["lease", "attach", "--text", "t", "--name", "n"], ["which lease?", "BYGONE_LEASE"];
    an_attachment_of_nothing: 64, ["lease", "attach"], ["--text"];
    an_attachment_called_nothing: 64, ["lease", "attach", "--text", "t", "--name", ""], ["it is empty"];
    an_attachment_of_an_odd_name: 64, ["lease", "fetch", "--key", "k", "--name", "a\nb"], ["control characters"];
    no_attachment: 64, ["lease", "detach"], ["--name"];
    a_type_of_no_kind: 64, ["lease", "attach", "f", "--content-type", "a\u{1b}b"], ["as in text/plain"];
    one_input_for_an_attachment_too: 64, ["lease", "attach", "--lease", "-", "-", "--name", "n"], ["cannot be both"];
    attachments_that_nobody_made: 1, ["lease", "attachments", "--key", "k"], ["there is no lease store at file:/"];
    one_input_for_two: 64, ["lease", "update", "--lease", "-", "-"], ["cannot be both"];
    a_file_and_a_text: 64, ["queue", "send", "--queue", "q", "file", "--text", "t"], ["cannot be used with"];
    no_content: 64, ["queue", "send", "--queue", "q"], ["--text"];
    a_file_that_is_not_there: 64, ["queue", "send", "--queue", "q", "file"], ["cannot read file"];
    an_attribute_without_a_value: 64, ["queue", "send", "--queue", "q", "--text", "t", "--attribute", "a"], ["NAME=VALUE"];
    no_attempts_at_all: 64, ["queue", "send", "--queue", "q", "--text", "t", "--attempts-max", "0"], ["--attempts-max"];
    no_delivery: 64, ["queue", "ack"], ["which delivery?", "BYGONE_DELIVERY"];
    an_empty_delivery: 64, ["queue", "ack", "--delivery", "-"], ["standard input holds no delivery"];
    nothing_to_receive: 64, ["queue", "receive", "--queue", "q", "--limit", "0"], ["--limit"];
    now_of_a_store: 64, ["lease", "acquire", "--key", "k", "--now", "2020-01-01T00:00:00Z"], ["goes by the clock"];
    a_store_that_nobody_made: 1, ["lease", "get", "--key", "k"], ["there is no lease store at file:/", "correct the URL"];
    a_queue_that_nobody_made: 1, ["queue", "stats", "--queue", "q"], ["there is no lease store at"];
    a_txn_that_nobody_made: 1, ["txn", "commit", "--txn", "019a0000-0000-7000-8000-000000000000"], ["there is no lease store"];
}

#[test]
fn a_ttl_that_no_lease_has() {
    let shop = Shop::new();
    for ttl in ["0s", "31m"] {
        shop.run(&["lease", "acquire", "--key", "k", "--ttl", ttl]).ends(64).says(&["a lease cannot last", "bad_ttl"]);
        shop.run(&["lease", "exec", "--key", "k", "--ttl", ttl, "--", "true"]).ends(64);
    }
}

#[test]
fn what_is_not_a_lease() {
    let shop = Shop::new();
    let lease = shop.acquire("k", &[]);
    for text in ["nonsense", "{}", "[]", "7", &format!("{lease}{lease}")] {
        std::fs::write(shop.path("lease.json"), text).unwrap();
        shop.run(&["lease", "release", "--lease", "lease.json"]).ends(64).says(&["lease.json", "acquire"]);
        shop.run(&["queue", "ack", "--delivery", "lease.json"]).ends(64).says(&["lease.json", "receive"]);
    }
    assert_eq!(shop.describe("k")["fencing_token"], super::shop::parsed(&lease)["fencing_token"]);
}

#[test]
fn what_is_not_a_store() {
    let shop = Shop::new();
    for (url, says) in [
        ("/var/lib/x", "`/var/lib/x` is not a URL: write file:/DIRECTORY"),
        ("file:", "`file:` names no directory"),
        ("file://host/x", "names no host"),
        ("sqlite:a.db", "`sqlite:` is not the scheme of a lease store"),
        ("s3://b/a//c?region=x", "cannot be named exactly"),
        ("s3://key:hunter2@b/p", "the URL of the bucket holds credentials"),
        ("s3://b?regoin=x", "`regoin` is not a parameter"),
    ] {
        let run = shop.run(&["lease", "acquire", "--key", "k", "--store", url]).ends(64).says(&[says]);
        assert!(!run.everything().contains("hunter2"));
    }
    let run = Run::of(shop.bygone(&["lease", "acquire", "--key", "k"]).env_remove("BYGONE_STORE"));
    run.ends(64).says(&["which store?", "--store file:/path/to/store"]);
    // A directory that cannot be made, and a file that is something else.
    std::fs::write(shop.path("file"), "").unwrap();
    shop.run(&["lease", "acquire", "--key", "k", "--store", "file:file/store"]).ends(69).says(&["cannot make"]);
    std::fs::create_dir(shop.store()).unwrap();
    std::fs::write(shop.store().join("leases.db"), "not a database, but something that somebody needs").unwrap();
    shop.run(&["lease", "acquire", "--key", "k"]).ends(69);
    let left = std::fs::read_to_string(shop.store().join("leases.db")).unwrap();
    assert_eq!(left, "not a database, but something that somebody needs");
}
