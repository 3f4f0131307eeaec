//! What a daemon says of itself: a line for each request, as JSON where that is asked for; and nobody's secrets, however
//! talkative it is.

use std::fs::File;
use std::process::{Child, Stdio};
use std::time::Duration;

use bygone_testkit::wait::Wait;
use serde_json::Value;

use crate::api::ask;
use crate::support::{Engine, World, everyone, living, until_told};

/// `printf %s hunter2-token | sha256sum`
const TOKEN: &str = "hunter2-token";
const SHA256: &str = "f9d9f399d40c3f76914bb6d4b5d614f54cca87d3d5df005ff8ef820fd81584b8";

/// A daemon whose log goes to a file: it may say more than a pipe holds.
pub(crate) struct Talkative<'a> {
    world: &'a World,
    child: Child,
    pub(crate) port: u16,
}

impl<'a> Talkative<'a> {
    fn start(world: &'a World, level: &str, arguments: &[&str]) -> Self {
        Self::start_with(world, level, arguments, &[])
    }

    /// With these variables besides.
    pub(crate) fn start_with(world: &'a World, level: &str, arguments: &[&str], env: &[(&str, String)]) -> Self {
        let mut command = world.bygone(&["serve", "--state", "state"]);
        command.args(arguments).envs(env.iter().cloned()).env("BYGONE_LOG", level).stdout(Stdio::null());
        let child = command.stderr(File::create(world.path("log")).unwrap()).spawn().unwrap();
        let mut daemon = Self { world, child, port: 0 };
        let mut wait = Wait::up_to(Duration::from_mins(1));
        daemon.port = loop {
            let said = daemon.log();
            let place = said.split_once("answering on http://127.0.0.1:").and_then(|(_, rest)| rest.split_once('\n'));
            if let Some((port, _)) = place {
                break port.parse().unwrap();
            }
            assert!(wait.again_blocking(), "it does not answer: {said}");
        };
        daemon
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.world.path("log")).unwrap()
    }

    fn ask(&self, request: &str, headers: &str, body: &str) -> String {
        ask(self.port, request, headers, body)
    }

    /// Ends it, and has all that it said.
    pub(crate) fn end(mut self) -> String {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
        self.log()
    }
}

fn with_token(scope: &str) -> String {
    format!("[[serve.token]]\nname = \"graphs\"\nsha256 = \"{SHA256}\"\nscope = \"{scope}\"\n")
}

#[tokio::test]
async fn a_request_is_a_line_with_its_route_and_never_as_it_was_sent() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.add_lines(&with_token("read"));
    let daemon = Talkative::start(&world, "info,bygone_server=debug", &["--log-format", "json"]);
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    let requests = [
        ("GET /api/v1/policies/tokens?pasted=hunter3", &*bearer, ("GET", "/api/v1/policies/{name}", 200, "graphs")),
        ("GET /api/v1/policies/hunter3", &bearer, ("GET", "/api/v1/policies/{name}", 404, "graphs")),
        ("POST /api/v1/pause", &bearer, ("POST", "/api/v1/pause", 403, "graphs")),
        ("GET /metrics", "Authorization: Bearer hunter3\r\n", ("GET", "/metrics", 401, "-")),
        ("GET /hunter3", "", ("GET", "-", 404, "-")),
        ("HUNTER3 /livez", "", ("-", "/livez", 405, "-")),
    ];
    for (request, headers, _) in &requests {
        daemon.ask(request, headers, "");
    }
    let log = daemon.end();
    let lines: Vec<Value> =
        log.lines().filter(|line| line.starts_with('{')).map(|line| serde_json::from_str(line).unwrap()).collect();
    let answered: Vec<&Value> =
        lines.iter().map(|line| &line["fields"]).filter(|said| said["message"] == "answered").collect();
    assert_eq!(answered.len(), requests.len(), "{log}");
    for (said, (request, _, (method, route, status, caller))) in answered.iter().zip(&requests) {
        let told = (&said["method"], &said["route"], &said["status"], &said["caller"]);
        assert_eq!(told, (&(*method).into(), &(*route).into(), &(*status).into(), &(*caller).into()), "{request}");
        assert!(said["millis"].is_u64(), "{said}");
    }
    assert!(!log.to_lowercase().contains("hunter3"), "{log}");
}

#[tokio::test]
async fn what_happens_in_a_sweep_says_in_which() {
    let world = World::with_tokens(Engine::Sqlite).await;
    let daemon = Talkative::start(&world, "debug", &["--log-format", "json"]);
    let json = "Content-Type: application/json\r\n";
    let begun = daemon.ask("POST /api/v1/sweeps", json, "{\"policies\":[\"tokens\"]}");
    let sweep = begun.rsplit("\"sweep\":\"").next().unwrap().split('"').next().unwrap().to_owned();
    until_told(&world, "state", "complete", 1).await;
    let log = daemon.end();
    let lines =
        log.lines().filter(|line| line.starts_with('{')).map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ended = lines.into_iter().find(|line| line["fields"]["message"] == "policy ended").unwrap();
    assert_eq!((&ended["span"]["name"], &ended["span"]["sweep"]), (&"sweep".into(), &sweep.into()), "{ended}");
}

/// The password of a database and the token of a person, in everything that a daemon writes while all kinds of things happen.
#[tokio::test]
async fn a_daemon_at_its_most_talkative_shows_no_secret() {
    let world = World::with_tokens(Engine::Postgres).await;
    let url = world.database.url();
    let password = url.split_once("://").unwrap().1.split('@').next().unwrap().split_once(':').unwrap().1.to_owned();
    assert!(password.len() >= 4, "a password that can be looked for");
    let fallen = world.database.url_as("bygone", "hunter2-password");
    world.add_lines(&format!(
        "[source.fallen]\nurl = \"{fallen}\"\n[[policy]]\nname = \"fallen\"\nsource = \"fallen\"\ntable = \"tokens\"\n\
         deadline = \"expires_at\"\nkeep = \"0s\"\n{}",
        with_token("admin")
    ));
    let daemon = Talkative::start(&world, "trace", &[]);
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    let json = format!("{bearer}Content-Type: application/json\r\n");
    let mut answers = Vec::new();
    for policy in ["tokens", "fallen"] {
        answers.push(daemon.ask(&format!("POST /api/v1/policies/{policy}/plan"), &bearer, ""));
        answers.push(daemon.ask("POST /api/v1/sweeps", &json, &format!("{{\"policies\":[\"{policy}\"]}}")));
    }
    until_told(&world, "state", "complete", 1).await;
    until_told(&world, "state", "failed", 1).await;
    for (request, headers) in [
        ("GET /api/v1/policies", "Authorization: Bearer hunter2-wrong\r\n"),
        ("GET /api/v1/policies?token=hunter2-query", ""),
        ("GET /", "Cookie: bygone=hunter2-cookie\r\n"),
        ("GET /api/v1/policies", &*bearer),
        ("GET /api/v1/policies/fallen", &bearer),
        ("GET /api/v1/sweeps", &bearer),
        ("GET /api/v1/alarms", &bearer),
        ("GET /metrics", &bearer),
        ("GET /", &bearer),
        ("GET /policies/fallen", &bearer),
        ("GET /sweeps", &bearer),
    ] {
        answers.push(daemon.ask(request, headers, ""));
    }
    // A file that is wrong beside its secrets.
    world.add_lines(&format!("evry = \"1s\"\n{}", with_token("admin")));
    let mut wait = Wait::up_to(Duration::from_mins(1));
    while !daemon.log().contains("the one before stays in force") {
        assert!(wait.again().await);
    }
    let log = daemon.end();
    for said in ["DEBUG", "answered", "policy ended", "hunter2"] {
        assert_eq!(log.contains(said), said != "hunter2", "{said}");
    }
    for (written, of) in std::iter::once((&log, "the log")).chain(answers.iter().map(|answer| (answer, "an answer"))) {
        for secret in [&*password, TOKEN, "hunter2"] {
            assert!(!written.contains(secret), "{secret} stands in {of}: {written}");
        }
    }
    let ledger = std::fs::read(world.path("state").join("ledger.db")).unwrap();
    for secret in [&*password, "hunter2"] {
        assert!(!String::from_utf8_lossy(&ledger).contains(secret), "the history has {secret}");
    }
    assert_eq!(world.survivors().await, living());
    assert_ne!(living(), everyone());
}
