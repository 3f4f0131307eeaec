//! The API of the daemon, as `[serve]` and `--listen` say.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use bygone_testkit::wait::Wait;
use rustix::process::Signal;

use crate::support::{Engine, Running, World, everyone, living, until_told};

/// A daemon, and the port that it answers on.
pub(crate) fn serve(world: &World) -> (Running, u16) {
    let mut running = Running::start(&mut world.bygone(&["serve", "--state", "state"]));
    // The line behind it is there: so all of it is.
    let said = running.until_it_says("never run by themselves");
    let port = said.rsplit("answering on http://127.0.0.1:").next().unwrap().split_whitespace().next().unwrap();
    let port = port.parse().unwrap();
    (running, port)
}

/// Asks, and reads the answer to its end.
pub(crate) fn ask(port: u16, request: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let length = body.len();
    let head = format!("{request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n");
    stream.write_all(format!("{head}{headers}\r\n{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[tokio::test]
async fn a_person_sweeps_and_watches_by_the_api() {
    let world = World::with_tokens(Engine::Sqlite).await;
    let (running, port) = serve(&world);
    assert!(ask(port, "GET /readyz", "", "").starts_with("HTTP/1.1 200"));
    let plan = ask(port, "POST /api/v1/policies/tokens/plan", "", "");
    assert!(plan.starts_with("HTTP/1.1 200") && plan.contains("\"would_remove\""), "{plan}");
    assert_eq!(world.survivors().await, everyone());
    let json = "Content-Type: application/json\r\n";
    let begun = ask(port, "POST /api/v1/sweeps", json, "{\"policies\":[\"tokens\"]}");
    assert!(begun.starts_with("HTTP/1.1 202"), "{begun}");
    until_told(&world, "state", "complete", 1).await;
    assert_eq!(world.survivors().await, living());
    let metrics = ask(port, "GET /metrics", "", "");
    let removed = everyone().len() - living().len();
    assert!(
        metrics.contains(&format!("bygone_items_removed_total{{policy=\"tokens\",source=\"db\"}} {removed}\n")),
        "{metrics}"
    );
    assert!(ask(port, "GET /api/v1/alarms", "", "").contains("{\"alarms\":[]}"));
    running.signal(Signal::TERM);
    running.end().ends(0);
}

/// One row of sixty goes with each run: the others have been past their time since 2020.
#[tokio::test]
async fn what_stays_past_its_time_for_too_long_is_an_alarm() {
    for (lag_max, kind) in [("1h", Some("lag")), ("36500d", None)] {
        let world = World::with_tokens(Engine::Sqlite).await;
        world.add_lines(&format!("lag_max = \"{lag_max}\"\nbudget = {{ items = 1 }}"));
        let (running, port) = serve(&world);
        assert!(ask(port, "GET /api/v1/alarms", "", "").contains("{\"alarms\":[]}"));
        let json = "Content-Type: application/json\r\n";
        let begun = ask(port, "POST /api/v1/sweeps", json, "{\"policies\":[\"tokens\"]}");
        assert!(begun.starts_with("HTTP/1.1 202"), "{begun}");
        until_told(&world, "state", "budget_items", 1).await;
        // The daemon looks back at the run just behind its end.
        let mut wait = Wait::up_to(Duration::from_mins(1));
        while !ask(port, "GET /api/v1/policies/tokens", "", "").contains("\"running\":null") {
            assert!(wait.again().await);
        }
        let alarms = ask(port, "GET /api/v1/alarms", "", "");
        let metrics = ask(port, "GET /metrics", "", "");
        match kind {
            Some(kind) => {
                assert!(
                    alarms.contains(&format!("{{\"alarms\":[{{\"kind\":\"{kind}\",\"policy\":\"tokens\"")),
                    "{alarms}"
                );
                assert!(metrics.contains("bygone_alarm{policy=\"tokens\",kind=\"lag\"} 1\n"), "{metrics}");
            }
            None => assert!(alarms.contains("{\"alarms\":[]}"), "{alarms}"),
        }
        running.signal(Signal::TERM);
        running.end().ends(0);
    }
}

#[tokio::test]
async fn tokens_say_who_may_do_what() {
    let world = World::with_tokens(Engine::Sqlite).await;
    // `printf %s secret | sha256sum`
    let sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    world.add_lines(&format!("[[serve.token]]\nname = \"graphs\"\nsha256 = \"{sha256}\"\nscope = \"read\"\n"));
    let (running, port) = serve(&world);
    let bearer = "Authorization: Bearer secret\r\n";
    assert!(ask(port, "GET /api/v1/policies", "", "").starts_with("HTTP/1.1 401"));
    assert!(ask(port, "GET /api/v1/policies", bearer, "").starts_with("HTTP/1.1 200"));
    assert!(ask(port, "POST /api/v1/pause", bearer, "").starts_with("HTTP/1.1 403"));
    assert!(ask(port, "GET /livez", "", "").starts_with("HTTP/1.1 200"));
    running.signal(Signal::TERM);
    let run = running.end().ends(0);
    assert!(!run.stderr.contains("secret"), "{}", run.stderr);
}

#[tokio::test]
async fn a_token_in_the_place_of_its_hash_is_not_shown_and_hides_nothing_else() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.add_lines("[[serve.token]]\nname = \"a\"\nsha256 = \"hunter2\"\nscope = \"root\"\nexpires = \"soon\"\n");
    let run = world.refuses(65, &["serve", "--state", "state"]).await.says(&[
        "64 hexadecimal digits",
        "there is no scope \"root\"",
        "\"soon\" is no moment",
        "sha256 = \"*******\"",
    ]);
    assert!(!run.everything().contains("hunter2"), "{run:#?}");
}

#[tokio::test]
async fn what_is_not_safe_or_not_there_is_refused() {
    let world = World::with_tokens(Engine::Sqlite).await;
    let refused = [
        ("listen = [\"0.0.0.0:8085\"]", "can be reached from other machines, which needs tokens and TLS"),
        ("listen = [\"8085\"]", "is no address to listen on"),
        ("certificate = \"a.pem\"", "a certificate needs its key"),
        ("token = [{ name = \"a\", sha256 = \"hunter2\", scope = \"read\" }]", "64 hexadecimal digits"),
        ("token = [{ name = \"a\", sha256 = \"00\", scope = \"root\" }]", "there is no scope \"root\""),
        ("token = [{ name = \"a\", sha256 = \"00\", scope = \"read\", expires = \"soon\" }]", "\"soon\" is no moment"),
        ("lisen = []", "did you mean `listen`?"),
    ];
    for (line, told) in refused {
        world.add_lines(&format!("[serve]\n{line}\n"));
        world.refuses(65, &["serve", "--state", "state"]).await.says(&[told]);
    }
    world.add_lines("[serve]\ncertificate = \"a.pem\"\nkey = \"b.pem\"\n");
    world.refuses(65, &["serve", "--state", "state"]).await.says(&["a.pem", "must be PEM files"]);
    world.add_lines("");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    world.refuses(75, &["serve", "--state", "state", "--listen", &address]).await.says(&["is taken"]);
    world.refuses(64, &["serve", "--state", "state", "--listen", "0.0.0.0:0"]).await.says(&["tokens and TLS"]);
}
