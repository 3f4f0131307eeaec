//! PostgreSQL that crashes and is there again before the sweep has missed it, as behind a pooler. Pages that it had
//! answered are undone, and the sweep is past them: it must not claim them.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Observer, Outcome, PolicyReport};
use bygone_sql::{Source, SourceOptions, SourceUrl};
use bygone_testkit::wait::Wait;
use bygone_testkit::{AnyDatabase, Database, Options, Postgres, PostgresEngine, Wire};
use tokio::sync::Mutex;

use super::{Behind, Scene, job, sweep_one};
use crate::world::World;

const DUE: u64 = 500;
const PAGE: u64 = 50;

/// A server that leaves commits for which nobody waits in its memory for long.
async fn forgetful() -> (Postgres, Database<PostgresEngine>) {
    let options = Options::default().set("fsync", "off").set("wal_writer_delay", "10s");
    let server = Postgres::start(options).await.unwrap();
    let database = server.fresh_database().await;
    (server, database)
}

/// Sweeps by way of a pooler, and behind the fifth page restarts the server after it was ended like this.
async fn restarted(end: fn(&mut Postgres)) -> (u64, PolicyReport) {
    let (server, database) = forgetful().await;
    let wire = Wire::to(server.port()).await;
    let through = SourceUrl::parse(&database.url_through(wire.port())).unwrap();
    let scene = Scene::of(World(AnyDatabase::Postgres(database)), DUE).await;
    // Both are the observer's, which is kept until the end.
    let server = Mutex::new(server);
    let restart: Arc<dyn Observer> = Behind::page(5, async move || {
        wire.hold();
        let mut server = server.lock().await;
        end(&mut server);
        server.restart().await.unwrap();
        wire.release();
    });
    let job = job(SourceOptions::new("world", through), &Scene::policy(), PAGE).await;
    let report = sweep_one(job, Arc::clone(&restart)).await;
    let left = scene.look().await;
    assert!(report.pages >= DUE / PAGE, "the sweep went on: {report:?}");
    scene.finish(left).await;
    (left, report)
}

/// Crashes it until that undoes something: now and then the server writes its log in the moment before.
async fn is_told(crash: impl AsyncFn() -> (u64, PolicyReport)) {
    for _ in 0..3 {
        let (left, report) = crash().await;
        assert_told(&report, left);
        if left > 0 {
            return;
        }
    }
    panic!("no crash has undone anything: the test shows nothing");
}

fn assert_told(report: &PolicyReport, left: u64) {
    assert_eq!(report.outcome, Outcome::Failed, "{left} are there again: {report:?}");
    assert_eq!(report.error.as_deref(), Some("the server crashed while it was swept"), "{report:?}");
    assert!(report.warnings.iter().any(|warning| warning.contains("may be there again")), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_that_a_pooler_hides_is_told() {
    is_told(async || restarted(Postgres::kill).await).await;
}

/// A restart in good order undoes nothing, and is no reason to fail.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_that_a_pooler_hides_is_none_of_its_business() {
    let (left, report) = restarted(shut_down).await;
    assert_eq!((report.outcome, report.error, report.tally.removed), (Outcome::Complete, None, DUE));
    assert_eq!(left, 0);
}

/// The "fast" shutdown, which writes everything down.
fn shut_down(server: &mut Postgres) {
    let pid = server.process().pid.to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let mut wait = Wait::up_to(Duration::from_secs(30));
    while server.process().is_alive() {
        assert!(wait.again_blocking(), "it does not shut down");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_of_another_session_is_told() {
    is_told(another_session_dies).await;
}

/// One process of the server dies, and the server ends all others and recovers by itself.
async fn another_session_dies() -> (u64, PolicyReport) {
    let (_server, database) = forgetful().await;
    let scene = Scene::of(World(AnyDatabase::Postgres(database)), DUE).await;
    let options = scene.world.options();
    let job = job(options.clone(), &Scene::policy(), PAGE).await;
    let victim = Mutex::new(scene.world.client().await);
    let crash = Behind::page(5, async move || {
        // The shell's parent is the session itself.
        let dies = victim.lock().await.try_run("COPY (SELECT 1) TO PROGRAM 'kill -9 $PPID'").await;
        assert!(dies.is_err(), "nobody is left to answer");
        let mut wait = Wait::up_to(Duration::from_secs(30));
        while Source::open(options.clone()).await.is_err() {
            assert!(wait.again().await, "it does not recover");
        }
    });
    let report = sweep_one(job, crash).await;
    let left = scene.look().await;
    scene.finish(left).await;
    (left, report)
}

/// What a report claims without an error outlives the crash that follows it.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_reported_stays_gone() {
    let (mut server, database) = forgetful().await;
    let scene = Scene::of(World(AnyDatabase::Postgres(database)), DUE).await;
    let report = sweep_one(job(scene.world.options(), &Scene::policy(), PAGE).await, Arc::new(())).await;
    server.kill();
    assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, DUE), "{report:?}");
    server.restart().await.unwrap();
    assert_eq!(scene.look().await, 0);
}
