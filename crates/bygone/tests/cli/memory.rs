//! Memory does not grow with the backlog.

use std::time::Duration;

use bygone_testkit::wait::Wait;
use serde_json::json;

use crate::support::{Database, Engine, Running, World};

/// Rows that stay, in each of the databases.
const LIVING: u32 = 1_000;
/// What the larger sweep may take more than the smaller one.
const GROWTH_KIB_MAX: u64 = 20 * 1024;

/// A database with so many rows that ended in 2001 and some that live, made as fast as SQLite can.
async fn backlog(rows: u32) -> World {
    let world = World::empty(Engine::Sqlite).await;
    let Database::Sqlite(sqlite) = &world.database else { unreachable!("it is SQLite") };
    let connection = sqlite.connect();
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode = off; PRAGMA synchronous = off; BEGIN; \
             CREATE TABLE tokens (id INTEGER PRIMARY KEY, expires_at INTEGER); \
             WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {rows}) \
             INSERT INTO tokens SELECT n, 1000000000 + n FROM numbers; \
             WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {LIVING}) \
             INSERT INTO tokens SELECT {rows} + n, 7000000000 + n FROM numbers; \
             CREATE INDEX tokens_expires_at ON tokens (expires_at); COMMIT; PRAGMA journal_mode = wal"
        ))
        .unwrap();
    world.alter("\"expires_at\"", "{ epoch_s = \"expires_at\" }");
    world
}

/// Sweeps everything and returns the largest that the program has been.
async fn sweep(world: &World, rows: u32) -> u64 {
    let running = Running::start(&mut world.bygone(&["sweep", "--format", "json", "--release-brake", "tokens"]));
    let mut largest = 0;
    let mut wait = Wait::up_to(Duration::from_mins(9));
    while let Some(now) = running.high_water_kib() {
        largest = now;
        assert!(wait.again_blocking(), "{rows} rows are not swept within {:?}", wait.limit());
    }
    let run = running.end().ends(0);
    assert_eq!(run.only_policy()["removed"], json!(rows));
    let mut client = world.client().await;
    let left = client.texts("SELECT count(*) || ' from ' || min(id) FROM tokens").await;
    assert_eq!(left, [format!("{LIVING} from {}", rows + 1)]);
    largest
}

#[tokio::test]
async fn five_million_rows_take_no_more_than_fifty_thousand() {
    let few = sweep(&backlog(50_000).await, 50_000).await;
    let many = sweep(&backlog(5_000_000).await, 5_000_000).await;
    println!("{few} KiB for 50 thousand rows, {many} KiB for 5 million");
    assert!(many <= few + GROWTH_KIB_MAX, "{few} KiB for 50 thousand rows, {many} KiB for 5 million");
}
