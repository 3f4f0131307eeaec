//! Deadlocks with a writer who takes the same rows in the other order: whichever of the two is undone, nothing is lost,
//! and rows that stay in the way are counted.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bygone_core::{Event, Observer, Outcome, PolicyReport};
use bygone_sql::{Engine, SourceOptions};
use bygone_testkit::Client;

use super::{LATER, Scene, job, sweep_one};
use crate::world::World;

const DUE: u64 = 100;
const SERVERS: [Engine; 2] = [Engine::Postgres, Engine::MySql];
/// The writer takes the row that a sweep comes to last, and then one that it has taken long before.
const LAST: u64 = 90;
const FIRST: u64 = 10;

/// What pages failed of.
#[derive(Default)]
struct Failures(Mutex<Vec<String>>);

impl Observer for Failures {
    fn on(&self, event: &Event<'_>) {
        if let Event::PageFailed { error, .. } = event {
            self.0.lock().unwrap().push(error.to_string());
        }
    }
}

struct Crossing {
    scene: Scene,
    writer: Client,
    failures: Arc<Failures>,
}

impl Crossing {
    async fn of(engine: Engine) -> Self {
        let scene = Scene::of(World::fresh(engine).await, DUE).await;
        let mut writer = scene.world.client().await;
        writer.run("CREATE TABLE ballast (n INT)").await;
        Self { scene, writer, failures: Arc::default() }
    }

    /// Whoever looks first finds the deadlock and is undone (PostgreSQL), or whoever has done less (MariaDB).
    async fn prefer(&mut self, writer_is_undone: bool) {
        match (self.scene.world.engine(), writer_is_undone) {
            (Engine::Postgres, true) => drop(self.writer.run("SET deadlock_timeout = '10ms'").await),
            (Engine::Postgres, false) => drop(self.writer.run("SET deadlock_timeout = '1h'").await),
            (_, true) => {}
            (_, false) => drop(self.writer.run("INSERT INTO ballast SELECT seq FROM seq_1_to_5000").await),
        }
    }

    fn extend(id: u64) -> String {
        format!("UPDATE items SET deadline = '{LATER}', note = 'extended' WHERE id = {id}")
    }

    /// Takes one row, waits until the sweep waits for it, and takes the other. What came of the second.
    async fn cross(&mut self, writer_is_undone: bool) -> (tokio::task::JoinHandle<PolicyReport>, bool) {
        self.writer.run("BEGIN").await;
        self.prefer(writer_is_undone).await;
        self.writer.run(&Self::extend(LAST)).await;
        let options = SourceOptions { lock_timeout: Some(Duration::from_secs(3)), ..self.scene.world.options() };
        let job = job(options, &Scene::policy(), DUE).await;
        let failures = Arc::clone(&self.failures);
        let sweeping = tokio::spawn(sweep_one(job, failures));
        let waits = match self.scene.world.engine() {
            Engine::MySql => {
                "SELECT COUNT(*) FROM information_schema.INNODB_TRX t JOIN information_schema.PROCESSLIST p \
                 ON p.ID = t.trx_mysql_thread_id WHERE p.DB = DATABASE() AND t.trx_state = 'LOCK WAIT'"
            }
            _ => {
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            }
        };
        self.scene.world.client().await.until(waits).await;
        let taken = self.writer.try_run(&Self::extend(FIRST)).await.is_ok();
        (sweeping, taken)
    }

    fn assert_deadlock(&self) {
        let failures = self.failures.0.lock().unwrap();
        assert!(failures.iter().any(|why| why.to_lowercase().contains("deadlock")), "{failures:?}");
    }

    fn writes_down(&mut self) {
        for id in [FIRST, LAST] {
            self.scene.alive.insert(id, "extended".to_owned());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_a_deadlock_undid_is_done_again() {
    for engine in SERVERS {
        let mut crossing = Crossing::of(engine).await;
        let (sweeping, taken) = crossing.cross(false).await;
        assert!(taken, "{engine}: the sweep is undone");
        crossing.writer.run("COMMIT").await;
        let report = sweeping.await.unwrap();
        crossing.assert_deadlock();
        crossing.writes_down();
        assert_eq!((report.outcome, &report.error), (Outcome::Complete, &None), "{engine}: {report:?}");
        assert_eq!((report.tally.examined, report.tally.removed), (DUE - 2, DUE - 2), "{engine}: {report:?}");
        assert_eq!(crossing.scene.look().await, 0, "{engine}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_stay_in_the_way_after_a_deadlock_are_counted() {
    for engine in SERVERS {
        let mut crossing = Crossing::of(engine).await;
        let (sweeping, taken) = crossing.cross(false).await;
        assert!(taken, "{engine}: the sweep is undone");
        let report = sweeping.await.unwrap();
        crossing.assert_deadlock();
        assert_eq!((report.outcome, &report.error), (Outcome::Complete, &None), "{engine}: {report:?}");
        assert_eq!((report.tally.removed, report.tally.kept_back.locked), (DUE - 2, 2), "{engine}: {report:?}");
        assert_eq!(report.tally.kept_back.total(), 2, "{engine}: {report:?}");
        crossing.writer.run("ROLLBACK").await;
        crossing.scene.finish(2).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_goes_on_where_the_writer_is_undone() {
    for engine in SERVERS {
        let mut crossing = Crossing::of(engine).await;
        let (sweeping, taken) = crossing.cross(true).await;
        assert!(!taken, "{engine}: the writer is undone");
        crossing.writer.run("ROLLBACK").await;
        let report = sweeping.await.unwrap();
        assert_eq!((report.outcome, &report.error), (Outcome::Complete, &None), "{engine}: {report:?}");
        assert_eq!((report.tally.removed, report.pages), (DUE, 1), "{engine}: {report:?}");
        assert_eq!(crossing.scene.look().await, 0, "{engine}");
    }
}
