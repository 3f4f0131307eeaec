//! Gates of sources: nothing is swept while they are closed, and a run stops between two pages when they close.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{
    BYGONE_LAST, Client, Engine, Run, Running, TOKENS, World, everyone, living, on_each_engine, runs, until_told,
};

/// The policy over the tokens, its source behind gates.
fn behind(world: &World, gates: &str, lines: &str) {
    let source = "url = \"${DATABASE_URL}\"\n";
    world.configure(&format!("{}{lines}\n", TOKENS.replace(source, &format!("{source}gates = {{ {gates} }}\n"))));
}

fn hold(world: &World) -> String {
    format!("hold_file = \"{}\"", world.path("hold").display())
}

on_each_engine!(a_hold_file_keeps_a_sweep_out, a_hold_file_stops_a_daemon_between_pages_until_it_is_gone);

async fn a_hold_file_keeps_a_sweep_out(engine: Engine) {
    let world = World::with_tokens(engine).await;
    behind(&world, &hold(&world), "");
    std::fs::write(world.path("hold"), "").unwrap();
    let reason = format!("held by the file {}; remove it to go on", world.path("hold").display());
    let run = world.refuses(0, &["sweep", "--format", "json"]).await.says(&[&format!("tokens: held: {reason}")]);
    assert_eq!(run.json()["outcome"], "partial");
    let policy = run.only_policy();
    assert_eq!((&policy["outcome"], &policy["stopped_by"]), (&json!("held"), &json!(reason)));
    assert_eq!((&policy["pages"], &policy["requests"], &policy["error"]), (&json!(0), &json!(0), &Value::Null));
    std::fs::remove_file(world.path("hold")).unwrap();
    let policy = world.run(&["sweep", "--format", "json"]).ends(0).only_policy();
    assert_eq!((&policy["outcome"], policy.get("stopped_by")), (&json!("complete"), None));
    assert_eq!(world.survivors().await, living());
}

/// A file is no kind of load: it holds what is in a directory, too.
#[tokio::test]
async fn a_hold_file_keeps_a_sweep_out_of_a_directory() {
    let world = World::empty(Engine::Sqlite).await;
    std::fs::create_dir(world.path("yard")).unwrap();
    std::fs::write(world.path("yard/old"), "").unwrap();
    std::fs::write(world.path("hold"), "").unwrap();
    world.configure(&format!(
        "[source.yard]\nurl = \"file:yard\"\ngates = {{ {} }}\n[[policy]]\nname = \"old\"\nsource = \"yard\"\n\
         kind = \"tree\"\nkeep = \"0s\"\n",
        hold(&world)
    ));
    let policy = world.run(&["sweep", "--format", "json"]).ends(0).only_policy();
    assert_eq!(policy["outcome"], "held");
    assert!(world.path("yard/old").exists());
    std::fs::remove_file(world.path("hold")).unwrap();
    let policy = world.run(&["sweep", "--format", "json"]).ends(0).only_policy();
    assert_eq!((&policy["outcome"], &policy["removed"]), (&json!("complete"), &json!(1)));
    assert!(!world.path("yard/old").exists());
}

async fn until_some_are_gone(client: &mut Client) {
    client.until(&format!("SELECT CASE WHEN count(*) < {} THEN 1 ELSE 0 END FROM tokens", everyone().len())).await;
}

async fn a_hold_file_stops_a_daemon_between_pages_until_it_is_gone(engine: Engine) {
    let world = World::with_tokens(engine).await;
    // Six pages, with time between them to put the file there.
    behind(&world, &hold(&world), "every = \"1s\"\nbudget = { page = 10, pause = \"3s\" }");
    let mut running = Running::start(&mut world.bygone(&["serve", "--state", "state"]));
    running.until_it_says("serving");
    let mut client = world.client().await;
    until_some_are_gone(&mut client).await;
    std::fs::write(world.path("hold"), "").unwrap();
    until_told(&world, "state", "held", 1).await;
    let left = world.survivors().await;
    assert!(left.len() > living().len() && left.ends_with(&living()), "it stopped in the middle: {left:?}");
    until_told(&world, "state", "held", 2).await;
    assert_eq!(world.survivors().await, left, "and the next run did not begin");

    // What is left goes in one run, without rests.
    behind(&world, &hold(&world), "every = \"1s\"");
    let reason = format!("held by the file {}; remove it to go on", world.path("hold").display());
    let said = running.until_it_says("read anew");
    assert!(said.contains("outcome=\"held\"") && said.contains(&reason), "{said}");
    std::fs::remove_file(world.path("hold")).unwrap();
    client.until(&format!("SELECT CASE WHEN count(*) = {} THEN 1 ELSE 0 END FROM tokens", living().len())).await;
    running.signal(Signal::TERM);
    running.end().ends(0);
    assert_eq!(world.survivors().await, living());
    let runs = runs(&world, "state");
    assert_eq!((runs[0].outcome.as_str(), runs[0].stopped_by.as_ref()), ("held", Some(&reason)), "{runs:?}");
    assert!(runs[0].removed >= 10 && runs[0].removed.is_multiple_of(10), "whole pages: {runs:?}");
    assert!(runs[1].outcome == "held" && runs[1].removed == 0, "{runs:?}");
    assert_eq!(runs.iter().map(|run| run.removed).sum::<u32>(), BYGONE_LAST, "each row once: {runs:?}");
}

/// A session that is at work until the connection of who asked for it is dropped.
async fn put_to_work(world: &World) -> tokio::task::JoinHandle<()> {
    let mut worker = world.client().await;
    let (work, is_there) = match world.database.engine() {
        Engine::Postgres => (
            "SELECT pg_sleep(600)",
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query = 'SELECT pg_sleep(600)'",
        ),
        _ => (
            "SELECT SLEEP(600)",
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = 'SELECT SLEEP(600)'",
        ),
    };
    let working = tokio::spawn(async move { worker.run(work).await });
    world.client().await.until(is_there).await;
    working
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_at_work_keep_a_sweep_out() {
    for engine in [Engine::Postgres, Engine::MariaDb] {
        let world = World::with_tokens(engine).await;
        let working = put_to_work(&world).await;
        behind(&world, "active_sessions = 0", "");
        let run = world.refuses(0, &["sweep", "--format", "json"]).await;
        let policy = run.only_policy();
        assert_eq!(policy["outcome"], "lag", "{engine:?}");
        // Other tests are at work on that server, too.
        let reason = policy["stopped_by"].as_str().unwrap();
        assert!(reason.ends_with(" sessions are at work, over 0"), "{engine:?}: {reason}");
        behind(&world, "active_sessions = 100000", "");
        let policy = world.run(&["sweep", "--format", "json"]).ends(0).only_policy();
        assert_eq!((&policy["outcome"], &policy["removed"]), (&json!("complete"), &json!(BYGONE_LAST)), "{engine:?}");
        assert_eq!(world.survivors().await, living());
        working.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rush_of_others_keeps_a_sweep_out() {
    for engine in [Engine::Postgres, Engine::MariaDb] {
        let world = World::with_tokens(engine).await;
        let mut client = world.client().await;
        let rush = tokio::spawn(async move {
            loop {
                client.run("SELECT 1").await;
            }
        });
        behind(&world, "transactions_per_second = 10", "");
        let policy = world.refuses(0, &["sweep", "--format", "json"]).await.only_policy();
        let reason = policy["stopped_by"].as_str().unwrap_or_default();
        assert!(policy["outcome"] == "activity" && reason.ends_with(" a second, over 10"), "{engine:?}: {policy}");
        rush.abort();
    }
}

/// Gates that nobody can ask are closed, and say what to do about it.
#[tokio::test]
async fn a_gate_that_cannot_be_asked_is_closed() {
    let world = World::with_tokens(Engine::Postgres).await;
    let user = world.database.user("sweeper");
    let rights = "SELECT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public";
    world.run_sql(&format!("CREATE ROLE {user} LOGIN PASSWORD 'geheim'; GRANT {rights} TO {user}")).await;
    let sweep = |world: &World| {
        let mut command = world.bygone(&["sweep", "--format", "json"]);
        command.env("DATABASE_URL", world.database.url_as(&user, "geheim"));
        Run::of(&mut command).ends(0)
    };
    for gates in ["active_sessions = 100000", "replica_lag = \"1h\""] {
        behind(&world, gates, "");
        let run = sweep(&world).says(&[&format!("GRANT pg_monitor TO \"{user}\"")]);
        assert_eq!(run.only_policy()["outcome"], "lag", "{gates}");
    }
    behind(&world, "replica_lag = \"1h\", replicas = [\"postgres://ada:hunter2@127.0.0.1:1/app\"]", "");
    let run = sweep(&world).says(&["cannot be told: cannot connect to postgres://127.0.0.1:1/app"]);
    assert!(run.only_policy()["outcome"] == "lag" && !run.everything().contains("hunter2"), "{run:#?}");
    assert_eq!(world.survivors().await, everyone());
    // `check` tells of it before the first sweep, and `grants` prints the remedy.
    behind(&world, "active_sessions = 100000", "");
    let check = Run::of(world.bygone(&["check"]).env("DATABASE_URL", world.database.url_as(&user, "geheim"))).ends(0);
    let told = "warning[source::gate]: tokens (line 2): a sweep would be stopped now: the sessions at work cannot";
    assert!(check.stdout.contains(told), "{check:#?}");
    let grants = world.run(&["grants", &user]).ends(0).stdout;
    assert!(grants.contains(&format!("GRANT pg_monitor TO \"{user}\";")), "{grants}");
    world.run_sql(&format!("GRANT pg_monitor TO {user}")).await;
    let check = Run::of(world.bygone(&["check"]).env("DATABASE_URL", world.database.url_as(&user, "geheim"))).ends(0);
    assert!(!check.stdout.contains("source::gate"), "{check:#?}");
    assert_eq!(sweep(&world).only_policy()["outcome"], "complete");
    assert_eq!(world.survivors().await, living());
}

#[tokio::test]
async fn a_gate_that_its_source_cannot_have_is_refused() {
    let world = World::with_tokens(Engine::Sqlite).await;
    behind(&world, "active_sessions = 5", "");
    let run = world.refuses(65, &["sweep"]).await;
    run.says(&["config::unknown_key", "`active_sessions` means nothing to an SQLite database", "hold_file"]);
}
