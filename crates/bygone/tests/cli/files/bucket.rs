//! `kind = "prefix"` over real object stores.

use std::fs;
use std::process::Command;

use bygone_testkit::{Azurite, SeaweedFs, TestBucket};
use serde_json::json;
use tempfile::TempDir;

use crate::support::{Run, bygone};

/// A bucket, and a directory with the `bygone.toml` over it.
struct World {
    bucket: TestBucket,
    directory: TempDir,
}

impl World {
    fn new(bucket: TestBucket, lines: &str) -> Self {
        let directory = tempfile::Builder::new().prefix("bygone-bucket-").tempdir().unwrap();
        let world = Self { bucket, directory };
        world.configure(&world.bucket.url(), lines);
        world
    }

    fn configure(&self, url: &str, lines: &str) {
        let text = format!(
            "[source.bucket]\nurl = \"{url}\"\n\n[[policy]]\nname = \"old\"\nsource = \"bucket\"\nkind = \"prefix\"\n{lines}\n"
        );
        fs::write(self.directory.path().join("bygone.toml"), text).unwrap();
    }

    fn bygone(&self, arguments: &[&str]) -> Command {
        let mut command = bygone(arguments);
        command.current_dir(self.directory.path()).envs(self.bucket.credentials());
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&mut self.bygone(arguments))
    }
}

/// Each of these runs on a store that speaks S3's language and on one that speaks Azure's.
macro_rules! on_each_store {
    ($($test:ident),* $(,)?) => {
        mod seaweedfs {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    super::$test(super::SeaweedFs::shared().await.fresh_bucket().await).await;
                }
            )*
        }
        mod azurite {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    super::$test(super::Azurite::shared().await.fresh_bucket().await).await;
                }
            )*
        }
    };
}

on_each_store!(dated_objects_go_by_their_keys, age_counts_from_the_last_change, what_cannot_be_opened_is_refused);

async fn dated_objects_go_by_their_keys(bucket: TestBucket) {
    let lines = "path = \"web\"\nkeep = \"30d\"\ndeadline = { key = \"%Y/%m/%d/**\" }\nexclude = [\"**/*.keep\"]";
    let world = World::new(bucket, lines);
    let put: Vec<String> = [
        "web/2020/01/31/a",
        "web/2020/01/31/b.keep",
        "web/2020/02/30/never-was",
        "web/2199/12/31/far-off",
        "web2/2020/01/31/not-below",
        "other/2020/01/31/elsewhere",
    ]
    .map(str::to_owned)
    .to_vec();
    world.bucket.put_all(put.clone()).await;
    let plan = world.run(&["plan", "--format", "json"]).ends(0).only_policy();
    assert_eq!([&plan["would_remove"], &plan["bytes"], &plan["unreadable"]], [1, 16, 1], "{plan:#}");
    assert_eq!([&plan["walk"], &plan["oldest"]], ["listing", "2020-02-01T00:00:00.000000Z"]);
    world.run(&["check"]).ends(0);
    assert_eq!(world.bucket.keys().await.len(), put.len(), "nothing was written or removed");
    let report = world.run(&["sweep", "--format", "json"]).ends(0).only_policy();
    assert_eq!([&report["removed"], &report["bytes"], &report["examined"]], [1, 16, 2], "{report:#}");
    assert_eq!(report["kept_back"], json!({ "referenced": 0, "locked": 0, "unreadable": 1, "conflict": 0 }));
    let mut left = put;
    left.remove(0);
    left.sort();
    assert_eq!(world.bucket.keys().await, left);
}

async fn age_counts_from_the_last_change(bucket: TestBucket) {
    let world = World::new(bucket, "keep = \"1h\"");
    world.bucket.put_all((0..20).map(|n| format!("a/{n}"))).await;
    let report = world.run(&["sweep", "--format", "json"]).ends(0).only_policy();
    assert_eq!([&report["examined"], &report["removed"]], [0, 0]);
    assert_eq!(world.bucket.keys().await.len(), 20);
    // A plan may look into the future; a sweep may not.
    let plan = world.run(&["plan", "--now", "2199-01-01T00:00:00Z", "--format", "json"]).ends(0).only_policy();
    assert_eq!(plan["would_remove"], 20);
    world.run(&["sweep", "--now", "2199-01-01T00:00:00Z"]).ends(64);
    assert_eq!(world.bucket.keys().await.len(), 20);
}

async fn what_cannot_be_opened_is_refused(bucket: TestBucket) {
    let world = World::new(bucket, "keep = \"0s\"");
    world.bucket.put("a", "a").await;
    let (url, name) = (world.bucket.url(), world.bucket.name().to_owned());
    let port = format!(":{}", world.bucket.port());
    for (url, code) in [
        (url.replace(&port, ":1"), 69),
        (url.replace(&name, "no-such-bucket-anywhere"), 65),
        (url.replace("endpoint=", "end=here&endpoint="), 65),
    ] {
        world.configure(&url, "keep = \"0s\"");
        for verb in ["check", "plan", "sweep"] {
            let run = world.run(&[verb]).ends(code);
            let secret = &world.bucket.credentials()[1].1;
            assert!(!run.everything().contains(secret), "{}", run.everything());
        }
    }
    world.configure(&url, "keep = \"0s\"");
    let name = world.bucket.credentials()[1].0;
    let wrong = Run::of(world.bygone(&["sweep"]).env(name, "d3Jvbmc=")).ends(1);
    assert!(wrong.stderr.contains("credentials") || wrong.stderr.contains("denied"), "{}", wrong.stderr);
    assert_eq!(world.bucket.keys().await, ["a"]);
}
