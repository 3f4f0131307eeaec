//! Rows that cannot go: each is kept back as a conflict, and its neighbours go.

use std::time::Duration;

use bygone_core::{Budget, Outcome};
use bygone_sql::{Deadline, Engine, RowTarget, SourceOptions};

use crate::world::{World, on_each_engine, open, policy, sweep};

const CREATE: &str = "CREATE TABLE items (id INT NOT NULL PRIMARY KEY, deadline TIMESTAMP NULL); \
                      CREATE INDEX by_deadline ON items (deadline)";

/// A table `items` of a hundred rows that are due, in no order, and two that are not.
async fn items(engine: Engine) -> World {
    let world = World::with(engine, CREATE).await;
    let mut client = world.client().await;
    for id in 0..100 {
        let minute = (id * 37) % 100;
        client
            .run(&format!("INSERT INTO items VALUES ({id}, '2020-01-01 0{}:{:02}:00')", minute / 60, minute % 60))
            .await;
    }
    client.run("INSERT INTO items VALUES (100, '2030-01-01 00:00:00'), (101, NULL)").await;
    world
}

/// Sweeps the table: all goes that is due, but for these.
async fn keeps_back(world: &World, options: SourceOptions, stuck: &[u32]) {
    for page_items_max in [100_000, 7] {
        let by_deadline = policy("items", Deadline::column("deadline"));
        let target = RowTarget::bind(&open(options.clone()).await, &by_deadline).await.unwrap();
        let report = sweep(target, Budget { page_items_max, ..Budget::default() }).await;
        assert_eq!((report.outcome, &report.error), (Outcome::Complete, &None), "{report:?}");
        assert_eq!(report.tally.kept_back.conflict, stuck.len() as u64, "{report:?}");
        let mut expected: Vec<String> = stuck.iter().map(u32::to_string).collect();
        expected.extend(["100".to_owned(), "101".to_owned()]);
        assert_eq!(world.client().await.texts("SELECT id FROM items ORDER BY id").await, expected, "{report:?}");
        assert!(report.lag_seconds > 0, "they are what lags: {report:?}");
    }
}

async fn points_at(world: &World, reference: &str, stuck: &[u32]) {
    let mut client = world.client().await;
    client
        .run(&format!("CREATE TABLE pointers (item INT NOT NULL, FOREIGN KEY (item) REFERENCES items (id){reference})"))
        .await;
    for id in stuck {
        client.run(&format!("INSERT INTO pointers VALUES ({id})")).await;
    }
}

on_each_engine!(rows_that_others_point_at, a_row_that_takes_too_long);

async fn rows_that_others_point_at(engine: Engine) {
    let world = items(engine).await;
    points_at(&world, "", &[3, 4, 50, 99]).await;
    keeps_back(&world, world.options(), &[3, 4, 50, 99]).await;
    let pointers = world.client().await.number("SELECT count(*) FROM pointers").await;
    assert_eq!(pointers, 4);
}

/// The violation shows only when the page is committed.
#[tokio::test(flavor = "multi_thread")]
async fn rows_that_others_point_at_seen_at_commit() {
    for engine in [Engine::Postgres, Engine::Sqlite] {
        let world = items(engine).await;
        points_at(&world, " DEFERRABLE INITIALLY DEFERRED", &[3, 4, 50, 99]).await;
        keeps_back(&world, world.options(), &[3, 4, 50, 99]).await;
    }
}

async fn a_row_that_takes_too_long(engine: Engine) {
    let world = items(engine).await;
    let trigger = match engine {
        Engine::Sqlite => {
            "CREATE TABLE slow (n INT); CREATE TRIGGER sleeps BEFORE DELETE ON items WHEN OLD.id = 42 BEGIN \
             INSERT INTO slow SELECT count(*) FROM (WITH RECURSIVE r(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM r) \
             SELECT n FROM r LIMIT 2000000000); END"
        }
        Engine::Postgres => {
            "CREATE FUNCTION sleeps() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             IF OLD.id = 42 THEN PERFORM pg_sleep(60); END IF; RETURN OLD; END $$; \
             CREATE TRIGGER sleeps BEFORE DELETE ON items FOR EACH ROW EXECUTE FUNCTION sleeps()"
        }
        Engine::MySql => {
            "CREATE TRIGGER sleeps BEFORE DELETE ON items FOR EACH ROW \
             BEGIN IF OLD.id = 42 THEN DO SLEEP(60); END IF; END"
        }
    };
    world.client().await.run(trigger).await;
    let statement_timeout = Some(Duration::from_millis(200));
    keeps_back(&world, SourceOptions { statement_timeout, ..world.options() }, &[42]).await;
}
