//! Servers that are killed, wires that are cut, disks that are full, locks that cross, tables that change: whatever
//! happens in the middle of a sweep, what lives is there as it was, the report claims no more than what is gone, other
//! policies go on, and the next sweep does the rest.

mod crashed;
mod cut;
mod deadlocks;
mod full;
mod killed;
mod moved;
mod slow;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use bygone_core::{Budget, Consent, Event, Job, Observer, PolicyReport, Report, Sweep, SystemClock};
use bygone_sql::{Deadline, Engine, RowPolicy, RowTarget, SourceOptions};
use tokio::sync::watch;

use crate::world::{World, boundary, open, policy};

/// Rows that live from the beginning have numbers from here on; those below are due, until somebody extends them.
const LIVING_FROM: u64 = 1_000_000;
const LIVING: u64 = 300;
/// When what lives ends, what is extended too.
const LATER: &str = "2027-01-01 00:00:00";

/// Living rows by their number, with what was last written into them.
type Rows = BTreeMap<u64, String>;

/// From `BYGONE_TEST_SEED`, to see again what was seen before; otherwise a new one.
fn seed() -> u64 {
    let given = std::env::var("BYGONE_TEST_SEED").ok();
    let seed = given.map_or_else(|| RandomState::new().hash_one("seed"), |text| text.parse().expect("a number"));
    eprintln!("BYGONE_TEST_SEED={seed}");
    seed
}

/// A table `items` in a database of a server, and the rows that must be there whatever happens.
struct Scene {
    world: World,
    due: u64,
    alive: Rows,
}

impl Scene {
    /// A table with so many rows that are due, and others that live.
    async fn of(world: World, due: u64) -> Self {
        let time = match world.engine() {
            Engine::Sqlite => "TEXT",
            Engine::Postgres => "timestamptz",
            Engine::MySql => "DATETIME(6)",
        };
        // Statistics that come in the middle would have the next sweep go another way.
        let unwatched = if world.engine() == Engine::Postgres { "WITH (autovacuum_enabled = off)" } else { "" };
        let mut client = world.client().await;
        client
            .run(&format!(
                "CREATE TABLE items (id BIGINT PRIMARY KEY, deadline {time} NULL, note VARCHAR(40) NOT NULL) {unwatched}; \
                 CREATE INDEX by_deadline ON items (deadline)"
            ))
            .await;
        let last = LIVING_FROM + LIVING - 1;
        let living = numbers(world.engine(), LIVING_FROM, last);
        client.run(&format!("INSERT INTO items SELECT n, '{LATER}', 'living' FROM ({living}) AS numbers")).await;
        let alive = (LIVING_FROM..=last).map(|id| (id, "living".to_owned())).collect();
        let mut scene = Self { world, due, alive };
        scene.refill().await;
        scene
    }

    /// Puts the rows that are due back, but for those that somebody has extended. Returns how many are due now.
    async fn refill(&mut self) -> u64 {
        let engine = self.world.engine();
        let at = match engine {
            Engine::Sqlite => "datetime('2026-11-01 00:00:00', '+' || n || ' seconds')",
            Engine::Postgres => "timestamptz '2026-11-01 00:00:00Z' + n * interval '1 second'",
            Engine::MySql => "TIMESTAMP('2026-11-01') + INTERVAL n SECOND",
        };
        let numbers = numbers(engine, 1, self.due);
        let missing = "n NOT IN (SELECT id FROM items)";
        let mut client = self.world.client().await;
        client
            .run(&format!("INSERT INTO items SELECT n, {at}, 'due' FROM ({numbers}) AS numbers WHERE {missing}"))
            .await;
        self.due - self.alive.range(..LIVING_FROM).count() as u64
    }

    fn policy() -> RowPolicy {
        RowPolicy { name: "items".to_owned(), ..policy("items", Deadline::column("deadline")) }
    }

    /// How many rows are due by a plain look, none of them changed; what lives must all be there, as it was last written.
    async fn look(&self) -> u64 {
        let (left, living) = self.see().await;
        assert_eq!(living, self.alive, "what lives is there, and nothing else");
        left
    }

    /// How many rows are due, none of them changed, and those that live.
    async fn see(&self) -> (u64, Rows) {
        let mut client = self.world.client().await;
        let (mut left, mut living) = (0, Rows::new());
        // Text of one form throughout: it is in the order of time.
        let at = match self.world.engine() {
            Engine::Sqlite => "deadline",
            Engine::Postgres => "to_char(deadline AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')",
            Engine::MySql => "DATE_FORMAT(deadline, '%Y-%m-%d %H:%i:%s')",
        };
        for row in client.rows(&format!("SELECT id, {at}, note FROM items")).await {
            let [Some(id), Some(at), Some(note)] = row.as_slice() else { panic!("{row:?}") };
            if at == LATER {
                living.insert(id.parse().unwrap(), note.clone());
            } else {
                assert!(at.as_str() < "2026-11-15 12:00:00" && note == "due", "{row:?} was changed");
                left += 1;
            }
        }
        (left, living)
    }

    /// Sweeps what is left, which nothing hinders any more.
    async fn finish(&self, left: u64) {
        self.finish_by(&Self::policy(), left).await;
    }

    async fn finish_by(&self, policy: &RowPolicy, left: u64) {
        let report = self.world.sweep(policy).await;
        assert_eq!((report.error.as_deref(), report.tally.removed), (None, left), "{report:?}");
        assert_eq!(self.look().await, 0, "the next sweep does the rest");
    }
}

/// A query of the numbers `n` from the first to the last.
fn numbers(engine: Engine, first: u64, last: u64) -> String {
    match engine {
        Engine::Sqlite => format!(
            "WITH RECURSIVE r (n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM r WHERE n < {last}) SELECT n FROM r"
        ),
        Engine::Postgres => format!("SELECT n FROM generate_series({first}, {last}) AS g (n)"),
        Engine::MySql => format!("SELECT seq AS n FROM seq_{first}_to_{last}"),
    }
}

/// Binds a policy over a connection of its own, to be swept in pages of so many rows.
async fn job(options: SourceOptions, policy: &RowPolicy, page_items_max: u64) -> Job {
    let target = RowTarget::bind(&open(options).await, policy).await.unwrap();
    job_over(target, page_items_max)
}

fn job_over(target: RowTarget, page_items_max: u64) -> Job {
    let budget = Budget { page_items_max, ..Budget::default() };
    Job::new(Box::new(target), budget).with_consent(Consent::Released)
}

/// Sweeps, told of by an observer.
async fn sweep_all(jobs: Vec<Job>, observer: Arc<dyn Observer>) -> Report {
    let sweep = Sweep::new(Arc::new(SystemClock::new()), boundary()).observed_by(observer);
    let report = sweep.run(jobs).await;
    for policy in &report.policies {
        assert!(policy.tally.adds_up(), "{policy:?}");
    }
    report
}

async fn sweep_one(job: Job, observer: Arc<dyn Observer>) -> PolicyReport {
    sweep_all(vec![job], observer).await.policies.remove(0)
}

/// Counts the pages of the policy `items`, for who waits for one.
struct Pages(watch::Sender<u64>);

impl Observer for Pages {
    fn on(&self, event: &Event<'_>) {
        if matches!(event, Event::PageSwept { policy: "items", .. }) {
            self.0.send_modify(|pages| *pages += 1);
        }
    }
}

/// Does something once, behind a page of the policy `items`; the sweep waits for it.
struct Behind<F> {
    page: u64,
    seen: std::sync::atomic::AtomicU64,
    act: F,
}

impl<F: AsyncFn() + Send + Sync> Behind<F> {
    fn page(page: u64, act: F) -> Arc<Self> {
        Arc::new(Self { page, seen: 0.into(), act })
    }
}

impl<F: AsyncFn() + Send + Sync> Observer for Behind<F> {
    fn on(&self, event: &Event<'_>) {
        let is_page = matches!(event, Event::PageSwept { policy: "items", .. });
        if is_page && self.seen.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1 == self.page {
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on((self.act)()));
        }
    }
}
