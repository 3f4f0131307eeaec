//! Sessions at work, and how much they do.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Gate, Hindrance, ManualClock, SystemClock};
use bygone_sql::{Engine, LoadGate, Source, SourceUrl};
use bygone_testkit::{AnyDatabase, Client, Kind, MariaDb, Options, Postgres};
use jiff::Timestamp;

use super::{Watch, sessions, transactions};
use crate::world::World;

/// What keeps a session at work, and whether there is one.
fn nap(engine: Engine) -> (&'static str, &'static str) {
    match engine {
        Engine::Postgres => (
            "SELECT pg_sleep(600)",
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query = 'SELECT pg_sleep(600)'",
        ),
        _ => (
            "SELECT SLEEP(600)",
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = 'SELECT SLEEP(600)'",
        ),
    }
}

/// A session at work, until it is ended.
pub(super) async fn put_to_work(
    engine: Engine,
    mut worker: Client,
    client: &mut Client,
) -> tokio::task::JoinHandle<()> {
    let (statement, is_there) = nap(engine);
    let working = tokio::spawn(async move {
        // It is ended in the middle, and says so.
        let _ = worker.try_run(statement).await;
    });
    client.until(is_there).await;
    working
}

/// Ends it, and waits until the server knows.
pub(super) async fn dismiss(engine: Engine, working: tokio::task::JoinHandle<()>, client: &mut Client) {
    let is_there = nap(engine).1;
    let end = if engine == Engine::Postgres {
        is_there.replace("count(*)", "pg_terminate_backend(pid)")
    } else {
        let id = client.number(&is_there.replace("COUNT(*)", "ID")).await;
        format!("KILL {id}")
    };
    client.run(&end).await;
    working.await.unwrap();
    client.until(&is_there.replacen("SELECT", "SELECT 1 -", 1)).await;
}

async fn a_session_at_work_closes_the_gate_and_the_askers_own_does_not(engine: Engine, database: AnyDatabase) {
    let watch = Watch::over(&database.url(), sessions(0));
    assert_eq!(watch.now().await, None, "{engine:?}: nobody works but who asks");
    let mut client = database.client().await;
    let working = put_to_work(engine, database.client().await, &mut client).await;
    // The client's last question may not be over yet for the server.
    let closed = watch.until_closed("1 sessions are at work, over 0").await;
    assert_eq!(closed.by, Hindrance::Lag);
    Watch::over(&database.url(), sessions(1)).until_open().await;

    dismiss(engine, working, &mut client).await;
    assert_eq!(watch.after(Duration::from_millis(900)).await, Some(closed), "{engine:?}: remembered for a moment");
    watch.until_open().await;
}

/// Nobody else may be at work on the server.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_postgres() {
    let server = Postgres::start(Options::default()).await.unwrap();
    let database = AnyDatabase::Postgres(server.fresh_database().await);
    a_session_at_work_closes_the_gate_and_the_askers_own_does_not(Engine::Postgres, database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_mariadb() {
    let server = MariaDb::start(Options::default()).await.unwrap();
    let database = AnyDatabase::MariaDb(server.fresh_database().await);
    a_session_at_work_closes_the_gate_and_the_askers_own_does_not(Engine::MySql, database).await;
}

/// A statement of others, a thousand times, and until the server has counted them.
pub(super) async fn make_a_rush(engine: Engine, client: &mut Client) {
    let before = counted(engine, client).await;
    for _ in 0..1_000 {
        client.run("SELECT 1").await;
    }
    while counted(engine, client).await < before + 1_000 {}
}

async fn counted(engine: Engine, client: &mut Client) -> i64 {
    if engine == Engine::Postgres {
        let sql = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()";
        return client.number(sql).await;
    }
    let rows = client.rows("SHOW GLOBAL STATUS LIKE 'Questions'").await;
    rows[0][1].as_ref().unwrap().parse().unwrap()
}

async fn a_rush_of_others_closes_the_gate_and_our_own_does_not(engine: Engine, database: AnyDatabase) {
    let world = World(database);
    let watch = Watch::over(&world.url(), transactions(300));
    assert_eq!(watch.now().await, None, "{engine:?}: a first look compares two readings of its own");
    let mut client = world.client().await;
    make_a_rush(engine, &mut client).await;
    let closed = watch.now().await.unwrap();
    assert_eq!(closed.by, Hindrance::Activity, "{engine:?}");
    let (rate, rest) = closed.reason.split_once(' ').unwrap();
    let what = if engine == Engine::Postgres { "transactions" } else { "statements" };
    assert_eq!(rest, format!("{what} a second, over 300"));
    assert!(rate.parse::<u64>().unwrap() >= 500, "{engine:?}: a thousand in two seconds: {rate}");
    // The sessions of the rush tell of their last moments with the end.
    drop(client);
    watch.until_open().await;

    let mut source = Source::open(world.options()).await.unwrap();
    let clock = ManualClock::at(Timestamp::UNIX_EPOCH);
    let mut client = world.client().await;
    let before = counted(engine, &mut client).await;
    for _ in 0..1_000 {
        source.read_clock(&clock).await.unwrap();
    }
    while counted(engine, &mut client).await < before + 1_000 {
        assert_eq!(source.read_clock(&clock).await.map(drop).map_err(|error| error.to_string()), Ok(()));
    }
    assert_eq!(watch.now().await, None, "{engine:?}: what we do ourselves is no work of others");
}

#[tokio::test(flavor = "multi_thread")]
async fn transactions_of_postgres() {
    let server = Postgres::start(Options::default()).await.unwrap();
    let database = AnyDatabase::Postgres(server.fresh_database().await);
    a_rush_of_others_closes_the_gate_and_our_own_does_not(Engine::Postgres, database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_of_mariadb() {
    let server = MariaDb::start(Options::default()).await.unwrap();
    let database = AnyDatabase::MariaDb(server.fresh_database().await);
    a_rush_of_others_closes_the_gate_and_our_own_does_not(Engine::MySql, database).await;
}

/// By a clock that goes: the first look is in the middle of it.
#[tokio::test(flavor = "multi_thread")]
async fn who_comes_into_a_rush_is_kept_out_at_once() {
    let database = AnyDatabase::fresh(Kind::MariaDb).await;
    let mut client = database.client().await;
    let rush = tokio::spawn(async move {
        loop {
            client.run("SELECT 1").await;
        }
    });
    let url = SourceUrl::parse(&database.url()).unwrap();
    let gate = LoadGate::new(url, transactions(10), Arc::new(SystemClock::new()));
    let closed = gate.closed().await.unwrap();
    assert_eq!(closed.by, Hindrance::Activity);
    rush.abort();
}

/// Without the right, every other session looks idle.
#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_see_is_told_the_remedy_and_kept_out() {
    let world = World::with(Engine::Postgres, "CREATE TABLE items (id int)").await;
    let (role, options) = world.make_role("SELECT").await;
    let gate = |limits| LoadGate::new(options.url.clone(), limits, Arc::new(SystemClock::new()));
    let closed = gate(sessions(1_000_000)).closed().await.unwrap();
    let expected = format!(
        "the sessions at work cannot be counted: the role may not see what others do; let it: GRANT pg_monitor TO \"{role}\""
    );
    assert_eq!((closed.by, closed.reason), (Hindrance::Lag, expected));
    assert_eq!(gate(transactions(1_000_000)).closed().await, None, "that takes no right");
    world.client().await.run(&format!("GRANT pg_monitor TO {role}")).await;
    assert_eq!(gate(sessions(1_000_000)).closed().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_is_made_anew_and_a_lost_server_is_a_closed_gate() {
    let mut server = Postgres::start(Options::default()).await.unwrap();
    let database = server.fresh_database().await;
    let watch = Watch::over(&database.url(), sessions(10));
    assert_eq!(watch.now().await, None);
    let ours = "SELECT pid FROM pg_stat_activity WHERE application_name = 'bygone'";
    let mut client = Client::Postgres(database.connect().await);
    let kept = client.texts(ours).await;
    assert_eq!(watch.now().await, None);
    assert_eq!((client.texts(ours).await, kept.len()), (kept.clone(), 1), "one connection, kept");
    client.run(&ours.replace("pid", "pg_terminate_backend(pid)")).await;
    assert_eq!(watch.now().await, None);
    let next = client.texts(ours).await;
    assert_eq!(watch.after(Duration::from_mins(2)).await, None);
    client
        .until(&format!(
            "SELECT CASE WHEN count(*) = 0 THEN 1 ELSE 0 END FROM pg_stat_activity WHERE pid = {}",
            next[0]
        ))
        .await;
    server.kill();
    let closed = watch.now().await.unwrap();
    assert!(closed.reason.starts_with("the sessions at work cannot be counted: cannot connect to postgres://"));
    let password = database.url().split(['@', ':']).nth(2).unwrap().to_owned();
    assert!(password.len() > 8 && !format!("{closed:?} {:?}", watch.gate).contains(&password), "{closed:?}");
    server.restart().await.unwrap();
    assert_eq!(watch.now().await, None);
}
