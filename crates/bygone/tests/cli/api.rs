//! The API of the daemon, as `[serve]` and `--listen` say.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use rustix::process::Signal;

use crate::support::{Engine, Running, World, everyone, living, until_told};

/// A daemon, and the port that it answers on.
fn serve(world: &World) -> (Running, u16) {
    let mut running = Running::start(&mut world.bygone(&["serve", "--state", "state"]));
    // The line behind it is there: so all of it is.
    let said = running.until_it_says("never run by themselves");
    let port = said.rsplit("answering on http://127.0.0.1:").next().unwrap().split_whitespace().next().unwrap();
    let port = port.parse().unwrap();
    (running, port)
}

/// Asks, and reads the answer to its end.
fn ask(port: u16, request: &str, headers: &str, body: &str) -> String {
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
