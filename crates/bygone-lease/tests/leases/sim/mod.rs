//! A simulation: several processes, each with a clock of its own, over one store, in bad weather.
//!
//! Everything is decided by a seed: the order of things, faults, delays, crashes. A seed that fails is printed, and plays
//! again the same way: `BYGONE_SIM_SEED=7 cargo nextest run -p bygone-lease sim`.

mod ledger;
mod weather;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bygone_core::{Boundary, Budget, Clock, Job, Sweep};
use bygone_lease::storage::{Memory, Patience, Storage};
use bygone_lease::{
    Acquire, Chance, Error, IfVersion, Key, Lease, LeaseStore, LeaseTarget, Namespace, Options, SeededChance, Swept,
    TxnId, Wait,
};
use jiff::SignedDuration;

use self::ledger::Ledger;
use self::weather::{SimClock, Way, Weather};

const PROCESSES: usize = 3;
const WORKERS: usize = 3;
const COUNTERS: u64 = 3;
const ACCOUNTS: u64 = 4;
const BALANCE: i64 = 100;
/// Short, so that stalls, delays and crashes outlast them.
const TTL: Duration = Duration::from_secs(2);

fn namespace() -> Namespace {
    Namespace::new("sim").unwrap()
}

fn counter(number: u64) -> Key {
    Key::new(format!("counter-{number}")).unwrap()
}

fn account(number: u64) -> Key {
    Key::new(format!("account/{number}")).unwrap()
}

/// Everything that the processes share, but are not told.
struct World {
    weather: Arc<Weather>,
    ledger: Mutex<Ledger>,
    operations_max: u64,
}

impl World {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap()
    }

    fn is_over(&self) -> bool {
        self.ledger().operations >= self.operations_max
    }
}

/// One life of a process.
#[derive(Clone)]
struct Life {
    world: Arc<World>,
    clock: Arc<SimClock>,
    store: LeaseStore,
}

impl Life {
    async fn begin(world: &Arc<World>) -> Self {
        let weather = &world.weather;
        // Within what the options allow for, two by two.
        let off = i64::try_from(weather.chance.bits() % 900).unwrap() - 450;
        let clock = Arc::new(SimClock::new(weather.clock_start(), SignedDuration::from_millis(off)));
        let patience = Patience { attempts: 3, first_pause: Duration::from_millis(10), ..Patience::default() };
        let options =
            Options { skew: Duration::from_secs(1), max_ttl: Duration::from_secs(60), patience, ..Options::default() };
        let chance = Arc::new(SeededChance::new(weather.chance.bits()));
        let store =
            LeaseStore::open_by(Way(Arc::clone(weather)), options, Arc::clone(&clock) as _, chance).await.unwrap();
        Self { world: Arc::clone(world), clock, store }
    }

    fn bits(&self) -> u64 {
        self.world.weather.chance.bits()
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.world.ledger()
    }

    fn note(&self, what: &str, outcome: Result<(), &Error>) {
        self.ledger().note(&format!("{what} {}", outcome.map_or_else(Error::code, |()| "ok")));
    }

    async fn work(self) {
        while !self.world.is_over() {
            match self.bits() % 10 {
                0..=4 => self.count().await,
                5..=7 => self.transfer().await,
                8 => self.look().await,
                _ if self.bits().is_multiple_of(2) => self.abandon().await,
                _ => self.sweep().await,
            }
        }
    }

    async fn acquire(&self, request: &Acquire) -> Option<Lease> {
        let floor = self.ledger().highest(&request.key);
        let answer = self.store.acquire(request).await;
        self.note("acquire", answer.as_ref().map(drop));
        let lease = answer.ok()?;
        self.ledger().granted(&lease, floor, &self.clock);
        Some(lease)
    }

    /// Reads a counter under a lease and adds one. Its value is its version, always.
    async fn count(&self) {
        let key = counter(self.bits() % COUNTERS);
        let wait = if self.bits().is_multiple_of(2) { Wait::None } else { Wait::For(Duration::from_secs(1)) };
        let request = Acquire { ttl: Some(TTL), wait, ..Acquire::new(namespace(), key.clone(), "worker") };
        let Some(mut lease) = self.acquire(&request).await else { return };
        if self.bits().is_multiple_of(4) {
            let kept = self.store.keepalive(&lease, None).await;
            self.note("keepalive", kept.as_ref().map(drop));
            if let Ok(kept) = kept {
                lease = kept;
                self.ledger().extended(&lease, &self.clock);
            }
        }
        let found = self.store.get_held(&lease).await;
        self.note("get", found.as_ref().map(drop));
        let Ok(found) = found else { return self.give_up(&lease).await };
        let version = found.as_ref().map_or(0, |found| found.version);
        let value: u64 = found.map_or(0, |found| std::str::from_utf8(&found.state).unwrap().parse().unwrap());
        assert_eq!(value, version, "{key}");
        let next = (value + 1).to_string();
        let at_once = self.bits().is_multiple_of(2);
        self.ledger().begins_to_write(&key);
        let written = if at_once {
            self.ledger().gives_up(&lease);
            self.store.update_and_release(&lease, next.as_bytes(), IfVersion::Is(version)).await
        } else {
            self.store.update(&lease, next.as_bytes(), IfVersion::Is(version)).await
        };
        self.note("update", written.as_ref().map(drop));
        match written {
            Ok(version) => self.ledger().wrote(&key, Some(version)),
            Err(Error::OutcomeUnknown { .. }) => {}
            Err(_) => self.ledger().wrote(&key, None),
        }
        if !at_once {
            self.give_up(&lease).await;
        }
    }

    async fn give_up(&self, lease: &Lease) {
        self.ledger().gives_up(lease);
        let released = self.store.release(lease).await;
        self.note("release", released.as_ref().map(drop));
    }

    /// Takes a lease that nobody ever comes back for.
    async fn abandon(&self) {
        let key = Key::new(format!("abandoned-{:x}", self.bits())).unwrap();
        let request = Acquire { ttl: Some(TTL), ..Acquire::new(namespace(), key, "nobody") };
        if self.acquire(&request).await.is_some() {
            self.ledger().abandoned += 1;
        }
    }

    /// Moves money from one account to another: what there is in all stays the same.
    async fn transfer(&self) {
        let (from, to) = (self.bits() % ACCOUNTS, self.bits() % ACCOUNTS);
        if from == to {
            return;
        }
        let Ok(txn) = self.store.begin(Some(TTL)) else { return };
        let staged = self.move_money(txn, account(from), account(to)).await;
        // Now and then somebody else commits, who has seen nothing of what was staged; or nobody does.
        let (commits, store) = match self.bits() % 8 {
            0 if staged => (true, Self::begin(&self.world).await.store),
            1 => return,
            _ => (staged, self.store.clone()),
        };
        let done = if commits { store.commit(txn).await } else { store.rollback(txn).await.map(drop) };
        self.note(if commits { "commit" } else { "rollback" }, done.as_ref().map(drop));
        if done.is_ok() {
            let mut ledger = self.ledger();
            *(if commits { &mut ledger.committed } else { &mut ledger.rolled_back }) += 1;
        }
    }

    async fn move_money(&self, txn: TxnId, from: Key, to: Key) -> bool {
        let amount = i64::try_from(self.bits() % 10).unwrap();
        for (key, change) in [(from, -amount), (to, amount)] {
            let Ok(Some(found)) = self.store.get(&namespace(), &key).await else { return false };
            let balance: i64 = std::str::from_utf8(&found.state).unwrap().parse().unwrap();
            let request = Acquire { ttl: Some(TTL), txn: Some(txn), ..Acquire::new(namespace(), key, "teller") };
            let state = (balance + change).to_string();
            let staged = self.store.stage(&request, state.as_bytes(), IfVersion::Is(found.version)).await;
            self.note("stage", staged.as_ref().map(drop));
            if staged.is_err() {
                return false;
            }
        }
        true
    }

    async fn look(&self) {
        let key = counter(self.bits() % COUNTERS);
        let found = self.store.get(&namespace(), &key).await;
        self.note("look", found.as_ref().map(drop));
        if let Ok(Some(found)) = found {
            assert_eq!(std::str::from_utf8(&found.state).unwrap(), found.version.to_string());
        }
    }

    async fn sweep(&self) {
        let boundary = Boundary::at(self.clock.now());
        let job = |swept| Job::new(Box::new(LeaseTarget::new(swept, "p", "s", &self.store)) as _, Budget::default());
        let jobs = [Swept::Transactions, Swept::Leases, Swept::Decisions].map(job);
        let clock = Arc::clone(&self.clock) as Arc<dyn Clock>;
        let report = Sweep::new(clock, boundary).run(jobs.into()).await;
        let removed: u64 = report.policies.iter().map(|policy| policy.tally.removed).sum();
        self.ledger().note(&format!("sweep {removed}"));
    }
}

/// Lives of a process, one after another: each ends in the middle of whatever it does.
async fn process(world: Arc<World>) {
    while !world.is_over() {
        let life = Life::begin(&world).await;
        let workers: Vec<_> = (0..WORKERS).map(|_| tokio::spawn(life.clone().work())).collect();
        let lasts = Duration::from_millis(world.weather.chance.bits() % 60_000);
        life.clock.sleep(lasts).await;
        for worker in &workers {
            worker.abort();
        }
        for worker in workers {
            if let Err(ended) = worker.await
                && ended.is_panic()
            {
                std::panic::resume_unwind(ended.into_panic());
            }
        }
        world.ledger().crashes += 1;
        if world.weather.chance.bits().is_multiple_of(4) {
            // A long pause: hours pass.
            life.clock.sleep(Duration::from_secs(world.weather.chance.bits() % 5_400)).await;
        }
    }
}

/// Plays a seed, and answers with what tells this run from another.
async fn play(seed: u64, operations_max: u64) -> (u64, Arc<World>) {
    let memory = Arc::new(Memory::new());
    let weather = Arc::new(Weather::new(memory, SeededChance::new(seed)));
    let world = Arc::new(World { weather, ledger: Mutex::default(), operations_max });
    open_accounts(&world).await;
    let processes: Vec<_> = (0..PROCESSES).map(|_| tokio::spawn(process(Arc::clone(&world)))).collect();
    for process in processes {
        if let Err(ended) = process.await {
            std::panic::resume_unwind(ended.into_panic());
        }
    }
    settle(&world).await;
    let trace = world.ledger().trace();
    (trace, world)
}

async fn open_accounts(world: &Arc<World>) {
    world.weather.calm.store(true, Ordering::Relaxed);
    let life = Life::begin(world).await;
    for number in 0..ACCOUNTS {
        let lease = life.store.acquire(&Acquire::new(namespace(), account(number), "bank")).await.unwrap();
        life.store.update_and_release(&lease, BALANCE.to_string().as_bytes(), IfVersion::Any).await.unwrap();
    }
    world.weather.calm.store(false, Ordering::Relaxed);
}

/// The weather clears up, everything becomes due, and is swept: what is left is right.
async fn settle(world: &Arc<World>) {
    world.weather.calm.store(true, Ordering::Relaxed);
    let life = Life::begin(world).await;
    for _ in 0..30 {
        life.clock.sleep(Duration::from_secs(3_600)).await;
        life.sweep().await;
    }
    assert_eq!(left_over(&world.weather.memory).await, [""; 0], "everything that was due is gone");
    let mut total = 0;
    for number in 0..ACCOUNTS {
        let found = life.store.get(&namespace(), &account(number)).await.unwrap().unwrap();
        total += std::str::from_utf8(&found.state).unwrap().parse::<i64>().unwrap();
    }
    assert_eq!(total, BALANCE * i64::try_from(ACCOUNTS).unwrap(), "no transaction was torn");
    for number in 0..COUNTERS {
        let key = counter(number);
        let found = life.store.get(&namespace(), &key).await.unwrap();
        let value = found.map_or(0, |found| found.version);
        let ledger = world.ledger();
        let (written, unknown) = (ledger.written.get(&key).copied(), ledger.unknown.get(&key).copied());
        let (written, unknown) = (written.unwrap_or(0), unknown.unwrap_or(0));
        assert!(value >= written, "{key}: {written} writes were answered, and {value} are there");
        assert!(value <= written + unknown, "{key}: {value} writes are there, and {written} + {unknown} were made");
    }
}

/// What nobody will ever look at again: entries, transactions and decisions, leases, records with nothing in them.
async fn left_over(memory: &Memory) -> Vec<String> {
    let mut left = Vec::new();
    for listed in memory.list("", None, usize::MAX).await.unwrap().keys {
        let stored = memory.get(&listed.key).await.unwrap().unwrap();
        let content: serde_json::Value = serde_json::from_slice(&stored.body).unwrap();
        let is_kept = if listed.key.starts_with("sim/meta/") {
            content["lease"].is_null() && content["staged"].is_null() && !content["state"].is_null()
        } else if listed.key.ends_with("buckets.json") {
            // Hours that are not long over stay on their lists.
            ["buckets", "pending"].iter().all(|list| content[list].as_array().is_none_or(|list| list.len() <= 2))
        } else {
            listed.key.starts_with(".bygone/")
        };
        if !is_kept {
            left.push(format!("{} {content}", listed.key));
        }
    }
    left
}

fn run(seed: u64, operations: u64) -> (u64, Arc<World>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let failed = AtomicBool::new(true);
    let told = scopeguard(seed, &failed);
    let played = runtime.block_on(play(seed, operations));
    failed.store(false, Ordering::Relaxed);
    drop(told);
    played
}

/// Tells the seed when the run does not come to its end.
fn scopeguard(seed: u64, failed: &AtomicBool) -> impl Drop + '_ {
    struct Told<'a>(u64, &'a AtomicBool);
    impl Drop for Told<'_> {
        fn drop(&mut self) {
            if self.1.load(Ordering::Relaxed) {
                println!("BYGONE_SIM_SEED={}", self.0);
            }
        }
    }
    Told(seed, failed)
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |value| value.parse().unwrap())
}

#[test]
fn a_seed_plays_the_same_way_again() {
    let (first, _) = run(7, 3_000);
    let (second, _) = run(7, 3_000);
    assert_eq!(first, second);
    assert_ne!(first, run(8, 3_000).0);
}

#[test]
fn promises_are_kept_in_bad_weather() {
    let (seed, operations) = (setting("BYGONE_SIM_SEED", 1), setting("BYGONE_SIM_OPERATIONS", 200_000));
    let (_, world) = run(seed, operations);
    let (ledger, fired) = (world.ledger(), &world.weather.fired);
    let Ledger { operations: done, committed, rolled_back, crashes, abandoned, .. } = &*ledger;
    println!(
        "{done} operations, {abandoned} abandoned, {committed} committed, {rolled_back} rolled back, {crashes} crashes"
    );
    println!("{fired:?}");
    assert!(ledger.committed > 0 && ledger.rolled_back > 0 && ledger.crashes > 0);
    if operations >= 200_000 {
        let all = [&fired.throttled, &fired.lost_requests, &fired.lost_replies, &fired.late];
        assert!(all.iter().all(|fired| fired.load(Ordering::Relaxed) > 1_000), "{fired:?}");
    }
}
