//! The first signal ends the sweep after the page, with its report; the second ends the program at once.

use rustix::process::Signal;
use serde_json::json;

use crate::support::{
    Client, Engine, FUTURE, PAST, Running, World, altered, everyone, living, on_each_engine, policy_over,
};

/// Rows that are bygone in the table of a long sweep.
const BYGONE: u32 = 900;
/// All of its rows.
const ROWS: u32 = 1000;

/// Signals a sweep that rests for minutes after its first page, and holds the report against the rows.
async fn ends_after_the_page(engine: Engine, signal: Signal) {
    let world = World::empty(engine).await;
    world.make_table("tokens").await;
    world.add("tokens", 1, BYGONE, PAST).await;
    world.add("tokens", BYGONE + 1, ROWS, FUTURE).await;
    world.add_lines("budget = { page = 10, pause = \"10m\" }");
    let running = Running::start(&mut world.bygone(&["sweep", "--format", "json"]));
    let mut client = world.client().await;
    client.until(&format!("SELECT CASE WHEN count(*) < {ROWS} THEN 1 ELSE 0 END FROM tokens")).await;
    running.signal(signal);
    let run = running.end().ends(1).says(&["stopping after this page; once more to abort"]);
    let policy = run.only_policy();
    assert_eq!(policy["outcome"], "cancelled");
    assert_eq!(run.json()["outcome"], "partial");
    assert_eq!(policy["error"], json!(null), "to be stopped is no error");
    let left = world.survivors().await;
    let removed = policy["removed"].as_u64().unwrap();
    assert_eq!(removed, u64::from(ROWS) - left.len() as u64, "the report counts what is gone");
    assert!(0 < removed && removed < u64::from(BYGONE), "{removed} were removed");
    assert!(left.ends_with(&(BYGONE + 1..=ROWS).collect::<Vec<_>>()), "the living are there");
}

on_each_engine!(interrupt_ends_after_the_page, terminate_ends_after_the_page);

async fn interrupt_ends_after_the_page(engine: Engine) {
    ends_after_the_page(engine, Signal::INT).await;
}

async fn terminate_ends_after_the_page(engine: Engine) {
    ends_after_the_page(engine, Signal::TERM).await;
}

/// The policies behind the one that was stopped are told of, too.
#[tokio::test]
async fn what_did_not_begin_is_cancelled_as_well() {
    let world = World::with_tokens(Engine::Sqlite).await;
    world.make_table("sessions").await;
    world.add("sessions", 1, 5, PAST).await;
    let slow = "budget = { page = 10, pause = \"10m\" }\n";
    world.add_lines(&format!("{slow}{}", policy_over("sessions")));
    let running = Running::start(&mut world.bygone(&["sweep", "--format", "json"]));
    let mut client = world.client().await;
    client.until("SELECT 100 - count(*) FROM tokens").await;
    running.signal(Signal::INT);
    let report = running.end().ends(1).json();
    let outcomes: Vec<_> = report["policies"].as_array().unwrap().iter().map(|policy| &policy["outcome"]).collect();
    assert_eq!(outcomes, ["cancelled", "cancelled"]);
    assert_eq!(world.ids("sessions").await, [1, 2, 3, 4, 5]);
}

/// What only looks has no page to wait for.
#[tokio::test]
async fn a_plan_ends_at_once() {
    let world = World::with_tokens(Engine::Postgres).await;
    let patient = altered("[source.db]", PATIENT);
    world.configure(&format!("{patient}where = \"pg_sleep(3600) IS NOT NULL\"\n"));
    let mut client = world.client().await;
    for arguments in [&["plan"][..], &["check"], &["sweep", "--dry-run"]] {
        let running = Running::start(&mut world.bygone(arguments));
        client.until(&format!("SELECT count(*) {SESSION} AND query LIKE '%pg_sleep%'")).await;
        running.signal(Signal::INT);
        let run = running.end().ends(1);
        assert_eq!(run.stdout, "", "{arguments:?} has seen nothing to tell of");
        end_sessions(&mut client).await;
    }
    assert_eq!(world.survivors().await, everyone());
}

/// A source that lets a statement take its time.
const PATIENT: &str = "[source.db]\nstatement_timeout = \"1d\"";

/// The program's session, while it runs a statement.
const SESSION: &str = "FROM pg_stat_activity WHERE application_name = 'bygone' AND datname = current_database() \
                       AND state = 'active'";

/// The server does not notice by itself that nobody waits for a statement any more.
async fn end_sessions(client: &mut Client) {
    client.run(&format!("SELECT pg_terminate_backend(pid) {SESSION}")).await;
    client.until(&format!("SELECT CASE WHEN count(*) = 0 THEN 1 ELSE 0 END {SESSION}")).await;
}

/// A page that takes long: the first signal waits for it, the second does not.
#[tokio::test]
async fn a_second_signal_aborts() {
    let world = World::with_tokens(Engine::Postgres).await;
    world
        .run_sql(
            "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(3600); RETURN OLD; END $$; \
             CREATE TRIGGER slow BEFORE DELETE ON tokens FOR EACH ROW EXECUTE FUNCTION slow()",
        )
        .await;
    world.alter("[source.db]", PATIENT);
    let mut running = Running::start(&mut world.bygone(&["sweep", "--format", "json"]));
    let mut client = world.client().await;
    client.until(&format!("SELECT count(*) {SESSION} AND query LIKE 'DELETE%'")).await;
    running.signal(Signal::INT);
    running.until_it_says("stopping after this page");
    assert!(running.is_alive(), "it waits for the page");
    running.signal(Signal::INT);
    let run = running.end().ends(130).says(&["aborted"]);
    assert_eq!(run.stdout, "", "an aborted sweep has no report");
    assert_eq!(world.survivors().await, everyone(), "the page was not committed");
    end_sessions(&mut client).await;
    client.run("DROP TRIGGER slow ON tokens").await;
    world.run(&["sweep"]).ends(0);
    assert_eq!(world.survivors().await, living());
}
