//! One sweeper of a source at a time, by the database's own means.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Clock, Gate, ManualClock, Turn};
use bygone_sql::{Engine, SourceOptions, SourceTurn, SourceUrl};
use bygone_testkit::wait::Wait;
use jiff::Timestamp;

use crate::world::World;

const ENGINES: [Engine; 3] = [Engine::Postgres, Engine::MySql, Engine::Sqlite];

struct Sweepers {
    world: World,
    clock: Arc<ManualClock>,
}

impl Sweepers {
    async fn of(engine: Engine) -> Self {
        let world = World::with(engine, "CREATE TABLE items (id int)").await;
        Self { world, clock: Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH)) }
    }

    fn options(&self) -> SourceOptions {
        SourceOptions::new("s", SourceUrl::parse(&self.world.url()).unwrap())
    }

    async fn take(&self, options: &SourceOptions) -> Option<Arc<SourceTurn>> {
        SourceTurn::take(options, &(Arc::clone(&self.clock) as Arc<dyn Clock>)).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_one_sweepers_until_it_is_given_back() {
    for engine in ENGINES {
        let sweepers = Sweepers::of(engine).await;
        let options = sweepers.options();
        let turn = sweepers.take(&options).await.unwrap();
        assert!(sweepers.take(&options).await.is_none(), "{engine:?}");
        sweepers.clock.advance(Duration::from_secs(5));
        assert_eq!(turn.closed().await, None, "{engine:?}: it is asked for, and still there");
        turn.give_back().await;
        assert!(turn.closed().await.is_some(), "{engine:?}");
        let next = sweepers.take(&options).await;
        assert!(next.is_some(), "{engine:?}: at once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_schema_or_prefix_has_a_turn_of_its_own() {
    for engine in [Engine::Postgres, Engine::MySql] {
        let sweepers = Sweepers::of(engine).await;
        let options = sweepers.options();
        let prefixed = SourceOptions { table_prefix: Some("app_".into()), ..sweepers.options() };
        let turn = sweepers.take(&options).await;
        let other = sweepers.take(&prefixed).await;
        assert!(turn.is_some() && other.is_some(), "{engine:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_was_ended_has_lost_its_turn() {
    const OTHERS: &str = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    for engine in [Engine::Postgres, Engine::MySql] {
        let sweepers = Sweepers::of(engine).await;
        let options = sweepers.options();
        let turn = sweepers.take(&options).await.unwrap();
        let mut client = sweepers.world.client().await;
        if engine == Engine::MySql {
            let of_turn =
                "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()";
            let session = client.number(of_turn).await;
            client.run(&format!("KILL {session}")).await;
        } else {
            client.run(&format!("SELECT pg_terminate_backend(pid) {OTHERS}")).await;
        }
        sweepers.clock.advance(Duration::from_secs(5));
        let closed = turn.closed().await;
        assert_eq!(closed.unwrap().reason, "the turn to sweep was lost", "{engine:?}");
        // The server may still be clearing up behind the session that it ended.
        let mut patience = Wait::up_to(Duration::from_mins(1));
        while sweepers.take(&options).await.is_none() {
            assert!(patience.again().await, "{engine:?}: somebody else may have it");
        }
    }
}
