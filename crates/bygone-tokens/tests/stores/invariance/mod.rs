//! Sweeping changes no decision: for random histories, every call has the same outcome with a sweep before each step and
//! with none at all.
//!
//! Two worlds with the same chance and the same clock live through the same histories, many at a time: each history takes
//! a step, then time passes for all. In one of the worlds everything is swept before every step.

mod history;
mod step;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bygone_testkit::{AnyDatabase, Kind, Sqlite, StandingClock};
use bygone_tokens::{Lifetimes, Sweeper, SweeperConfig, Tokens, TokensOptions};
use jiff::SignedDuration;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};

use self::history::History;
use self::step::Step;
use crate::world::{MOMENT, Seeded, beginning, options};

/// Histories that live at the same time.
const TOGETHER: u64 = 500;
const STEPS: usize = 14;

#[tokio::test(flavor = "multi_thread")]
async fn sqlite() {
    sweeping_changes_no_decision(Kind::Sqlite, 10_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres() {
    sweeping_changes_no_decision(Kind::Postgres, 500).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mariadb() {
    sweeping_changes_no_decision(Kind::MariaDb, 500).await;
}

/// Short ones, so that all of them end within a history, on each other's deadlines too.
fn lifetimes(slack: Duration) -> Lifetimes {
    let minute = Duration::from_secs(60);
    Lifetimes {
        code: minute,
        refresh: Duration::from_secs(100),
        refresh_family: None,
        rotation_grace: Duration::from_secs(10),
        nonce: minute,
        replay: minute,
        pushed: minute,
        metadata_min: minute / 2,
        metadata_max: minute * 2,
        consent: minute,
        logout: minute,
        device: minute,
        device_interval: Duration::from_secs(5),
        ciba: minute,
        ciba_interval: Duration::from_secs(5),
        slack,
    }
}

/// How long a step takes: often nothing, often exactly as long as something lives, or a moment less or more.
fn pause(chance: &mut StdRng) -> Duration {
    let seconds = *[0, 0, 0, 0, 5, 5, 10, 30, 30, 60, 60, 100].choose(chance).unwrap();
    let time = Duration::from_secs(seconds);
    match chance.random_range(0..4) {
        0 => time + MOMENT,
        1 => time.saturating_sub(MOMENT),
        _ => time,
    }
}

/// One of the two.
struct World {
    _database: AnyDatabase,
    clock: Arc<StandingClock>,
    tokens: Tokens,
    sweeper: Option<Sweeper>,
    /// Rows that were swept, by table.
    swept: BTreeMap<&'static str, u64>,
}

impl World {
    async fn new(kind: Kind, seed: u64, slack: Duration, sweeps: bool) -> Self {
        let database = match kind {
            Kind::Sqlite => AnyDatabase::Sqlite(Sqlite::fresh_in_memory()),
            other => AnyDatabase::fresh(other).await,
        };
        let clock = Arc::new(StandingClock::at(beginning()));
        let entropy = Arc::new(Seeded::new(seed));
        let lifetimes = lifetimes(slack);
        let options = TokensOptions { clock: clock.clone(), entropy, lifetimes, ..options(&database) };
        let tokens = Tokens::open(options).await.unwrap();
        tokens.migrate().await.unwrap();
        let config = SweeperConfig::every(SignedDuration::from_hours(1_000_000));
        let sweeper = sweeps.then(|| Sweeper::start(&tokens, config).unwrap());
        Self { _database: database, clock, tokens, sweeper, swept: BTreeMap::new() }
    }

    async fn sweep(&mut self) {
        let Some(sweeper) = &self.sweeper else { return };
        let swept = sweeper.sweep_now().await;
        assert_eq!(swept.report.outcome.as_str(), "complete", "{:#?}", swept.report);
        for (table, rows) in swept.removed {
            *self.swept.entry(table).or_default() += rows;
        }
    }

    /// Lets every history take its step, and says what came of each.
    async fn step(&mut self, steps: &[Step]) -> Vec<String> {
        self.sweep().await;
        let mut outcomes = Vec::with_capacity(steps.len());
        for step in steps {
            outcomes.push(step.take(&self.tokens).await);
        }
        outcomes
    }
}

async fn sweeping_changes_no_decision(kind: Kind, histories: u64) {
    let seed = std::env::var("BYGONE_TEST_SEED").ok().map_or(2_026, |seed| seed.parse().unwrap());
    println!("BYGONE_TEST_SEED={seed}");
    let (mut outcomes_seen, mut swept) = (BTreeMap::new(), BTreeMap::new());
    for (batch, slack) in [Duration::ZERO, Duration::from_secs(30)].into_iter().enumerate() {
        let seed = seed + batch as u64;
        let world = |sweeps| World::new(kind, seed, slack, sweeps);
        let (mut with, mut without) = (Box::pin(world(true)).await, Box::pin(world(false)).await);
        let mut left = histories / 2;
        while left > 0 {
            let together = left.min(TOGETHER);
            live(&mut with, &mut without, seed + left, together, &mut outcomes_seen).await;
            left -= together;
        }
        for (table, rows) in with.swept {
            *swept.entry(table).or_insert(0) += rows;
        }
    }
    println!("outcomes: {outcomes_seen:#?}\nswept: {swept:#?}");
    assert!(swept.values().all(|rows| *rows > 0), "some tables were never swept: {swept:#?}");
    // So few as a server is given do not come to everything.
    for outcome in step::OUTCOMES.iter().filter(|_| kind == Kind::Sqlite) {
        assert!(outcomes_seen.keys().any(|name| name == *outcome), "never outcomes_seen: {outcome}");
    }
}

/// Some histories, in both worlds.
async fn live(
    with: &mut World,
    without: &mut World,
    seed: u64,
    together: u64,
    outcomes_seen: &mut BTreeMap<String, u64>,
) {
    let mut chance = StdRng::seed_from_u64(seed);
    let mut histories: Vec<History> = (0..together).map(|number| History::new(seed, number)).collect();
    for _ in 0..STEPS {
        let now = bygone_core::Clock::now(&*with.clock);
        let steps: Vec<Step> = histories.iter_mut().map(|history| history.next(now)).collect();
        let (swept, unswept) = tokio::join!(with.step(&steps), without.step(&steps));
        for (((history, step), swept), unswept) in histories.iter_mut().zip(steps).zip(swept).zip(unswept) {
            history.note(&step, &unswept);
            assert_eq!(swept, unswept, "a sweep has changed what came of the last step of {history:#?}");
            *outcomes_seen.entry(step::name(&step, &unswept)).or_default() += 1;
        }
        let pause = pause(&mut chance);
        with.clock.advance(pause);
        without.clock.advance(pause);
    }
}
