//! A worker: it does many things at once, says what it was told, and goes on until it is killed.

mod count;
mod fence;
mod hold;
mod queue;
mod transfer;

use std::io::BufRead;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Boundary, Budget, Clock, Job, Sweep, SystemClock};
use bygone_lease::{Acquire, Chance, Error, Key, LeaseStore, LeaseTarget, SeededChance, Swept};
use tokio::sync::{RwLock, mpsc};

use self::fence::Resource;
use crate::books::read_books;
use crate::orders::{Orders, Said, Task, namespace, say};

/// The variable that makes a test a worker.
pub(crate) const ORDERS: &str = "BYGONE_WORKER_ORDERS";

/// Answers that any process may get while others work, die and wake up. Whatever else is said is a fault.
const EXPECTED: [&str; 11] = [
    "waiting",
    "lease_required",
    "lease_expired",
    "fencing_mismatch",
    "version_conflict",
    "txn_pending",
    "txn_conflict",
    "txn_unknown",
    "cas_mismatch",
    "throttled",
    "outcome_unknown",
];

#[derive(Clone, Copy, Debug)]
enum Trade {
    Count,
    Transfer,
    Letters,
    Lease,
    Sweep,
}

/// What it does at once.
const TRADES: [Trade; 7] =
    [Trade::Count, Trade::Transfer, Trade::Transfer, Trade::Letters, Trade::Lease, Trade::Lease, Trade::Sweep];

/// Not a test by itself: it is what the others run again.
#[test]
fn worker() {
    let Ok(orders) = std::env::var(ORDERS) else { return };
    let orders: Orders = serde_json::from_str(&orders).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        match orders.task {
            Task::Work => Worker::begin(orders).await.work().await,
            Task::Audit { term } => audit(&orders, term).await,
        }
    });
}

async fn audit(orders: &Orders, term: u64) {
    let store = orders.place.open(orders.options()).await;
    for (number, text) in read_books(&store, term).await.into_iter().enumerate() {
        say(&Said::Account { number, text });
    }
    say(&Said::Quiet);
}

struct Worker {
    orders: Orders,
    store: LeaseStore,
    clock: Arc<SystemClock>,
}

/// One of the things that a worker does, over and over again.
struct Hand {
    worker: Arc<Worker>,
    chance: SeededChance,
    number: usize,
    /// What it has made names for so far.
    names: u64,
}

impl Worker {
    async fn begin(orders: Orders) -> Arc<Self> {
        let store = orders.place.open(orders.options()).await;
        Arc::new(Self { orders, store, clock: Arc::new(SystemClock::new()) })
    }

    fn acquire(&self, key: Key) -> Acquire {
        Acquire::new(namespace(), key, self.orders.name.clone())
    }

    /// The hands take the floor for each thing that they do; whoever wants quiet takes it from all of them.
    async fn work(self: Arc<Self>) {
        let floor = Arc::new(RwLock::new(0));
        let mut quiet = Arc::clone(&floor).write_owned().await;
        for (number, trade) in TRADES.into_iter().enumerate() {
            let (worker, floor) = (Arc::clone(&self), Arc::clone(&floor));
            let chance = SeededChance::new(self.orders.seed.wrapping_add(u64::try_from(number).unwrap()));
            let mut hand = Hand { worker, chance, number, names: 0 };
            let work = tokio::spawn(async move {
                let resource = hand.worker.orders.resource.map(Resource::connect);
                loop {
                    let term = floor.read().await;
                    match (trade, &resource) {
                        (Trade::Count, _) => hand.count().await,
                        (Trade::Transfer, _) => hand.transfer(*term).await,
                        (Trade::Letters, _) => hand.letters().await,
                        (Trade::Lease, Some(resource)) => hand.guard(resource).await,
                        (Trade::Lease, None) => hand.hold().await,
                        (Trade::Sweep, _) => hand.sweep().await,
                    }
                }
            });
            tokio::spawn(async move {
                work.await.unwrap_or_else(|error| {
                    eprintln!("a hand has failed, and so has its worker: {error}");
                    std::process::exit(1)
                })
            });
        }
        let mut commands = commands();
        while let Some(command) = commands.recv().await {
            match command.strip_prefix("work ") {
                Some(term) => {
                    *quiet = term.parse().unwrap();
                    drop(quiet);
                }
                None => unreachable!("{command}"),
            }
            let Some(command) = commands.recv().await else { return };
            assert_eq!(command, "quiet");
            quiet = Arc::clone(&floor).write_owned().await;
            say(&Said::Quiet);
        }
    }
}

/// What the test asks for. It ends when the test does.
fn commands() -> mpsc::UnboundedReceiver<String> {
    let (sender, commands) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            if sender.send(line.unwrap()).is_err() {
                return;
            }
        }
    });
    commands
}

impl Hand {
    fn below(&self, limit: u64) -> u64 {
        self.chance.bits() % limit
    }

    fn one_in(&self, number: u64) -> bool {
        self.below(number) == 0
    }

    /// A name that nobody else makes up.
    fn new_name(&mut self) -> String {
        self.names += 1;
        format!("{}-{}-{}", self.worker.orders.name, self.number, self.names)
    }

    async fn pause(&self, millis_max: u64) {
        self.worker.clock.sleep(Duration::from_millis(self.below(millis_max + 1))).await;
    }

    /// Sweeps everything, as one of many who do.
    async fn sweep(&self) {
        self.pause(300).await;
        let (store, clock) = (&self.worker.store, Arc::clone(&self.worker.clock));
        let job = |swept| Job::new(Box::new(LeaseTarget::new(swept, "p", "s", store)), Budget::default());
        let jobs = [Swept::Transactions, Swept::Leases, Swept::Decisions].map(job);
        let boundary = Boundary::at(clock.now());
        let report = Sweep::new(clock, boundary).run(jobs.into()).await;
        for policy in report.policies {
            if let Some(error) = policy.error {
                say(&Said::Odd { what: "sweep".to_owned(), error });
            }
        }
    }
}

/// The answer, if it is one. Otherwise says why it is not.
fn hear<T>(what: &str, answer: Result<T, Error>) -> Option<T> {
    answer.map_err(|error| complain(what, &error)).ok()
}

fn complain(what: &str, error: &Error) {
    let what = what.to_owned();
    if EXPECTED.contains(&error.code()) {
        say(&Said::Refused { what, code: error.code().to_owned() });
    } else {
        say(&Said::Odd { what, error: error.to_string() });
    }
}
