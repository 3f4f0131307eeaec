//! A password is never shown: not in data, not in diagnostics, not in the most talkative log.

use crate::support::{Engine, Run, World, living, on_each_server};

/// The password in a URL.
fn password(url: &str) -> &str {
    let userinfo = url.split_once("://").and_then(|(_, rest)| rest.split('@').next());
    userinfo.and_then(|userinfo| userinfo.split(':').nth(1)).expect("a password in the url")
}

/// Runs the program at its most talkative, and looks for a secret in all that it writes.
fn look(world: &World, secret: &str, arguments: &[&str]) -> Run {
    let run = Run::of(world.bygone(arguments).env("BYGONE_LOG", "trace"));
    assert!(!run.everything().contains(secret), "the password is shown by {arguments:?}: {run:#?}");
    run
}

on_each_server!(a_password_is_not_shown, a_wrong_password_is_not_shown, a_password_is_not_in_a_quoted_file);

async fn a_password_is_not_shown(engine: Engine) {
    let world = World::with_tokens(engine).await;
    let url = world.database.url();
    let secret = password(&url);
    look(&world, secret, &["check"]).ends(0);
    for format in ["json", "jsonl", "table"] {
        look(&world, secret, &["plan", "--format", format]).ends(0);
    }
    look(&world, secret, &["plan", "-o", "plan.json"]).ends(0);
    let saved = std::fs::read_to_string(world.path("plan.json")).unwrap();
    assert!(!saved.contains(secret), "{saved}");
    let run = look(&world, secret, &["sweep", "--format", "json"]).ends(0);
    assert!(run.stderr.contains("policy ended"), "the log is on: {run:#?}");
    assert_eq!(world.survivors().await, living());
}

async fn a_wrong_password_is_not_shown(engine: Engine) {
    let world = World::with_tokens(engine).await;
    world.alter("${DATABASE_URL}", &world.database.url_as("bygone", "hunter2"));
    for verb in ["check", "plan", "sweep"] {
        look(&world, "hunter2", &[verb, "--format", "json"]).ends(69);
    }
}

/// Diagnostics quote the file around what is wrong, and the url stands right beside it.
async fn a_password_is_not_in_a_quoted_file(engine: Engine) {
    let world = World::with_tokens(engine).await;
    let url = world.database.url();
    for wrong in [
        format!("{url}\"\nschemo = \"x"),
        format!("{url}\"\ntable_prefix = \"x"),
        url.replace("://", ":/"),
        url.replace('@', "@["),
    ] {
        world.alter("${DATABASE_URL}", &wrong);
        look(&world, password(&url), &["sweep"]).ends(65);
    }
}
