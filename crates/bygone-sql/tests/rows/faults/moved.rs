//! Tables that are dropped, retyped or parted anew in the middle of a sweep.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bygone_core::{Outcome, Report, Target as _};
use bygone_sql::{Deadline, Engine, RowPolicy, RowTarget, SourceOptions};
use bygone_testkit::Client;
use tokio::sync::Mutex;

use super::{Behind, LIVING, LIVING_FROM, Scene, job_over, sweep_all};
use crate::world::{World, boundary, on_each_engine, open, policy};

const DUE: u64 = 100;
const PAGE: u64 = 4;

async fn scene(engine: Engine) -> (Scene, Client) {
    let scene = Scene::of(World::fresh(engine).await, DUE).await;
    let mut client = scene.world.client().await;
    client.run("CREATE TABLE others (id INT PRIMARY KEY, deadline TIMESTAMP NULL)").await;
    client.run("INSERT INTO others VALUES (1, '2020-01-01 00:00:00'), (2, '2030-01-01 00:00:00')").await;
    (scene, client)
}

/// Sweeps both tables over one connection, and does something to the first behind a page of it. How many rows were due
/// just then, and the report.
async fn sweep_while(scene: &Scene, client: Client, page: u64, sql: &'static str) -> (i64, Report) {
    let source = scene.world.source().await;
    let mut jobs = Vec::new();
    for policy in [Scene::policy(), policy("others", Deadline::column("deadline"))] {
        jobs.push(job_over(RowTarget::bind(&source, &policy).await.unwrap(), PAGE));
    }
    let (client, left) = (Mutex::new(client), Arc::new(AtomicI64::new(-1)));
    let counted = Arc::clone(&left);
    let act = Behind::page(page, async move || {
        let mut client = client.lock().await;
        counted.store(
            client.number(&format!("SELECT count(*) FROM items WHERE id < {LIVING_FROM}")).await,
            Ordering::SeqCst,
        );
        client.run(sql).await;
    });
    let report = sweep_all(jobs, act).await;
    (left.load(Ordering::SeqCst), report)
}

async fn assert_the_others_went_on(scene: &Scene, report: &Report) {
    let others = &report.policies[1];
    assert_eq!((others.outcome, others.tally.removed), (Outcome::Complete, 1), "{others:?}");
    assert_eq!(scene.world.client().await.texts("SELECT id FROM others").await, ["2"]);
}

on_each_engine!(a_table_that_is_dropped_fails_its_policy_alone);

async fn a_table_that_is_dropped_fails_its_policy_alone(engine: Engine) {
    let (scene, client) = scene(engine).await;
    let (left, report) = sweep_while(&scene, client, 3, "DROP TABLE items").await;
    let items = &report.policies[0];
    assert_eq!((items.outcome, items.pages), (Outcome::Failed, 3), "{items:?}");
    assert!(items.error.is_some() && items.help.is_some(), "{items:?}");
    assert_eq!(i64::try_from(DUE - items.tally.removed).unwrap(), left, "what went before: {items:?}");
    assert_eq!(items.tally.kept_back.total(), 0, "{items:?}");
    assert_the_others_went_on(&scene, &report).await;
}

/// Whether the database can still compare or not: nothing that lives goes, and the policy ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_column_that_is_retyped_ends_its_policy_alone() {
    for (engine, sql) in [
        (Engine::Postgres, "ALTER TABLE items ALTER deadline TYPE text"),
        (Engine::Postgres, "ALTER TABLE items ALTER deadline TYPE timestamp USING deadline AT TIME ZONE 'UTC'"),
        (Engine::Postgres, "ALTER TABLE items ALTER deadline TYPE bigint USING extract(epoch FROM deadline) * 1000"),
        (Engine::MySql, "ALTER TABLE items MODIFY deadline VARCHAR(40)"),
        (Engine::MySql, "ALTER TABLE items MODIFY deadline BIGINT"),
    ] {
        let (scene, client) = scene(engine).await;
        let (_, report) = sweep_while(&scene, client, 3, sql).await;
        let items = &report.policies[0];
        assert_eq!(items.outcome, Outcome::Failed, "{sql}: {items:?}");
        let mut client = scene.world.client().await;
        let left =
            client.number(&format!("SELECT count(*) FROM items WHERE id < {LIVING_FROM} AND note = 'due'")).await;
        assert_eq!(i64::try_from(DUE - items.tally.removed).unwrap(), left, "{sql}: {items:?}");
        assert!(items.pages <= 3 + 16, "{sql}: somebody looks at the table every 16 pages: {items:?}");
        let living = format!("SELECT count(*) FROM items WHERE id >= {LIVING_FROM} AND note = 'living'");
        assert_eq!(u64::try_from(client.number(&living).await).unwrap(), LIVING, "{sql}");
        assert_the_others_went_on(&scene, &report).await;
    }
}

/// A table parted by time: ten rows of each day from the 1st to the 4th of November, in two partitions, and some that live.
async fn parted() -> World {
    World::with(
        Engine::Postgres,
        "CREATE TABLE items (id int, deadline timestamptz NOT NULL, PRIMARY KEY (id, deadline)) \
         PARTITION BY RANGE (deadline); CREATE INDEX by_deadline ON items (deadline); \
         CREATE TABLE first PARTITION OF items FOR VALUES FROM ('2026-11-01Z') TO ('2026-11-03Z'); \
         CREATE TABLE second PARTITION OF items FOR VALUES FROM ('2026-11-03Z') TO ('2026-11-05Z'); \
         CREATE TABLE rest PARTITION OF items FOR VALUES FROM ('2026-11-16Z') TO (MAXVALUE); \
         INSERT INTO items SELECT n, timestamptz '2026-11-01Z' + n * interval '144 minutes' FROM generate_series(0, 39) n; \
         INSERT INTO items SELECT n, '2027-01-01Z' FROM generate_series(100, 119) n",
    )
    .await
}

/// What was detached belongs to the table no longer; what was attached does from then on.
#[tokio::test(flavor = "multi_thread")]
async fn partitions_that_come_and_go_between_pages() {
    let world = parted().await;
    let mut client = world.client().await;
    // One that lies behind the sweep, and one that lies before it and holds both what is due and what lives.
    client
        .run(
            "CREATE TABLE early (id int NOT NULL, deadline timestamptz NOT NULL); \
             CREATE TABLE late (LIKE early); INSERT INTO early SELECT n, '2026-10-05Z' FROM generate_series(200, 209) n; \
             INSERT INTO late SELECT n, '2026-11-10Z' FROM generate_series(300, 309) n; \
             INSERT INTO late SELECT n, '2026-11-15 12:00Z' FROM generate_series(310, 319) n",
        )
        .await;
    // Row by row: with a condition of its own no partition is dropped as a whole.
    let by_deadline = policy("items", Deadline::column("deadline"));
    let by_rows = RowPolicy { name: "items".to_owned(), filter: Some("id >= 0".to_owned()), ..by_deadline };
    let target = world.bind(&by_rows).await.unwrap();
    let (client, act) = (
        Mutex::new(client),
        "ALTER TABLE items DETACH PARTITION second; \
         ALTER TABLE items ATTACH PARTITION early FOR VALUES FROM ('2026-10-01Z') TO ('2026-11-01Z'); \
         ALTER TABLE items ATTACH PARTITION late FOR VALUES FROM ('2026-11-05Z') TO ('2026-11-16Z')",
    );
    let act = Behind::page(2, async move || {
        client.lock().await.run(act).await;
    });
    let report = sweep_all(vec![job_over(target, PAGE)], act).await.policies.remove(0);
    assert_eq!((report.outcome, &report.error), (Outcome::Complete, &None), "{report:?}");

    let mut client = world.client().await;
    let second = client.texts("SELECT id FROM second ORDER BY id").await;
    assert_eq!(second, (20..40).map(|id| id.to_string()).collect::<Vec<_>>(), "what was detached is nobody's");
    let mut gone = 0;
    for (rows, due) in [(20, "id < 40"), (10, "id BETWEEN 200 AND 209"), (10, "id BETWEEN 300 AND 309")] {
        gone += rows - client.number(&format!("SELECT count(*) FROM items WHERE {due}")).await;
    }
    assert_eq!(i64::try_from(report.tally.removed).unwrap(), gone, "{report:?}");
    let again = world.sweep(&by_rows).await;
    assert_eq!(
        (again.outcome, i64::try_from(again.tally.removed).unwrap()),
        (Outcome::Complete, 40 - gone),
        "{again:?}"
    );
    let living: Vec<String> = (100..120).chain(310..320).map(|id| id.to_string()).collect();
    assert_eq!(client.texts("SELECT id FROM items ORDER BY id").await, living);
    assert_eq!(client.texts("SELECT id FROM second ORDER BY id").await, second);
}

/// A target that has found a partition past, and waits for whoever holds the table before it drops it.
async fn while_it_waits(world: &World, waits: &str, hold: &str, change: &str) {
    let options = SourceOptions { lock_timeout: Some(Duration::from_secs(30)), ..world.options() };
    let by_deadline = policy("items", Deadline::column("deadline"));
    let mut target = RowTarget::bind(&open(options).await, &by_deadline).await.unwrap();
    target.survey(boundary()).await.unwrap();
    let mut holder = world.client().await;
    holder.run(hold).await;
    let dropping = tokio::spawn(async move { target.whole(boundary(), u64::MAX).await });
    world.client().await.until(waits).await;
    holder.run(change).await;
    let dropped = dropping.await.unwrap().unwrap();
    assert!(dropped.is_none_or(|page| page.tally.removed == 20), "only the other partition may be past");
}

/// Who detaches a partition means to keep it, and may put into it what he likes.
#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_is_detached_before_it_is_dropped_stays() {
    for (more, last) in [("", None), ("; INSERT INTO first VALUES (400, '2027-01-01Z')", Some(400))] {
        let world = parted().await;
        let waits =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let detach = format!("BEGIN; ALTER TABLE items DETACH PARTITION first{more}");
        while_it_waits(&world, waits, &detach, "COMMIT").await;
        let mut client = world.client().await;
        let kept: Vec<String> = (0..20).chain(last).map(|id| id.to_string()).collect();
        assert_eq!(client.texts("SELECT id FROM first ORDER BY id").await, kept);
        world.sweep(&policy("items", Deadline::column("deadline"))).await;
        assert_eq!(client.texts("SELECT id FROM first ORDER BY id").await, kept);
        assert_eq!(client.number("SELECT count(*) FROM items").await, 20, "what lives");
    }
}

/// Who detached it concurrently and was interrupted has begun to, while it is still there.
#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_is_half_detached_is_not_dropped() {
    let world = parted().await;
    let mut client = world.client().await;
    // The second step waits for everybody who may still see the partition.
    let mut reader = world.client().await;
    reader.run("BEGIN ISOLATION LEVEL REPEATABLE READ").await;
    reader.number("SELECT count(*) FROM items").await;
    let mut detacher = world.client().await;
    let detach = "ALTER TABLE items DETACH PARTITION first CONCURRENTLY";
    let detaching = tokio::spawn(async move { detacher.try_run(detach).await });
    client.until("SELECT count(*) FROM pg_inherits WHERE inhdetachpending").await;
    client.rows(&format!("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query = '{detach}'")).await;
    assert!(detaching.await.unwrap().is_err(), "it was interrupted");
    reader.run("COMMIT").await;
    let report = world.sweep(&policy("items", Deadline::column("deadline"))).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 20), "{report:?}");
    client.run("ALTER TABLE items DETACH PARTITION first FINALIZE").await;
    assert_eq!(client.number("SELECT count(*) FROM first").await, 20);
}

/// A partition keeps its name and is given rows that live.
#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_is_given_another_range_before_it_is_dropped_stays() {
    let world = World::with(
        Engine::MySql,
        "CREATE TABLE items (id INT, deadline DATETIME NOT NULL, PRIMARY KEY (id, deadline)) PARTITION BY RANGE COLUMNS (deadline) \
         (PARTITION first VALUES LESS THAN ('2026-11-03'), PARTITION second VALUES LESS THAN ('2027-01-01'), \
         PARTITION rest VALUES LESS THAN (MAXVALUE)); \
         INSERT INTO items SELECT seq, '2026-11-01' FROM seq_1_to_20; \
         INSERT INTO items SELECT seq, '2026-12-01' FROM seq_21_to_40",
    )
    .await;
    let waits =
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND STATE LIKE 'Waiting for table%'";
    let merge = "ALTER TABLE items REORGANIZE PARTITION first, second INTO (PARTITION first VALUES LESS THAN ('2027-01-01')); \
                 UNLOCK TABLES";
    while_it_waits(&world, waits, "LOCK TABLES items WRITE", merge).await;
    let mut client = world.client().await;
    assert_eq!(client.number("SELECT COUNT(*) FROM items").await, 40, "nothing went with its partition");
    let report = world.sweep(&policy("items", Deadline::column("deadline"))).await;
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 20), "{report:?}");
    assert_eq!(client.number("SELECT COUNT(*) FROM items WHERE id > 20").await, 20, "what lives");
}
