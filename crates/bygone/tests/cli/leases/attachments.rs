//! Attachments: what goes in comes out, whole or not at all, whatever its size.

use std::fs::{self, File};
use std::os::unix::fs::FileTypeExt as _;
use std::process::Stdio;

use bygone_testkit::wait::Wait;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::shop::{Shop, parsed};
use crate::support::{Run, Running};

const MIB: usize = 1 << 20;
/// What the larger one may take more than the smaller one.
const GROWTH_KIB_MAX: u64 = 24 * 1024;

/// Bytes of which no two pieces are alike.
fn bytes(count: usize) -> Vec<u8> {
    (0u64..).flat_map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()).take(count).collect()
}

/// A shop with a lease in `lease.json`.
fn shop_with_lease(flags: &[&str]) -> Shop {
    let shop = Shop::new();
    let lease = shop.acquire("k", &[&["--ttl", "10m"], flags].concat());
    fs::write(shop.path("lease.json"), lease).unwrap();
    shop
}

impl Shop {
    fn attach(&self, arguments: &[&str]) -> Run {
        self.run(&[&["lease", "attach", "--lease", "lease.json"], arguments].concat())
    }

    fn fetch(&self, name: &str, arguments: &[&str]) -> Run {
        self.run(&[&["lease", "fetch", "--key", "k", "--name", name], arguments].concat())
    }

    fn attached(&self) -> Vec<Value> {
        let listed = self.run(&["lease", "attachments", "--key", "k", "--json"]).ends(0).json();
        listed.as_array().unwrap().clone()
    }

    /// What lies beside the store.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn what_goes_in_comes_out() {
    let shop = shop_with_lease(&[]);
    let large = bytes(9 * MIB + 17);
    fs::write(shop.path("report.bin"), &large).unwrap();
    let sum = shop.attach(&["report.bin", "--content-type", "application/x-report"]).ends(0).stdout;
    let sent = ["lease", "attach", "--lease", "lease.json", "-", "--name", "from stdin"];
    shop.pipe(&sent, "hello").ends(0);
    let text = shop.attach(&["--text", "", "--name", "empty", "--json"]).ends(0).json();
    let names: Vec<&String> = text.as_object().unwrap().keys().collect();
    assert_eq!(names, ["namespace", "key", "name", "bytes", "sha256", "content_type", "created_at"]);
    assert_eq!([&text["bytes"], &text["content_type"]], [&json!(0), &json!(null)]);

    let listed = shop.attached();
    let of = |field: &str| listed.iter().map(|one| one[field].clone()).collect::<Vec<_>>();
    assert_eq!(of("name"), ["empty", "from stdin", "report.bin"]);
    assert_eq!(of("bytes"), [0, 5, large.len()]);
    assert_eq!([&listed[2]["sha256"], &listed[2]["content_type"]], [sum.trim(), "application/x-report"]);
    let lines = shop.run(&["lease", "attachments", "--key", "k", "--format", "jsonl"]).ends(0).stdout;
    assert_eq!(lines.lines().map(parsed).collect::<Vec<_>>(), listed);
    let table = shop.run(&["lease", "attachments", "--key", "k"]).ends(0).stdout;
    assert!(table.contains("report.bin") && table.contains("9.0 MiB"), "{table}");
    assert_eq!(shop.describe("k")["attachments"], 3);

    let told = shop.fetch("report.bin", &["copy.bin", "--json"]).ends(0).json();
    assert_eq!(told, listed[2]);
    assert!(fs::read(shop.path("copy.bin")).unwrap() == large, "byte by byte");
    let printed = shop.bygone(&["lease", "fetch", "--key", "k", "--name", "report.bin", "-"]).output().unwrap();
    assert!(printed.status.success() && printed.stdout == large && printed.stderr.is_empty());
    assert_eq!(shop.fetch("from stdin", &[]).ends(0).stdout, "hello");
    assert_eq!(shop.fetch("empty", &[]).ends(0).stdout, "");
}

#[test]
fn what_is_replaced_or_removed_is_gone_with_all_its_pieces() {
    let shop = shop_with_lease(&[]);
    fs::write(shop.path("a"), bytes(5 * MIB)).unwrap();
    shop.attach(&["a"]).ends(0);
    assert_eq!(shop.keys("default/state/").len(), 2);
    shop.attach(&["--text", "small", "--name", "a"]).ends(0);
    assert_eq!((shop.keys("default/state/").len(), shop.fetch("a", &[]).ends(0).stdout), (1, "small".to_owned()));
    let detach = ["lease", "detach", "--lease", "lease.json", "--name", "a"];
    let told = shop.run(&[&detach[..], &["--json"]].concat()).ends(0).json();
    assert_eq!(told, json!({ "namespace": "default", "key": "k", "name": "a", "detached": true }));
    shop.run(&detach).ends(1).says(&["the key `k` has no attachment `a`"]);
    assert_eq!((shop.attached().len(), shop.keys("default/state/").len()), (0, 0));
    // They belong to the key.
    shop.attach(&["a"]).ends(0);
    shop.run(&["lease", "remove", "--lease", "lease.json"]).ends(0);
    assert_eq!((shop.attached().len(), shop.keys("default/state/").len()), (0, 0));
}

#[test]
fn what_is_not_there_is_told() {
    let shop = shop_with_lease(&[]);
    for (key, name) in [("k", "none"), ("other", "none")] {
        let run = shop.run(&["lease", "fetch", "--key", key, "--name", name, "file"]).ends(1);
        run.says(&[&format!("the key `{key}` has no attachment `none`")]);
    }
    assert_eq!(shop.files(), ["lease.json", "store"], "nothing was made for nothing");
    assert_eq!(shop.run(&["lease", "attachments", "--key", "other", "--json"]).ends(0).json(), json!([]));
}

#[test]
fn bad_input_is_refused_with_a_remedy() {
    let shop = shop_with_lease(&[]);
    fs::create_dir(shop.path("directory")).unwrap();
    shop.attach(&["none"]).ends(64).says(&["cannot read none", "name a file that can be read"]);
    shop.attach(&["directory"]).ends(64).says(&["cannot read directory"]);
    shop.attach(&["-"]).ends(64).says(&["what is it to be called?", "--name NAME"]);
    shop.attach(&["--text", "t"]).ends(64).says(&["what is it to be called?"]);
    let long = "x".repeat(257);
    shop.attach(&["--text", "t", "--name", &long]).ends(64).says(&["longer than 256 bytes"]);
    assert_eq!((shop.attached().len(), shop.keys("default/state/").len()), (0, 0));
    shop.attach(&["--text", "t", "--name", "a"]).ends(0);
    shop.fetch("a", &["--json"]).ends(64).says(&["cannot be both", "name a file to write"]);
    shop.fetch("a", &["directory"]).ends(64).says(&["directory is there, and not a file"]);
    // What is no file is not replaced by one.
    rustix::fs::mknodat(rustix::fs::CWD, shop.path("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    shop.fetch("a", &["pipe"]).ends(64).says(&["not a file that could be replaced"]);
    assert!(fs::metadata(shop.path("pipe")).unwrap().file_type().is_fifo());
    shop.fetch("a", &["none/file"]).ends(1).says(&["cannot write none/file"]);
    assert_eq!(shop.files(), ["directory", "lease.json", "pipe", "store"]);
}

#[test]
fn whoever_has_lost_his_lease_attaches_and_removes_nothing() {
    let shop = shop_with_lease(&[]);
    shop.attach(&["--text", "kept", "--name", "a"]).ends(0);
    shop.run(&["lease", "release", "--lease", "lease.json"]).ends(0);
    let pieces = shop.keys("default/state/");
    let detach = ["lease", "detach", "--lease", "lease.json", "--name", "a"];
    shop.attach(&["--text", "late", "--name", "a"]).ends(79).says(&["lease_required"]);
    shop.run(&detach).ends(79);
    let next = shop.acquire("k", &[]);
    shop.attach(&["--text", "late", "--name", "a"]).ends(79).says(&["fencing_mismatch"]);
    shop.run(&detach).ends(79).says(&["fencing_mismatch"]);
    let ended = shop.acquire("short", &["--ttl", "1ms"]);
    let late = ["lease", "attach", "--lease", "-", "--text", "late", "--name", "b"];
    shop.pipe(&late, &ended).ends(79).says(&["lease_expired"]);
    assert_eq!(shop.fetch("a", &[]).ends(0).stdout, "kept");
    assert_eq!(shop.keys("default/state/"), pieces, "nothing of it is left");
    shop.pipe(&late, &next).ends(0);
}

#[test]
fn in_a_transaction_others_see_it_once_that_is_committed() {
    let shop = Shop::new();
    let txn = shop.run(&["txn", "begin", "--ttl", "5m"]).ends(0).stdout.trim().to_owned();
    let lease = shop.acquire("k", &["--ttl", "5m", "--txn", &txn]);
    fs::write(shop.path("lease.json"), lease).unwrap();
    shop.attach(&["--text", "staged", "--name", "a"]).ends(0);
    assert_eq!(shop.attached().len(), 0);
    shop.run(&["txn", "commit", "--txn", &txn]).ends(0);
    assert_eq!(shop.fetch("a", &[]).ends(0).stdout, "staged");
}

/// A file is there whole or not at all, and what was there before stays until then.
#[test]
fn an_attachment_that_cannot_be_read_to_its_end_changes_no_file() {
    let shop = shop_with_lease(&[]);
    fs::write(shop.path("a"), bytes(9 * MIB)).unwrap();
    shop.attach(&["a"]).ends(0);
    fs::write(shop.path("a"), "what was there").unwrap();
    let pieces = shop.keys("default/state/");
    let connection = rusqlite::Connection::open(shop.store().join("leases.db")).unwrap();
    // The last piece is not what was written; then it is gone.
    for (change, says) in [("UPDATE item SET body = x'00'", "checksum"), ("DELETE FROM item", "replaced or removed")] {
        assert_eq!(connection.execute(&format!("{change} WHERE key = ?1"), [&pieces[2]]).unwrap(), 1);
        for file in ["a", "new"] {
            shop.fetch("a", &[file]).ends(1).says(&[says]);
        }
        assert_eq!(fs::read_to_string(shop.path("a")).unwrap(), "what was there");
        assert_eq!(shop.files(), ["a", "lease.json", "store"], "nor is anything left of it");
        let printed = shop.bygone(&["lease", "fetch", "--key", "k", "--name", "a"]).output().unwrap();
        assert_eq!(printed.status.code(), Some(1), "whoever reads from a pipe is told as well");
    }
}

#[test]
fn a_link_stays_and_leads_to_the_new_file() {
    let shop = shop_with_lease(&[]);
    shop.attach(&["--text", "new", "--name", "a"]).ends(0);
    fs::write(shop.path("file"), "old").unwrap();
    std::os::unix::fs::symlink("file", shop.path("link")).unwrap();
    shop.fetch("a", &["link"]).ends(0);
    assert!(fs::symlink_metadata(shop.path("link")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(shop.path("file")).unwrap(), "new");
}

#[test]
fn whoever_is_stopped_by_a_signal_leaves_nothing_behind() {
    let shop = shop_with_lease(&[]);
    fs::write(shop.path("a"), bytes(64 * MIB)).unwrap();
    shop.attach(&["a"]).ends(0);
    fs::write(shop.path("a"), "what was there").unwrap();
    // It may be faster than we are.
    for _ in 0..20 {
        let running = Running::start(&mut shop.bygone(&["lease", "fetch", "--key", "k", "--name", "a", "a"]));
        let mut wait = Wait::up_to(std::time::Duration::from_mins(1));
        while running.is_alive() && !shop.files().iter().any(|file| file.starts_with(".bygone-fetch-")) {
            assert!(wait.again_blocking(), "it does not begin");
        }
        running.signal(Signal::TERM);
        let run = running.end();
        assert_eq!(shop.files(), ["a", "lease.json", "store"]);
        if run.code == Some(143) {
            assert_eq!(fs::read_to_string(shop.path("a")).unwrap(), "what was there");
            return;
        }
        run.ends(0);
        fs::write(shop.path("a"), "what was there").unwrap();
    }
    panic!("it was never stopped on its way");
}

/// The largest that the program has been, with standard input from a file and standard output to one.
fn largest_kib(shop: &Shop, arguments: &[&str], input: Option<&str>) -> u64 {
    let mut command = shop.bygone(arguments);
    command.stdin(input.map_or(Stdio::null(), |input| File::open(shop.path(input)).unwrap().into()));
    let running = Running::start(&mut command);
    let mut wait = Wait::up_to(std::time::Duration::from_mins(5));
    let mut largest = 0;
    while let Some(now) = running.high_water_kib() {
        largest = now;
        assert!(wait.again_blocking(), "{arguments:?} does not end");
    }
    running.end().ends(0);
    largest
}

#[test]
fn memory_does_not_grow_with_an_attachment() {
    let mut largest = Vec::new();
    for count in [8 * MIB, 128 * MIB] {
        let shop = shop_with_lease(&[]);
        fs::write(shop.path("a"), bytes(count)).unwrap();
        let attach = ["lease", "attach", "--lease", "lease.json", "-", "--name", "a"];
        let put = largest_kib(&shop, &attach, Some("a"));
        let got = largest_kib(&shop, &["lease", "fetch", "--key", "k", "--name", "a", "b"], None);
        assert_eq!(fs::metadata(shop.path("b")).unwrap().len(), u64::try_from(count).unwrap());
        largest.push((put, got));
    }
    println!("KiB put and got: {largest:?}");
    let [few, many] = largest[..] else { unreachable!("two sizes") };
    assert!(many.0 <= few.0 + GROWTH_KIB_MAX && many.1 <= few.1 + GROWTH_KIB_MAX, "{largest:?}");
}
