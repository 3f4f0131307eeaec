//! Queues beside streams of Redis.
//!
//! In each turn messages are put into a queue for a while, and then all of them are taken out again, one by one, each
//! acknowledged before the next. Everybody answers only when the disk has it.

mod ours;
mod redis;

use std::time::Duration;

use bygone_lease::LeaseStore;
use bygone_lease::storage::Disk;
use bygone_testkit::Redis;
use clap::Args;

use crate::account::Account;
use crate::crowd::race::{self, Race};
use crate::crowd::{Clients, Contender, Until};
use crate::failure::Failure;
use crate::report::thousands;
use crate::{Common, disk, output, server};

const BENCH: &str = "queue";
/// What each message says.
const PAYLOAD: &str =
    "A message of a hundred bytes: an order with its number, what to send, and where to send it. 0123456789.";

/// How often to run.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Runs of each case, whose turns count together.
    #[arg(long, value_name = "N", default_value_t = 1)]
    runs: usize,
}

/// So many who put in, and then so many who take out.
struct Case {
    name: [&'static str; 2],
    workers: usize,
    /// How long messages are put in.
    turn: Duration,
    turns: usize,
}

fn all(quick: bool) -> [Case; 2] {
    let (turn, turns) = if quick { (Duration::from_millis(100), 5) } else { (Duration::from_millis(500), 15) };
    let case = |name, workers| Case { name, workers, turn, turns };
    [case(["enqueue/1", "dequeue+ack/1"], 1), case(["enqueue/8", "dequeue+ack/8"], 8)]
}

/// Runs the bench and prints what it found.
pub(crate) async fn run(options: &Options, common: Common) -> Result<(), Failure> {
    let directory = disk::directory()?;
    let disk_line = disk::describe(&directory)?;
    let (redis, version) = server::redis::start().await?;
    let disk = Disk::open(&directory.path().join("queue"))?;
    let bed = Bed { store: LeaseStore::open(disk, bygone_lease::Options::default()).await?, redis };
    let mut races = Vec::new();
    for case in all(common.quick) {
        races.extend(bed.measure(&case, options.runs.max(1)).await?);
    }
    let mut account = Account::new(common);
    account.add(race::comparisons(&races, &[]))?;
    if account.close(&[disk_line, version])? {
        race::print(&races, &[]);
    }
    Ok(())
}

/// Everybody who takes part.
struct Bed {
    store: LeaseStore,
    redis: Redis,
}

/// One of them, on both sides of his queue.
struct Sides {
    enqueue: Contender,
    dequeue: Contender,
}

impl Sides {
    fn new(name: &'static str, producers: Clients, workers: Clients) -> Self {
        Self { enqueue: Contender::new(name, producers), dequeue: Contender::new(name, workers) }
    }

    /// In, and out again. Whatever was put in must come out.
    async fn turn(&mut self, time: Duration) -> Result<(), Failure> {
        let sent = self.enqueue.turn(Until::Over(time)).await?;
        let taken = self.dequeue.turn(Until::Done).await?;
        if sent != taken {
            return Err(format!("{}: of {sent} messages {taken} came out", self.enqueue.name).into());
        }
        Ok(())
    }

    fn talk(&self, case: &Case) {
        let (name, [enqueue, dequeue]) = (self.enqueue.name, case.name);
        let (sent, taken) = (thousands(self.enqueue.rate()), thousands(self.dequeue.rate()));
        output::talk(&format!("{name}: {enqueue} {sent} messages/s, {dequeue} {taken} messages/s"));
    }
}

impl Bed {
    async fn measure(&self, case: &Case, runs: usize) -> Result<[Race; 2], Failure> {
        let (name, count) = (format!("queue-{}", case.workers), case.workers);
        let queue = ours::queue(&name)?;
        let producers = redis::producers(&self.redis, &name, count).await?;
        let mut all = [
            Sides::new(
                "bygone",
                ours::producers(&self.store, &queue, count),
                ours::workers(&self.store, &queue, count),
            ),
            Sides::new("Redis streams", producers, redis::workers(&self.redis, &name, count).await?),
        ];
        for sides in &mut all {
            sides.turn(case.turn / 2).await?;
            sides.enqueue.forget();
            sides.dequeue.forget();
        }
        for round in 0..runs * case.turns {
            for turn in 0..all.len() {
                all[(turn + round) % 2].turn(case.turn).await?;
            }
        }
        for sides in &all {
            sides.talk(case);
        }
        let [ours, redis] = all;
        let race = |case, ours, peer| Race { bench: BENCH, case, unit: "messages/s", ours, peers: vec![(peer, None)] };
        let [enqueue, dequeue] = case.name;
        Ok([race(enqueue, ours.enqueue, redis.enqueue), race(dequeue, ours.dequeue, redis.dequeue)])
    }
}
