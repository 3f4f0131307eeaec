//! Connections that are cut.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Budget, Consent, ErrorKind, Event, Job, Observer, Outcome, PolicyReport, Sweep, SystemClock};
use bygone_sql::{Deadline, Engine, RowTarget, SourceOptions};
use bygone_testkit::Client;
use tokio::sync::Mutex;

use crate::world::{World, boundary, open, policy, sweep};

const SERVERS: [Engine; 2] = [Engine::Postgres, Engine::MySql];

/// A table `items` of a hundred rows that are due and two that are not.
async fn items(engine: Engine) -> World {
    let create = "CREATE TABLE items (id INT PRIMARY KEY, deadline TIMESTAMP NULL); \
                  CREATE INDEX by_deadline ON items (deadline)";
    let world = World::with(engine, create).await;
    let mut client = world.client().await;
    for id in 0..100 {
        client.run(&format!("INSERT INTO items VALUES ({id}, '2020-01-01 00:{:02}:{:02}')", id / 60, id % 60)).await;
    }
    client.run("INSERT INTO items VALUES (100, '2030-01-01 00:00:00'), (101, NULL)").await;
    world
}

async fn left(world: &World) -> Vec<String> {
    world.client().await.texts("SELECT id FROM items ORDER BY id").await
}

/// Cuts every connection to the database but the one it has itself.
async fn cut_all_others(client: &mut Client) {
    match client {
        Client::Postgres(_) => {
            let others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
            client.rows(&format!("SELECT pg_terminate_backend(pid) {others}")).await;
            client.until(&format!("SELECT (count(*) = 0)::int {others}")).await;
        }
        Client::MariaDb(_) => {
            let others = "FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND ID <> CONNECTION_ID()";
            for id in client.texts(&format!("SELECT ID {others}")).await {
                client.run(&format!("KILL {id}")).await;
            }
            client.until(&format!("SELECT COUNT(*) = 0 {others}")).await;
        }
        Client::Sqlite(_) => unreachable!("SQLite has no connections to cut"),
    }
}

/// Cuts the connection after every page.
struct Cutter {
    client: Mutex<Client>,
    runtime: tokio::runtime::Handle,
}

impl Observer for Cutter {
    fn on(&self, event: &Event<'_>) {
        if matches!(event, Event::PageSwept { .. }) {
            tokio::task::block_in_place(|| {
                self.runtime.block_on(async { cut_all_others(&mut *self.client.lock().await).await });
            });
        }
    }
}

async fn sweep_observed(target: RowTarget, observer: Arc<dyn Observer>) -> PolicyReport {
    let budget = Budget { page_items_max: 20, ..Budget::default() };
    let job = Job::new(Box::new(target), budget).with_consent(Consent::Released);
    let sweep = Sweep::new(Arc::new(SystemClock::new()), boundary()).observed_by(observer);
    sweep.run(vec![job]).await.policies.remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_cut_after_every_page_is_made_again() {
    for engine in SERVERS {
        let world = items(engine).await;
        let target = world.bind(&policy("items", Deadline::column("deadline"))).await.unwrap();
        let cutter = Cutter { client: Mutex::new(world.client().await), runtime: tokio::runtime::Handle::current() };
        let report = sweep_observed(target, Arc::new(cutter)).await;
        assert_eq!((report.outcome, report.error.as_deref()), (Outcome::Complete, None), "{engine}: {report:?}");
        assert_eq!(report.tally.removed, 100, "{engine}: {report:?}");
        assert_eq!(left(&world).await, ["100", "101"]);
    }
}

/// Whoever removes row 50 waits until a lock is free that the test holds.
const GATE: [(Engine, &str, &str, &str); 2] = [
    (
        Engine::Postgres,
        "CREATE FUNCTION waits() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         IF OLD.id = 50 THEN PERFORM pg_advisory_xact_lock(1); END IF; RETURN OLD; END $$; \
         CREATE TRIGGER waits BEFORE DELETE ON items FOR EACH ROW EXECUTE FUNCTION waits()",
        "SELECT pg_advisory_lock(1)",
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    ),
    (
        Engine::MySql,
        "CREATE TRIGGER waits BEFORE DELETE ON items FOR EACH ROW \
         BEGIN IF OLD.id = 50 THEN DO GET_LOCK(CONCAT(DATABASE(), ' gate'), 60); END IF; END",
        "SELECT GET_LOCK(CONCAT(DATABASE(), ' gate'), 60)",
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND STATE = 'User lock'",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_cut_in_the_middle_of_a_page_undoes_the_page_and_it_is_done_again() {
    for (engine, trigger, lock, waits) in GATE {
        let world = items(engine).await;
        let mut client = world.client().await;
        client.run(trigger).await;
        client.rows(lock).await;
        let options = SourceOptions { lock_timeout: Some(Duration::from_secs(60)), ..world.options() };
        let target =
            RowTarget::bind(&open(options).await, &policy("items", Deadline::column("deadline"))).await.unwrap();
        let sweeping = tokio::spawn(sweep(target, Budget { page_items_max: 20, ..Budget::default() }));
        client.until(waits).await;
        cut_all_others(&mut client).await;
        drop(client);
        let report = sweeping.await.unwrap();
        assert_eq!((report.outcome, report.tally.removed), (Outcome::Complete, 100), "{engine}: {report:?}");
        assert_eq!(left(&world).await, ["100", "101"]);
    }
}

/// Cuts the connection after the second page, and lets nobody in again.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_any_more_is_reported_with_what_was_done() {
    for engine in SERVERS {
        let world = items(engine).await;
        let (role, options) = world.make_role("SELECT, DELETE").await;
        let shut = match engine {
            Engine::MySql => format!("ALTER USER {role} ACCOUNT LOCK"),
            _ => format!("ALTER ROLE {role} NOLOGIN"),
        };
        let source = open(options).await;
        let target = RowTarget::bind(&source, &policy("items", Deadline::column("deadline"))).await.unwrap();
        let shutter = Shutter {
            pages: 0.into(),
            shut,
            cutter: Cutter { client: Mutex::new(world.client().await), runtime: tokio::runtime::Handle::current() },
        };
        let report = sweep_observed(target, Arc::new(shutter)).await;
        assert_eq!((report.outcome, report.error_kind), (Outcome::Failed, Some(ErrorKind::Unreachable)), "{report:?}");
        assert_eq!((report.pages, report.tally.removed), (2, 40), "{engine}: {report:?}");
        assert_eq!(left(&world).await.len(), 62, "{engine}: what it claims, and no more");
    }
}

struct Shutter {
    pages: std::sync::atomic::AtomicU32,
    shut: String,
    cutter: Cutter,
}

impl Observer for Shutter {
    fn on(&self, event: &Event<'_>) {
        let is_page = matches!(event, Event::PageSwept { .. });
        if is_page && self.pages.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 1 {
            let Cutter { client, runtime } = &self.cutter;
            tokio::task::block_in_place(|| {
                runtime.block_on(async { client.lock().await.run(&self.shut).await });
            });
            self.cutter.on(event);
        }
    }
}

/// SQLite: somebody writes for longer than the sweep waits. Nothing is wrong with any row.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_somebody_else_writes_to_is_left_alone() {
    let world = items(Engine::Sqlite).await;
    let options = SourceOptions { lock_timeout: Some(Duration::from_millis(1)), ..world.options() };
    let target = RowTarget::bind(&open(options).await, &policy("items", Deadline::column("deadline"))).await.unwrap();
    let mut writer = world.client().await;
    writer.run("BEGIN IMMEDIATE; UPDATE items SET deadline = '2030-01-01 00:00:00' WHERE id = 99").await;
    let report = sweep(target, Budget::default()).await;
    assert_eq!(report.tally.removed, 0, "{report:?}");
    writer.run("COMMIT").await;
    assert_eq!(report.outcome, Outcome::Failed, "{report:?}");
    assert_eq!(report.tally.kept_back.conflict, 0, "no row is to blame: {report:?}");
    assert_eq!(world.sweep(&policy("items", Deadline::column("deadline"))).await.tally.removed, 99);
    assert_eq!(left(&world).await, ["99", "100", "101"]);
}
