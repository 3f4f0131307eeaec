//! The sweeper in a host: when it starts, when it sweeps, what it tells, how it ends.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bygone_core::{Event, Observer};
use bygone_testkit::wait::Wait;
use bygone_testkit::{AnyDatabase, Kind, on_each_engine};
use bygone_tokens::{Sweeper, SweeperConfig, SweeperError, Tokens, TokensOptions};
use jiff::SignedDuration;

use crate::promises::use_every_store;
use crate::world::{World, almost, options};

on_each_engine!(
    each_table_is_swept_exactly_once_and_counted,
    the_first_sweep_comes_after_one_interval_and_the_next_after_another,
    of_several_hosts_one_sweeps_in_each_interval,
);

const INTERVAL: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);

/// Writes down what it is told.
#[derive(Default)]
struct Listener(Mutex<Vec<String>>);

impl Listener {
    fn told(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    async fn until(&self, count: usize) {
        let mut wait = Wait::up_to(Duration::from_secs(30));
        while self.told().len() < count {
            assert!(wait.again().await, "{:?}", self.told());
        }
    }
}

impl Observer for Listener {
    fn on(&self, event: &Event<'_>) {
        if let Event::SweepEnded { report } = event {
            let removed: u64 = report.policies.iter().map(|policy| policy.tally.removed).sum();
            self.0.lock().unwrap().push(format!("{} {removed}", report.outcome.as_str()));
        }
    }
}

fn config(listener: &Arc<Listener>) -> SweeperConfig {
    SweeperConfig { observer: listener.clone(), ..SweeperConfig::every(SignedDuration::try_from(INTERVAL).unwrap()) }
}

/// Waits until so many have gone to sleep by the clock.
async fn asleep(world: &World, sleeps: usize) {
    let mut wait = Wait::up_to(Duration::from_secs(30));
    while world.clock.sleeps() < sleeps {
        assert!(wait.again().await, "{} went to sleep", world.clock.sleeps());
    }
}

#[tokio::test]
async fn without_a_positive_interval_it_does_not_start() {
    let world = World::fresh(Kind::Sqlite).await;
    let start = |interval| Sweeper::start(&world.tokens, SweeperConfig { interval, ..SweeperConfig::default() });
    assert_eq!(start(None).unwrap_err(), SweeperError::IntervalMissing);
    for interval in [SignedDuration::ZERO, SignedDuration::from_secs(-5), SignedDuration::MIN] {
        assert_eq!(start(Some(interval)).unwrap_err(), SweeperError::IntervalNotPositive(interval));
    }
    let refused = start(Some(SignedDuration::from_secs(-5))).unwrap_err().to_string();
    assert_eq!(refused, "the sweeper's interval is 5s ago: it must be more than zero");
    assert!(start(Some(SignedDuration::from_nanos(1))).is_ok());
}

async fn each_table_is_swept_exactly_once_and_counted(kind: Kind) {
    let world = World::fresh(kind).await;
    for _ in 0..3 {
        use_every_store(&world.tokens).await;
    }
    world.pass(15 * DAY);
    use_every_store(&world.tokens).await;
    let swept = world.sweep().await;
    let tables: Vec<&str> = swept.report.policies.iter().map(|policy| policy.policy.as_str()).collect();
    assert_eq!(tables.len(), 10, "the tokens go with their families: {tables:?}");
    assert_eq!(swept.removed.len(), 11);
    for (table, rows) in &swept.removed {
        // These have one row for one name, which was put anew.
        let renewed = ["dpop_replays", "client_id_metadata", "logout_sessions"].contains(table);
        assert_eq!(*rows, if renewed { 0 } else { 3 }, "{table}");
        assert_eq!(world.rows(table).await, 1, "{table}");
    }
    assert_eq!(world.sweep().await.removed.values().sum::<u64>(), 0, "nothing is left to sweep");
}

async fn the_first_sweep_comes_after_one_interval_and_the_next_after_another(kind: Kind) {
    let world = World::fresh(kind).await;
    world.tokens.nonces().issue().await.unwrap();
    world.pass(DAY);
    let listener = Arc::new(Listener::default());
    let sweeper = Sweeper::start(&world.tokens, config(&listener)).unwrap();
    asleep(&world, 1).await;
    world.pass(almost(INTERVAL));
    assert_eq!(world.rows("dpop_nonces").await, 1);
    assert_eq!(listener.told(), [""; 0]);
    world.pass(Duration::from_micros(1));
    listener.until(1).await;
    assert_eq!(world.rows("dpop_nonces").await, 0);
    asleep(&world, 2).await;
    world.tokens.nonces().issue().await.unwrap();
    world.pass(DAY);
    listener.until(2).await;
    assert_eq!(listener.told(), ["complete 1", "complete 1"], "every sweep reports");
    asleep(&world, 3).await;
    sweeper.stop().await;
    world.pass(DAY);
    assert_eq!(listener.told().len(), 2, "it has ended");
}

/// However many ask at once: one sweep after another, each whole.
#[tokio::test(flavor = "multi_thread")]
async fn sweeps_do_not_overlap() {
    struct Overlap(Mutex<(i32, i32, i32)>);
    impl Observer for Overlap {
        fn on(&self, event: &Event<'_>) {
            let mut state = self.0.lock().unwrap();
            match event {
                Event::SweepStarted { .. } => state.0 += 1,
                Event::SweepEnded { .. } => {
                    state.0 -= 1;
                    state.2 += 1;
                }
                _ => {}
            }
            state.1 = state.1.max(state.0);
        }
    }
    let world = World::fresh(Kind::Sqlite).await;
    let overlap = Arc::new(Overlap(Mutex::default()));
    let config = SweeperConfig { observer: overlap.clone(), ..SweeperConfig::every(SignedDuration::from_secs(60)) };
    let sweeper = Sweeper::start(&world.tokens, config).unwrap();
    world.pass(INTERVAL);
    futures_util::future::join_all((0..16).map(|_| sweeper.sweep_now())).await;
    sweeper.stop().await;
    let (_, most, ended) = *overlap.0.lock().unwrap();
    assert_eq!(most, 1);
    assert!(ended >= 16, "{ended}");
}

async fn of_several_hosts_one_sweeps_in_each_interval(kind: Kind) {
    let world = World::fresh(kind).await;
    let listener = Arc::new(Listener::default());
    let hosts: Vec<Sweeper> = (0..4).map(|_| Sweeper::start(&world.tokens, config(&listener)).unwrap()).collect();
    for interval in 1..=3 {
        asleep(&world, 4 * interval).await;
        world.pass(INTERVAL);
        listener.until(interval).await;
        asleep(&world, 4 * (interval + 1)).await;
        assert_eq!(listener.told().len(), interval, "one of four");
    }
    for host in hosts {
        host.stop().await;
    }
}

#[tokio::test]
async fn a_host_that_drops_it_has_ended_it() {
    let world = World::fresh(Kind::Sqlite).await;
    let listener = Arc::new(Listener::default());
    let sweeper = Sweeper::start(&world.tokens, config(&listener)).unwrap();
    asleep(&world, 1).await;
    drop(sweeper);
    world.pass(DAY);
    tokio::task::yield_now().await;
    assert_eq!(listener.told(), [""; 0]);
    // The task lets go of what it held.
    let mut wait = Wait::up_to(Duration::from_secs(30));
    while Arc::strong_count(&listener) > 1 {
        assert!(wait.again().await, "the task has not ended");
    }
}

/// A database that is away fails the sweep and nothing else; the next one finds it again.
#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_without_its_database_fails_and_the_next_goes_on() {
    let mut server = bygone_testkit::Postgres::start(bygone_testkit::Options::default()).await.unwrap();
    let database = AnyDatabase::Postgres(server.fresh_database().await);
    let tokens = Tokens::open(options(&database)).await.unwrap();
    tokens.migrate().await.unwrap();
    let sweeper = Sweeper::start(&tokens, SweeperConfig::every(SignedDuration::from_hours(24))).unwrap();
    assert_eq!(sweeper.sweep_now().await.report.outcome.as_str(), "complete");
    server.kill();
    let swept = sweeper.sweep_now().await;
    assert_eq!(swept.report.outcome.as_str(), "failed");
    assert_eq!(swept.report.policies.len(), 10);
    assert!(swept.report.policies.iter().all(|policy| policy.error.is_some()), "{:#?}", swept.report);
    server.restart().await.unwrap();
    assert_eq!(sweeper.sweep_now().await.report.outcome.as_str(), "complete");
    sweeper.stop().await;
}

/// Wherever a host's clock stands, nothing is swept that the database's clock takes for living.
#[tokio::test]
async fn the_earlier_of_both_clocks_counts() {
    let database = AnyDatabase::fresh(Kind::Postgres).await;
    let today = Tokens::open(options(&database)).await.unwrap();
    today.migrate().await.unwrap();
    today.nonces().issue().await.unwrap();
    let ahead = Arc::new(bygone_testkit::StandingClock::at("2126-01-01T00:00:00Z".parse().unwrap()));
    let host = Tokens::open(TokensOptions { clock: ahead, ..options(&database) }).await.unwrap();
    let sweeper = Sweeper::start(&host, SweeperConfig::every(SignedDuration::from_hours(24))).unwrap();
    assert_eq!(sweeper.sweep_now().await.removed["dpop_nonces"], 0);
    assert_eq!(database.client().await.number("SELECT COUNT(*) FROM dpop_nonces").await, 1);
}
