//! The same over buckets: one round of everything.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use bygone_testkit::{Azurite, SeaweedFs, TestBucket};
use serde_json::json;
use tempfile::TempDir;

use super::shop::{parsed, until};
use crate::support::{PROGRAM, Run, bygone};

struct Bucket {
    bucket: TestBucket,
    directory: TempDir,
}

impl Bucket {
    fn bygone(&self, arguments: &[&str]) -> Command {
        let mut command = bygone(arguments);
        command
            .current_dir(self.directory.path())
            .envs(self.bucket.credentials())
            .env("BYGONE_STORE", self.bucket.url());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&mut self.bygone(arguments))
    }

    fn pipe(&self, arguments: &[&str], input: &str) -> Run {
        let mut command = self.bygone(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap().into()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_over_seaweedfs() {
    a_round(SeaweedFs::shared().await.fresh_bucket().await, "s3://").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_over_azurite() {
    a_round(Azurite::shared().await.fresh_bucket().await, "az://").await;
}

async fn a_round(bucket: TestBucket, scheme: &str) {
    let directory = tempfile::Builder::new().prefix("bygone-lease-bucket-").tempdir().unwrap();
    let bucket = Bucket { bucket, directory };
    no_question_makes_a_store(&bucket, scheme).await;
    leases_and_attachments(&bucket);
    queues_and_transactions(&bucket);
    a_policy_sweeps_what_is_over(&bucket).await;
}

async fn no_question_makes_a_store(bucket: &Bucket, scheme: &str) {
    let policy = "[[policy]]\nname = \"ended\"\nsource = \"leases\"\nkind = \"leases\"\n";
    let config = format!("[source.leases]\nurl = \"{}\"\n\n{policy}", bucket.bucket.url());
    fs::write(bucket.directory.path().join("bygone.toml"), config).unwrap();

    // Neither a question nor a policy makes a store.
    let says = format!("there is no lease store at {scheme}");
    bucket.run(&["lease", "describe", "--key", "k"]).ends(1).says(&[&says]);
    bucket.run(&["sweep"]).ends(65).says(&[&says]);
    assert!(bucket.bucket.keys().await.is_empty(), "nothing was written");
}

fn leases_and_attachments(bucket: &Bucket) {
    let lease = bucket.run(&["lease", "acquire", "--key", "k", "--ttl", "10m", "--owner", "ada"]).ends(0).stdout;
    bucket.run(&["lease", "acquire", "--key", "k"]).ends(75).says(&["held by \"ada\""]);
    bucket.pipe(&["lease", "update", "--lease", "-", "--text", "state", "--release"], &lease).ends(0);
    assert_eq!(bucket.run(&["lease", "get", "--key", "k"]).ends(0).stdout, "state");
    let script = format!("{PROGRAM} lease update --text by-$BYGONE_LEASE_KEY; echo $BYGONE_FENCING_TOKEN; exit 3");
    let run = bucket.run(&["lease", "exec", "--key", "k", "--", "sh", "-c", &script]).ends(3);
    let token: u64 = run.stdout.lines().last().unwrap().parse().unwrap();
    assert!(token > parsed(&lease)["fencing_token"].as_u64().unwrap());
    let seen = bucket.run(&["lease", "describe", "--key", "k", "--json"]).ends(0).json();
    assert_eq!([&seen["owner"], &seen["version"], &seen["fencing_token"]], [&json!(null), &json!(2), &json!(token)]);

    let lease = bucket.run(&["lease", "acquire", "--key", "k", "--ttl", "10m"]).ends(0).stdout;
    let large: String = "0123456789abcde\n".repeat(300_000);
    fs::write(bucket.directory.path().join("large"), &large).unwrap();
    bucket.pipe(&["lease", "attach", "--lease", "-", "large"], &lease).ends(0);
    bucket.run(&["lease", "fetch", "--key", "k", "--name", "large", "copy"]).ends(0);
    assert!(fs::read_to_string(bucket.directory.path().join("copy")).unwrap() == large);
    bucket.pipe(&["lease", "detach", "--lease", "-", "--name", "large"], &lease).ends(0);
    assert_eq!(bucket.run(&["lease", "attachments", "--key", "k", "--json"]).ends(0).json(), json!([]));
    bucket.pipe(&["lease", "release", "--lease", "-"], &lease).ends(0);
}

fn queues_and_transactions(bucket: &Bucket) {
    bucket.run(&["queue", "send", "--queue", "q", "--text", "hello"]).ends(0);
    let delivery = bucket.run(&["queue", "receive", "--queue", "q"]).ends(0).stdout;
    assert_eq!(parsed(&delivery)["payload"], "hello");
    bucket.pipe(&["queue", "ack", "--delivery", "-"], &delivery).ends(0);
    let stats = bucket.run(&["queue", "stats", "--queue", "q", "--json"]).ends(0).json();
    assert_eq!(stats["messages"], 0);

    let txn = bucket.run(&["txn", "begin", "--ttl", "10m"]).ends(0).stdout.trim().to_owned();
    for (key, text) in [("ada", "60"), ("bob", "40")] {
        bucket.run(&["txn", "stage", "--txn", &txn, "--key", key, "--text", text]).ends(0);
    }
    bucket.run(&["txn", "commit", "--txn", &txn]).ends(0);
    assert_eq!(bucket.run(&["lease", "get", "--key", "bob"]).ends(0).stdout, "40");
}

async fn a_policy_sweeps_what_is_over(bucket: &Bucket) {
    bucket.run(&["lease", "acquire", "--key", "ended", "--ttl", "1ms"]).ends(0);
    bucket.run(&["queue", "send", "--queue", "q", "--text", "late", "--ttl", "1ms"]).ends(0);
    let plan = || bucket.run(&["plan", "--format", "json"]).ends(0).only_policy();
    let before = bucket.bucket.keys().await;
    // Three keys that are given back, a message, and after what clocks may be apart a lease.
    until("a lease is over", || plan()["would_remove"] == 5);
    assert_eq!([&plan()["outcome"], &plan()["walk"]], ["complete", "index"]);
    bucket.run(&["check"]).ends(0);
    assert_eq!(bucket.bucket.keys().await, before, "a plan writes nothing");
    let report = bucket.run(&["sweep", "--format", "json"]).ends(0).only_policy();
    assert_eq!([&report["outcome"], &report["error"]], [&json!("complete"), &json!(null)], "{report:#}");
    assert_eq!(report["removed"], 5, "{report:#}");
    let seen = bucket.run(&["lease", "describe", "--key", "ended", "--json"]).ends(0).json();
    assert_eq!(seen["owner"], json!(null));
    assert_eq!(bucket.run(&["queue", "stats", "--queue", "q", "--json"]).ends(0).json()["messages"], 0);
    assert_eq!(bucket.run(&["lease", "get", "--key", "k"]).ends(0).stdout, "by-k");
    assert_eq!(bucket.run(&["lease", "get", "--key", "ada"]).ends(0).stdout, "60");
    let again = bucket.run(&["sweep", "--format", "json"]).ends(0).only_policy();
    assert_eq!([&again["removed"], &again["lag_seconds"]], [0, 0], "{again:#}");
}
