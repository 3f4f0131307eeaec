//! The API, asked everything that its OpenAPI document allows and much that it does not: nothing it answers is undocumented,
//! and nothing is its own fault.

use std::process::Command;

use bygone_testkit::schemathesis;
use rustix::process::Signal;

use crate::api::{ask, serve};
use crate::support::{Engine, Run, Running, World, clean, living, until_told};

/// `printf %s secret | sha256sum`
const SECRET: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
                      response_schema_conformance,unsupported_method,ignored_auth";

/// Whoever asks for a lease may wait for it, and nobody has that much time.
const HOOKS: &str = "\
import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    if isinstance(case.body, dict) and type(case.body.get('wait_ms')) is int:
        case.body = {**case.body, 'wait_ms': min(case.body['wait_ms'], 5)}
";

struct Daemon {
    world: World,
    running: Running,
    port: u16,
}

impl Daemon {
    async fn start() -> Self {
        let world = World::with_tokens(Engine::Sqlite).await;
        let token = format!("[[serve.token]]\nname = \"all\"\nsha256 = \"{SECRET}\"\nscope = \"admin\"\n");
        let policy = "[[policy]]\nname = \"ended\"\nsource = \"jobs\"\nkind = \"leases\"\n";
        world.add_lines(&format!("{token}[source.jobs]\nurl = \"file:jobs\"\n{policy}"));
        std::fs::write(world.path("hooks.py"), HOOKS).unwrap();
        // A store that nobody has made cannot be asked, which is no fault of the daemon's.
        let acquire = ["acquire", "--key", "nightly", "--owner", "ada"];
        world.run(&[&["lease", "--store", "file:jobs", "--namespace", "reports"], &acquire[..]].concat()).ends(0);
        let (running, port) = serve(&world);
        Self { world, running, port }
    }

    /// Tries every operation but those named, with these values where they are given.
    fn try_all(&self, parameters: &str, flags: &[&str]) -> Run {
        let file = self.world.path("schemathesis.toml");
        let hooks = self.world.path("hooks.py");
        std::fs::write(&file, format!("hooks = \"{}\"\n{parameters}", hooks.display())).unwrap();
        let program = schemathesis().unwrap();
        let url = format!("http://127.0.0.1:{}/api/v1/openapi.json", self.port);
        let mut command: Command = clean(program, &["--config-file"]);
        command.arg(&file).args(["run", &url, "--header", "Authorization: Bearer secret", "--max-examples", "20"]);
        command.args(["--workers", "1", "--no-color", "--checks", CHECKS]).args(flags);
        Run::of(command.current_dir(self.world.path("")))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_is_documented_and_none_is_a_fault() {
    let daemon = Daemon::start().await;
    // Names that are not there, for the most part. A stream of events of a sweep that runs would not end.
    let strangers = daemon.try_all("", &["--exclude-path-regex", "/events$"]).ends(0);
    assert!(strangers.stdout.contains("passed"), "{strangers:#?}");
    let headers = "Authorization: Bearer secret\r\nContent-Type: application/json\r\n";
    // It may have been paused on the way.
    for path in ["resume", "policies/tokens/resume"] {
        assert!(ask(daemon.port, &format!("POST /api/v1/{path}"), headers, "").starts_with("HTTP/1.1 200"));
    }
    let begun = ask(daemon.port, "POST /api/v1/sweeps", headers, "{\"policies\":[\"tokens\"]}");
    assert!(begun.starts_with("HTTP/1.1 202"), "{begun}");
    until_told(&daemon.world, "state", "complete", 1).await;
    let history = daemon.world.run(&["history", "--state", "state", "--format", "json"]).ends(0).json();
    let ended = history["sweeps"].as_array().unwrap().iter().find(|sweep| sweep["ended"].is_string()).unwrap();
    let sweep = ended["sweep"].as_str().unwrap();
    // And those that are.
    let known =
        format!("[parameters]\n\"path.name\" = \"tokens\"\n\"path.id\" = \"{sweep}\"\n\"path.source\" = \"jobs\"\n");
    daemon.try_all(&known, &["--phases", "coverage,fuzzing"]).ends(0);
    let known = "[parameters]\n\"path.name\" = \"db\"\n";
    daemon.try_all(known, &["--phases", "coverage,fuzzing", "--include-path-regex", "/sources/"]).ends(0);
    let Daemon { world, running, .. } = daemon;
    running.signal(Signal::TERM);
    let ended = running.end().ends(0);
    assert!(!ended.stderr.contains("secret"), "{}", ended.stderr);
    assert!(world.survivors().await.ends_with(&living()), "nothing went early");
}
