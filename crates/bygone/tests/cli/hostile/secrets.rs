//! Everything at once, at its most talkative: databases, buckets, tokens, leases over HTTP, rejected files. Nothing that is
//! written anywhere has a secret in it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use bygone_testkit::SeaweedFs;
use bygone_testkit::wait::Wait;
use serde_json::json;

use crate::api::ask;
use crate::log::Talkative;
use crate::support::{Engine, Run, World, living, until_told};

/// `printf %s hunter2-token | sha256sum`
const TOKEN: &str = "hunter2-token";
const SHA256: &str = "f9d9f399d40c3f76914bb6d4b5d614f54cca87d3d5df005ff8ef820fd81584b8";

/// What must stand nowhere, and how it would be written: as it is, as base64, as the digits of its bytes.
struct Secrets(Vec<(&'static str, Vec<u8>)>);

impl Secrets {
    fn new(secrets: &[(&'static str, &str)]) -> Self {
        let mut all = Vec::new();
        for (of, secret) in secrets {
            assert!(secret.len() >= 7, "{of} can be looked for");
            let hex: Vec<String> = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
            all.extend([
                (*of, secret.as_bytes().to_vec()),
                (*of, hex.concat().into_bytes()),
                (*of, base64(secret).into_bytes()),
            ]);
        }
        Self(all)
    }

    #[track_caller]
    fn are_not_in(&self, written: &[u8], place: &str) {
        for (of, secret) in &self.0 {
            let found = written.windows(secret.len()).position(|part| part == secret);
            if let Some(at) = found {
                let around = &written[at.saturating_sub(300)..(at + 100).min(written.len())];
                panic!("{of} stands in {place}: {}", String::from_utf8_lossy(around));
            }
        }
    }

    /// In no file below a directory but those that somebody wrote it into.
    fn are_not_below(&self, directory: &Path, but: &[&str]) {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if entry.file_type().unwrap().is_dir() {
                self.are_not_below(&entry.path(), but);
            } else if entry.file_type().unwrap().is_file() && !but.contains(&&*name) {
                self.are_not_in(&fs::read(entry.path()).unwrap(), &entry.path().display().to_string());
            }
        }
    }
}

/// As headers and signatures carry it, without its end, which depends on what follows.
fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let whole = text.as_bytes().chunks_exact(3);
    let digits = |bytes: &[u8]| {
        let number = bytes.iter().fold(0_usize, |number, byte| number << 8 | usize::from(*byte));
        [18, 12, 6, 0].map(|shift| char::from(DIGITS[number >> shift & 63]))
    };
    whole.flat_map(digits).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_at_trace_level_shows_no_secret_anywhere() {
    let world = World::with_tokens(Engine::Postgres).await;
    let bucket = SeaweedFs::shared().await.fresh_bucket().await;
    bucket.put("old/object", "content").await;
    let keys = bucket.credentials();
    let url = world.database.url();
    let password = url.split_once("://").unwrap().1.split('@').next().unwrap().split_once(':').unwrap().1.to_owned();
    let secrets = Secrets::new(&[
        ("the password of the database", &password),
        ("a password that is wrong", "hunter2-password"),
        ("the password in a file", "hunter2-in-a-file"),
        ("the token", TOKEN),
        ("the hash of the token", SHA256),
        ("a token that is wrong", "hunter2-stranger"),
        ("the secret key of the bucket", &keys.iter().find(|(name, _)| *name == "AWS_SECRET_ACCESS_KEY").unwrap().1),
    ]);
    fs::write(world.path("password"), "hunter2-in-a-file\n").unwrap();
    let fallen = world.database.url_as("bygone", "hunter2-password");
    let filed = world.database.url_as("bygone", "${file:password}");
    let lines = format!(
        "[source.fallen]\nurl = \"{fallen}\"\n[source.filed]\nurl = \"{filed}\"\n[source.bucket]\nurl = \"{}\"\n[source.jobs]\nurl = \"file:jobs\"\n\
         [[policy]]\nname = \"fallen\"\nsource = \"fallen\"\ntable = \"tokens\"\ndeadline = \"expires_at\"\nkeep = \"0s\"\n\
         [[policy]]\nname = \"filed\"\nsource = \"filed\"\ntable = \"tokens\"\ndeadline = \"expires_at\"\nkeep = \"0s\"\n\
         [[policy]]\nname = \"objects\"\nsource = \"bucket\"\nkind = \"prefix\"\nkeep = \"1d\"\n\
         [[policy]]\nname = \"ended\"\nsource = \"jobs\"\nkind = \"leases\"\n\
         [[serve.token]]\nname = \"all\"\nsha256 = \"{SHA256}\"\nscope = \"admin\"\n",
        bucket.url()
    );
    world.add_lines(&lines);
    for arguments in [
        &["check"][..],
        &["plan"],
        &["plan", "-o", "plan.json"],
        &["sweep", "objects", "--format", "json"],
        &["sweep", "fallen", "filed"],
        &["status", "--state", "none"],
        &["index"],
        &["grants", "sweeper"],
        &["guard"],
        &["init", &url, "--print"],
        &["lease", "--store", &format!("{}&x=hunter2-password", bucket.url()), "describe", "--key", "k"],
    ] {
        let run = Run::of(world.bygone(arguments).envs(keys.iter().cloned()).env("BYGONE_LOG", "trace"));
        secrets.are_not_in(run.everything().as_bytes(), &format!("{arguments:?}"));
    }
    let daemon = Talkative::start_with(&world, "trace", &["--log-format", "json"], &keys);
    use_the_daemon(&daemon, &secrets);
    for arguments in [&["status"][..], &["history"]] {
        let mut command = world.bygone(arguments);
        command.args(["--daemon", &format!("http://127.0.0.1:{}", daemon.port)]).env("BYGONE_TOKEN", TOKEN);
        let run = Run::of(command.env("BYGONE_LOG", "trace"));
        secrets.are_not_in(run.everything().as_bytes(), &format!("{arguments:?} of the daemon"));
    }
    until_told(&world, "state", "failed", 2).await;
    until_told(&world, "state", "complete", 2).await;
    // A file that is wrong beside its secrets is told of, and shown.
    world.add_lines(&lines.replace("kind = \"leases\"", "kind = \"leses\""));
    let mut wait = Wait::up_to(Duration::from_mins(1));
    while !daemon.log().contains("the one before stays in force") {
        assert!(wait.again().await);
    }
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    for path in ["/api/v1/configuration", "/", "/metrics"] {
        let answer = ask(daemon.port, &format!("GET {path}"), &bearer, "");
        secrets.are_not_in(answer.as_bytes(), path);
    }
    let log = daemon.end();
    assert!(log.contains("\"level\":\"TRACE\""), "the log is on");
    secrets.are_not_in(log.as_bytes(), "the log");
    secrets.are_not_below(world.path("state").parent().unwrap(), &["bygone.toml", "password"]);
    assert_eq!(world.survivors().await, living());
}

/// Sweeps, plans, leases, wrong tokens, pages; every answer is looked at.
fn use_the_daemon(daemon: &Talkative<'_>, secrets: &Secrets) {
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    let json = format!("{bearer}Content-Type: application/json\r\n");
    let lease = json!({ "key": "k", "owner": "ada", "ttl_ms": 60_000 }).to_string();
    for (request, headers, body) in [
        ("POST /api/v1/policies/tokens/plan", &*bearer, ""),
        ("POST /api/v1/policies/fallen/plan", &bearer, ""),
        ("POST /api/v1/policies/objects/plan", &bearer, ""),
        ("GET /api/v1/policies/fallen/explanation", &bearer, ""),
        ("POST /api/v1/sweeps", &json, "{\"policies\":[\"tokens\"]}"),
        ("POST /api/v1/sweeps", &json, "{\"policies\":[\"fallen\"]}"),
        ("POST /api/v1/sweeps", &json, "{\"policies\":[\"filed\"]}"),
        ("POST /api/v1/sweeps", &json, "{\"policies\":[\"objects\"]}"),
        ("POST /lease/v1/jobs/acquire", &json, &lease),
        ("POST /lease/v1/jobs/queue/enqueue", &json, "{\"queue\":\"q\",\"payload\":\"x\"}"),
        ("POST /lease/v1/jobs/get", &json, "{\"key\":\"k\"}"),
        ("GET /api/v1/sources", &bearer, ""),
        ("GET /api/v1/sources/db", &bearer, ""),
        ("GET /api/v1/sources/fallen", &bearer, ""),
        ("GET /api/v1/sources/bucket", &bearer, ""),
        ("GET /api/v1/policies?token=hunter2-stranger", &bearer, ""),
        ("GET /api/v1/policies", "Authorization: Bearer hunter2-stranger\r\n", ""),
        ("POST /sign-in", "Content-Type: application/x-www-form-urlencoded\r\n", "token=hunter2-stranger"),
        ("GET /", "Cookie: bygone-token=hunter2-stranger\r\n", ""),
        ("GET /", "Cookie: bygone-token=hunter2-token\r\n", ""),
        ("GET /policies/fallen", &bearer, ""),
        ("GET /sources/fallen", &bearer, ""),
        ("GET /metrics", &bearer, ""),
        ("GET /api/v1/alarms", &bearer, ""),
    ] {
        let answer = ask(daemon.port, request, headers, body);
        assert!(answer.starts_with("HTTP/1.1"), "{request}: {answer}");
        secrets.are_not_in(answer.as_bytes(), request);
    }
}
