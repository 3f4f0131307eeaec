//! Statements and locks that take longer than the sweep waits. Pages that are too slow are made smaller, and a table that
//! somebody has to himself fails its policy alone.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bygone_core::{Event, Observer, Outcome};
use bygone_sql::{Deadline, Engine, SourceOptions};

use super::{Behind, Scene, job, sweep_all, sweep_one};
use crate::world::{World, on_each_engine, policy};

const DUE: u64 = 100;

/// How large the pages were that failed, and those that did not.
#[derive(Default)]
struct Sizes(Mutex<(Vec<u64>, Vec<u64>)>);

impl Observer for Sizes {
    fn on(&self, event: &Event<'_>) {
        let mut sizes = self.0.lock().unwrap();
        match event {
            Event::PageFailed { limit, .. } => sizes.0.push(*limit),
            Event::PageSwept { page, .. } => sizes.1.push(page.examined),
            _ => {}
        }
    }
}

on_each_engine!(a_page_that_takes_too_long_is_made_smaller);

/// Each row takes a while, none of them long.
async fn a_page_that_takes_too_long_is_made_smaller(engine: Engine) {
    let scene = Scene::of(World::fresh(engine).await, DUE).await;
    let trigger = match engine {
        Engine::Sqlite => {
            "CREATE TABLE slow (n INT); CREATE TRIGGER sleeps BEFORE DELETE ON items BEGIN \
             INSERT INTO slow SELECT count(*) FROM (WITH RECURSIVE r (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM r) \
             SELECT n FROM r LIMIT 60000); END"
        }
        Engine::Postgres => {
            "CREATE FUNCTION sleeps() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             PERFORM pg_sleep(0.008); RETURN OLD; END $$; \
             CREATE TRIGGER sleeps BEFORE DELETE ON items FOR EACH ROW EXECUTE FUNCTION sleeps()"
        }
        Engine::MySql => "CREATE TRIGGER sleeps BEFORE DELETE ON items FOR EACH ROW BEGIN DO SLEEP(0.008); END",
    };
    scene.world.client().await.run(trigger).await;
    let options = SourceOptions { statement_timeout: Some(Duration::from_millis(400)), ..scene.world.options() };
    let sizes = Arc::<Sizes>::default();
    let watching = Arc::clone(&sizes);
    let report = sweep_one(job(options, &Scene::policy(), DUE).await, watching).await;
    assert_eq!((report.outcome, &report.error), (Outcome::Complete, &None), "{report:?}");
    assert_eq!((report.tally.examined, report.tally.removed), (DUE, DUE), "no row is to blame: {report:?}");
    assert_eq!(scene.look().await, 0);
    let (failed, swept) = &*sizes.0.lock().unwrap();
    assert_eq!(failed.first(), Some(&DUE), "{failed:?}");
    assert!(swept.iter().all(|rows| *rows < DUE) && swept.iter().sum::<u64>() == DUE, "{swept:?}");
}

/// Nobody else gets to the table, however few rows he wants of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_somebody_has_to_himself_fails_its_policy_alone() {
    for (engine, take, give_back) in [
        (Engine::Postgres, "BEGIN; LOCK TABLE items", "ROLLBACK"),
        (Engine::MySql, "LOCK TABLES items WRITE", "UNLOCK TABLES"),
    ] {
        let scene = Scene::of(World::fresh(engine).await, DUE).await;
        let mut client = scene.world.client().await;
        client.run("CREATE TABLE others (id INT PRIMARY KEY, deadline TIMESTAMP NULL)").await;
        client.run("INSERT INTO others VALUES (1, '2020-01-01 00:00:00'), (2, '2030-01-01 00:00:00')").await;
        let others = policy("others", Deadline::column("deadline"));
        let options = SourceOptions { lock_timeout: Some(Duration::from_millis(50)), ..scene.world.options() };
        let jobs = vec![job(options.clone(), &Scene::policy(), 4).await, job(options, &others, 4).await];
        let client = Arc::new(tokio::sync::Mutex::new(client));
        let taker = Arc::clone(&client);
        let taking = Behind::page(2, async move || {
            taker.lock().await.run(take).await;
        });
        let report = sweep_all(jobs, taking).await;
        let mut client = client.lock().await;
        client.run(give_back).await;
        let [items, others] = report.policies.as_slice() else { panic!("{report:?}") };
        assert_eq!((items.outcome, items.pages, items.tally.removed), (Outcome::Failed, 2, 8), "{engine}: {items:?}");
        assert_eq!(items.tally.kept_back.total(), 0, "{engine}: no row is to blame: {items:?}");
        assert_eq!((others.outcome, others.tally.removed), (Outcome::Complete, 1), "{engine}: {others:?}");
        assert_eq!(client.texts("SELECT id FROM others").await, ["2"]);
        assert_eq!(scene.look().await, DUE - 8, "{engine}");
        scene.finish(DUE - 8).await;
    }
}
