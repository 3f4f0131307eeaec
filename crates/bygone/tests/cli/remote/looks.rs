//! `bygone status` and `bygone history` by the daemon: what they say is what they say without it.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::api::ask;
use crate::support::{BYGONE_LAST, Engine, Running, World, everyone, on_each_engine, until_told};

on_each_engine!(what_the_daemon_tells_is_what_its_files_tell);

async fn what_the_daemon_tells_is_what_its_files_tell(engine: Engine) {
    let world = World::with_tokens(engine).await;
    world.add_lines("schedule = \"0 30 2 * * *\"");
    let (running, port) = serve_scheduled(&world);
    let daemon = format!("http://127.0.0.1:{port}");
    let both = |arguments: &[&str]| {
        let files = world.run(&[arguments, &["--state", "state"]].concat()).ends(0);
        let told = world.run(&[arguments, &["--daemon", &daemon]].concat()).ends(0);
        (files, told)
    };
    let same_status = || {
        let (files, told) = both(&["status", "--format", "json"]);
        let (mut files, mut told) = (files.only_policy(), told.only_policy());
        for status in [&mut files, &mut told] {
            // Both go with the clock.
            status["lag_seconds"] = json!(status["lag_seconds"].as_u64().unwrap() > 0);
        }
        assert_eq!(files, told);
        told
    };
    let before = same_status();
    assert_eq!((&before["backlog"], &before["last"]), (&json!(BYGONE_LAST), &Value::Null));
    assert_eq!(world.survivors().await, everyone(), "who asks removes nothing");
    let json = "Content-Type: application/json\r\n";
    for sweeps in 1..=2 {
        let begun = ask(port, "POST /api/v1/sweeps", json, "{\"policies\":[\"tokens\"]}");
        assert!(begun.starts_with("HTTP/1.1 202"), "{begun}");
        until_told(&world, "state", "complete", sweeps).await;
    }
    let after = same_status();
    assert_eq!((&after["backlog"], &after["last"]["outcome"]), (&json!(0), &json!("complete")));
    ask(port, "POST /api/v1/policies/tokens/pause", "", "");
    assert_eq!(same_status()["held"], "the policy is paused");

    for arguments in [
        &["history"][..],
        &["history", "--format", "json"],
        &["history", "--format", "json", "--limit", "1"],
        &["history", "--format", "jsonl", "tokens"],
        &["history", "--format", "json", "others"],
    ] {
        let (files, told) = both(arguments);
        assert_eq!(files.stdout, told.stdout, "{arguments:?}");
    }
    let (files, _) = both(&["history", "--format", "json"]);
    for sweep in files.json()["sweeps"].as_array().unwrap() {
        let (files, told) = both(&["history", "--sweep", sweep["sweep"].as_str().unwrap()]);
        assert_eq!(files.stdout, told.stdout);
    }
    for (arguments, code, says) in [
        (&["status", "token"][..], 64, "there is no policy `token`"),
        (&["status", "--now", "2020-01-01T00:00:00Z"], 64, "goes by the clock"),
        (&["history", "--sweep", "01a1eed0-96b2-7a6d-8648-e8bc69a56990"], 64, "has no sweep"),
    ] {
        world.run(&[arguments, &["--daemon", &daemon]].concat()).ends(code).says(&[says]);
    }
    running.signal(Signal::TERM);
    running.end().ends(0);
    for verb in ["status", "history"] {
        world.run(&[verb, "--daemon", &daemon]).ends(69).says(&["no daemon answers"]);
        world.run(&[verb, "--daemon", &daemon, "--state", "state"]).ends(64);
        world.run(&[verb, "--daemon", "localhost:8085"]).ends(64).says(&["no address of a daemon"]);
    }
}

/// A daemon that runs by a time, and the port that it answers on.
fn serve_scheduled(world: &World) -> (Running, u16) {
    let arguments = ["serve", "--state", "state", "--listen", "127.0.0.1:0"];
    let mut running = Running::start(&mut world.bygone(&arguments));
    running.until_it_says("answering on http://127.0.0.1:");
    let port = running.until_it_says("\n").trim().parse().unwrap();
    (running, port)
}
