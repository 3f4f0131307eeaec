//! Who is beside a sweep that gives way.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Clock, ManualClock, Neighbours as _};
use bygone_sql::{DatabaseNeighbours, Engine, SourceUrl};
use bygone_testkit::wait::Wait;
use bygone_testkit::{AnyDatabase, MariaDb, Options, Postgres};
use jiff::Timestamp;

use super::work::{dismiss, make_a_rush, put_to_work};
use crate::world::World;

struct Watch {
    neighbours: Arc<DatabaseNeighbours>,
    clock: Arc<ManualClock>,
}

impl Watch {
    fn over(database: &AnyDatabase) -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH));
        let url = SourceUrl::parse(&database.url()).unwrap();
        Self { neighbours: DatabaseNeighbours::of(url, Arc::clone(&clock) as Arc<dyn Clock>).unwrap(), clock }
    }

    async fn after(&self, time: Duration) -> bool {
        self.clock.advance(time);
        self.neighbours.are_at_work().await
    }

    /// Asks until the answer is this one: a server tells of what happened a moment later.
    async fn until(&self, at_work: bool) {
        let mut wait = Wait::up_to(Duration::from_mins(1));
        while self.after(Duration::from_secs(2)).await != at_work {
            assert!(wait.again().await, "never: at work {at_work}");
        }
    }
}

async fn a_session_or_a_rush_is_work_and_silence_is_none(engine: Engine, database: AnyDatabase) {
    let watch = Watch::over(&database);
    assert!(watch.after(Duration::ZERO).await, "{engine:?}: a first look cannot tell");
    watch.until(false).await;
    let mut client = database.client().await;
    let working = put_to_work(engine, database.client().await, &mut client).await;
    assert!(!watch.after(Duration::from_millis(500)).await, "{engine:?}: remembered for a moment");
    watch.until(true).await;
    dismiss(engine, working, &mut client).await;
    watch.until(false).await;

    make_a_rush(engine, &mut client).await;
    assert!(watch.after(Duration::from_secs(2)).await, "{engine:?}: hundreds in a second");
    drop(client);
    watch.until(false).await;
}

/// Nobody else may be at work on the server.
#[tokio::test(flavor = "multi_thread")]
async fn neighbours_on_postgres() {
    let server = Postgres::start(Options::default()).await.unwrap();
    let database = AnyDatabase::Postgres(server.fresh_database().await);
    a_session_or_a_rush_is_work_and_silence_is_none(Engine::Postgres, database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn neighbours_on_mariadb() {
    let server = MariaDb::start(Options::default()).await.unwrap();
    let database = AnyDatabase::MariaDb(server.fresh_database().await);
    a_session_or_a_rush_is_work_and_silence_is_none(Engine::MySql, database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_cannot_be_asked_is_at_work() {
    let world = World::fresh(Engine::Postgres).await;
    let (_, options) = world.make_role("SELECT").await;
    let clock = Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH));
    let unprivileged = DatabaseNeighbours::of(options.url, Arc::clone(&clock) as Arc<dyn Clock>).unwrap();
    for look in 0..5 {
        clock.advance(Duration::from_secs(2));
        assert!(unprivileged.are_at_work().await, "look {look}");
    }
    let nobody = SourceUrl::parse("postgres://127.0.0.1:1/none").unwrap();
    assert!(DatabaseNeighbours::of(nobody, Arc::clone(&clock) as Arc<dyn Clock>).unwrap().are_at_work().await);
    let file = SourceUrl::parse("sqlite:rows.db").unwrap();
    assert!(DatabaseNeighbours::of(file, clock).is_none());
}
