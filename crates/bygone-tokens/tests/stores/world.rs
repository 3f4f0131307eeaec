//! The stores over a database of a test's own, at an instant of its choosing.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bygone_testkit::{AnyDatabase, Client, Kind, StandingClock};
use bygone_tokens::{Entropy, Lifetimes, Sweeper, SweeperConfig, Swept, TokenError, Tokens, TokensOptions};
use jiff::{SignedDuration, Timestamp};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

/// Chance that comes again with its seed.
#[derive(Debug)]
pub(crate) struct Seeded(Mutex<StdRng>);

impl Seeded {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }
}

impl Entropy for Seeded {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), TokenError> {
        self.0.lock().unwrap().fill_bytes(bytes);
        Ok(())
    }
}

/// When these tests begin: before the clocks of the servers, so that the sweeper's boundary is this clock's.
pub(crate) fn beginning() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

/// A moment: the least time there is.
pub(crate) const MOMENT: Duration = Duration::from_micros(1);

/// A moment less than that.
pub(crate) fn almost(time: Duration) -> Duration {
    time.checked_sub(MOMENT).unwrap()
}

/// Stores of a test's own.
pub(crate) struct World {
    pub(crate) database: AnyDatabase,
    pub(crate) clock: Arc<StandingClock>,
    pub(crate) tokens: Tokens,
}

impl World {
    /// With the usual lifetimes.
    pub(crate) async fn fresh(kind: Kind) -> Self {
        Self::with(kind, Lifetimes::default()).await
    }

    /// With other lifetimes.
    pub(crate) async fn with(kind: Kind, lifetimes: Lifetimes) -> Self {
        let database = AnyDatabase::fresh(kind).await;
        let clock = Arc::new(StandingClock::at(beginning()));
        let options = TokensOptions { lifetimes, clock: clock.clone(), connections_max: 8, ..options(&database) };
        let tokens = Tokens::open(options).await.unwrap();
        tokens.migrate().await.unwrap();
        Self { database, clock, tokens }
    }

    pub(crate) fn now(&self) -> Timestamp {
        bygone_core::Clock::now(&*self.clock)
    }

    /// Lets time pass.
    pub(crate) fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }

    /// Sweeps, as the host's sweeper would.
    pub(crate) async fn sweep(&self) -> Swept {
        let sweeper = Sweeper::start(&self.tokens, SweeperConfig::every(SignedDuration::from_hours(24))).unwrap();
        let swept = sweeper.sweep_now().await;
        sweeper.stop().await;
        assert_eq!(swept.report.outcome.as_str(), "complete", "{:#?}", swept.report);
        swept
    }

    /// Another user of the database.
    pub(crate) async fn client(&self) -> Client {
        self.database.client().await
    }

    /// How many rows a table has, whatever their deadlines.
    pub(crate) async fn rows(&self, table: &str) -> i64 {
        self.client().await.number(&format!("SELECT COUNT(*) FROM {table}")).await
    }
}

/// How a host reaches a database.
pub(crate) fn options(database: &AnyDatabase) -> TokensOptions {
    TokensOptions::new(&database.url()).unwrap()
}

/// How many contend in the races of a test, one after another: two, and many.
pub(crate) const RACES: [usize; 10] = [2, 2, 2, 2, 16, 16, 16, 16, 16, 16];

/// Runs the same at once, from many tasks, and gathers the outcomes.
pub(crate) async fn contend<T: Send + 'static, F>(contenders: usize, work: impl Fn(usize) -> F) -> Vec<T>
where
    F: Future<Output = T> + Send + 'static,
{
    let gate = Arc::new(tokio::sync::Barrier::new(contenders));
    let tasks: Vec<_> = (0..contenders)
        .map(|contender| {
            let (gate, work) = (gate.clone(), work(contender));
            tokio::spawn(async move {
                gate.wait().await;
                work.await
            })
        })
        .collect();
    let mut outcomes = Vec::new();
    for task in tasks {
        outcomes.push(task.await.unwrap());
    }
    outcomes
}
