//! kill -9 at any moment: no living row is ever gone, and the next sweep finishes the work.
//!
//! Each round starts a sweep over what the last one left and kills it after a random part of the time that it would
//! take. A round whose sweep ended before the blow does not count.

use std::time::Duration;

use bygone_core::{Clock as _, SystemClock};
use bygone_testkit::Sqlite;
use bygone_testkit::wait::Wait;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use rustix::process::Signal;

use crate::support::{Client, Database, Engine, FUTURE, PAST, Running, World};

/// Kills of a running sweep, at the least.
const KILLS: u32 = 20;
/// How many of them must have come between the first page and the last.
const MIDWAY_MIN: u32 = 5;
/// Rounds that may be spent on them.
const ROUNDS_MAX: u32 = 100;

/// Of every five rows two are bygone.
const ROWS: u32 = 50_000;
const BYGONE: u32 = ROWS / 5 * 2;
const IS_BYGONE: &str = "n % 5 < 2";

/// A table of which a sweep takes about a second, in pages so small that most of it is spent between the first page
/// and the last.
async fn crowd(engine: Engine, setting: &str, page: u32) -> World {
    let world = World::empty(engine).await;
    let mut client = world.client().await;
    client.run(setting).await;
    world.make_table("tokens").await;
    for (condition, day) in [(IS_BYGONE, PAST), ("n % 5 >= 2", FUTURE)] {
        add(&mut client, engine, condition, day).await;
    }
    world.add_lines(&format!("budget = {{ page = {page} }}"));
    world
}

async fn add(client: &mut Client, engine: Engine, condition: &str, day: &str) {
    let missing = format!("{condition} AND n NOT IN (SELECT id FROM tokens)");
    client.run(&format!("INSERT INTO tokens (id, expires_at) {}", engine.rows(1, ROWS, &missing, day))).await;
}

/// The survivors by a model that knows no database.
fn living() -> Vec<u32> {
    (1..=ROWS).filter(|id| id % 5 >= 2).collect()
}

/// Waits until the server has noticed that the killed program is gone: a page on its way may still be committed.
async fn until_forgotten(client: &mut Client) {
    let sessions = match client {
        Client::Sqlite(_) => return,
        Client::Postgres(_) => {
            "FROM pg_stat_activity WHERE application_name = 'bygone' AND datname = current_database()"
        }
        Client::MariaDb(_) => "FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()",
    };
    client.until(&format!("SELECT CASE WHEN count(*) = 0 THEN 1 ELSE 0 END {sessions}")).await;
}

/// How many bygone rows are left after a kill; the living must all be there. SQLite's files are looked at in a copy,
/// so that the next sweep itself finds them as the killed one left them.
async fn look(world: &World) -> u32 {
    let copied = Sqlite::fresh();
    let mut client = match &world.database {
        Database::Sqlite(sqlite) => {
            for file in std::fs::read_dir(sqlite.directory()).unwrap().map(Result::unwrap) {
                std::fs::copy(file.path(), copied.directory().join(file.file_name())).unwrap();
            }
            let mut client = Client::Sqlite(copied.connect());
            assert_eq!(client.texts("PRAGMA integrity_check").await, ["ok"]);
            client
        }
        server => server.client().await,
    };
    until_forgotten(&mut client).await;
    let alive = client.number("SELECT count(*) FROM tokens WHERE id % 5 >= 2").await;
    assert_eq!(alive, u64::from(ROWS - BYGONE), "living rows are gone");
    u32::try_from(client.number("SELECT count(*) FROM tokens WHERE id % 5 < 2").await).unwrap()
}

/// Runs a sweep and kills it after `delay`. False if it had ended by then.
fn kill_after(world: &World, delay: Duration) -> bool {
    let running = Running::start(&mut world.bygone(&["sweep"]));
    let mut wait = Wait::up_to(delay);
    while running.is_alive() && wait.again_blocking() {}
    running.signal(Signal::KILL);
    let run = running.end();
    run.code.is_none() || run.ends(0).code.is_none()
}

async fn survives_kills(world: World) {
    let clock = SystemClock::new();
    let seed = crate::support::seed(&clock);
    println!("seed {seed}");
    let mut chance = SmallRng::seed_from_u64(seed);
    let begun = clock.elapsed();
    world.run(&["sweep"]).ends(0);
    let mut whole = clock.elapsed().saturating_sub(begun);
    assert_eq!(world.survivors().await, living());

    let (mut kills, mut midway, mut rounds, mut left) = (0, 0, 0, 0);
    while kills < KILLS || midway < MIDWAY_MIN {
        rounds += 1;
        assert!(rounds <= ROUNDS_MAX, "of {ROUNDS_MAX} sweeps only {kills} could be killed, {midway} of them midway");
        if left < BYGONE / 2 {
            add(&mut world.client().await, world.database.engine(), IS_BYGONE, PAST).await;
            left = BYGONE;
        }
        let before = left;
        let part = f64::from(before) / f64::from(BYGONE) * chance.random::<f64>();
        kills += u32::from(kill_after(&world, whole.mul_f64(part)));
        left = look(&world).await;
        midway += u32::from(0 < left && left < before);
        // The machine is faster or slower than it was at first: aim earlier or later.
        whole = whole.mul_f64(if left == 0 {
            0.8
        } else if left == before {
            1.1
        } else {
            1.0
        });
    }
    println!("{kills} kills in {rounds} rounds, {midway} of them midway; a whole sweep takes about {whole:?}");

    world.run(&["sweep"]).ends(0);
    assert_eq!(world.survivors().await, living());
}

#[tokio::test]
async fn sqlite_with_a_log() {
    survives_kills(crowd(Engine::Sqlite, "PRAGMA journal_mode = wal", 10).await).await;
}

#[tokio::test]
async fn sqlite_with_a_rollback_journal() {
    survives_kills(crowd(Engine::Sqlite, "PRAGMA journal_mode = delete", 200).await).await;
}

#[tokio::test]
async fn postgres() {
    survives_kills(crowd(Engine::Postgres, "", 20).await).await;
}

#[tokio::test]
async fn mariadb() {
    survives_kills(crowd(Engine::MariaDb, "DO 1", 20).await).await;
}
