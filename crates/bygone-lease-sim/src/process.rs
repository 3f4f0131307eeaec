//! Processes: each has a clock and a store of its own, several workers and a sweeper, and dies again and again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bygone_lease::storage::Patience;
use bygone_lease::{Error, LeaseStore, Options, SeededChance};

use crate::clock::SkewedClock;
use crate::scheduler::Group;
use crate::weather::Way;
use crate::witness::{Keeps, Sender};
use crate::world::{Fault, World};

pub(crate) const PROCESSES: usize = 3;
const WORKERS: usize = 3;
/// Short, so that stalls, delays and crashes outlast them.
pub(crate) const TTL: Duration = Duration::from_secs(2);
/// What the clocks of two processes may be apart.
pub(crate) const SKEW: Duration = Duration::from_secs(1);
/// What a clock may be off: of two, one may be so much early and the other so much late.
const OFF_MAX: i64 = 500;
/// Longer than anybody is paused or a request on its way: what is remembered for nobody can be asked for by nobody.
const TOMBSTONE_KEEP: Duration = Duration::from_secs(180 * 60);
const DECISION_KEEP: Duration = Duration::from_secs(190 * 60);
const DEAD_LETTER_KEEP: Duration = Duration::from_secs(200 * 60);
/// One life in so many is paused before it ends.
const PAUSES: u64 = 5;
/// For how long, in milliseconds: hours of the index pass, with the time for which they stay on their lists.
const PAUSE_LEAST: u64 = 60 * 60_000;
pub(crate) const PAUSE_MOST: u64 = 150 * 60_000;

pub(crate) fn keeps() -> Keeps {
    let millis = |keep: Duration| i64::try_from(keep.as_millis()).unwrap_or(i64::MAX);
    Keeps { tombstone: millis(TOMBSTONE_KEEP), dead_letter: millis(DEAD_LETTER_KEEP) }
}

/// One life of a process.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    pub(crate) world: Arc<World>,
    pub(crate) clock: Arc<SkewedClock>,
    pub(crate) store: LeaseStore,
    pub(crate) number: u64,
    /// The life with which it is paused and ends.
    host: u64,
}

impl Life {
    pub(crate) async fn begin(world: &Arc<World>) -> Result<Self, Error> {
        let number = world.next_life();
        Self::begin_within(world, number, number).await
    }

    /// Another process with a store of its own, which lives only as long as this one.
    pub(crate) async fn beside(&self) -> Result<Self, Error> {
        Self::begin_within(&self.world, self.world.next_life(), self.host).await
    }

    async fn begin_within(world: &Arc<World>, number: u64, host: u64) -> Result<Self, Error> {
        // The farthest that is allowed comes as often as anything between.
        let off_millis = match world.below(4) {
            0 => -OFF_MAX,
            1 => OFF_MAX,
            _ => i64::try_from(world.below(1_001)).unwrap_or(0) - OFF_MAX,
        };
        let clock = Arc::new(SkewedClock::new(Arc::clone(&world.agenda), off_millis));
        let patience = Patience { attempts: 3, first_pause: Duration::from_millis(10), ..Patience::default() };
        let options = Options {
            skew: SKEW,
            max_ttl: Duration::from_secs(60),
            inline_bytes_max: 32,
            chunk_bytes: 64,
            tombstone_keep: TOMBSTONE_KEEP,
            decision_keep: DECISION_KEEP,
            dead_letter_keep: DEAD_LETTER_KEEP,
            patience,
            ..Options::default()
        };
        let sender = Sender { life: number, off_millis, is_late: false };
        let way = Way { world: Arc::clone(world), sender, host };
        let chance = Arc::new(SeededChance::new(world.bits()));
        let store = LeaseStore::open_by(way, options, Arc::clone(&clock) as _, chance).await?;
        Ok(Self { world: Arc::clone(world), clock, store, number, host })
    }
}

/// Lives of a process, one after another: each ends in the middle of whatever it does.
pub(crate) async fn process(world: Arc<World>, running: Arc<AtomicU64>) {
    while !world.is_over() {
        match Life::begin(&world).await {
            Ok(life) => live(&world, &life).await,
            Err(error) => world.broken(format!("a store could not be opened: {error}")),
        }
    }
    running.fetch_sub(1, Ordering::Relaxed);
}

async fn live(world: &Arc<World>, life: &Life) {
    let group = world.agenda.group();
    // Some sweep only while they have nothing else to do, which is seldom where many work.
    let (is_idle, is_busy) = match world.below(4) {
        0 => (true, false),
        1 => (true, true),
        _ => (false, true),
    };
    for _ in 0..if is_busy { WORKERS } else { 1 } {
        world.agenda.spawn(group, life.clone().work());
    }
    if is_idle {
        world.agenda.spawn(group, life.clone().sweep_when_idle());
    }
    if is_busy {
        world.agenda.spawn(group, life.clone().sweep_for_ever());
    }
    let lasts = if world.one_in(4) { 20_000 } else { 3_000 };
    world.sleep_millis(world.below(lasts)).await;
    if world.is_night() && !world.one_in(4) {
        // Most live to see the morning.
        world.rest().await;
        world.sleep_millis(world.below(1_000)).await;
    }
    if world.one_in(PAUSES) {
        return pause(world, life, group);
    }
    world.agenda.kill(group);
    world.fired(Fault::Crash);
    world.sleep_millis(world.below(50)).await;
}

/// Stops a process wherever it is, as a debugger does, or a machine that is moved. It goes on hours later, beside the one
/// that was started in its place, and does not live long.
fn pause(world: &Arc<World>, life: &Life, group: Group) {
    world.agenda.freeze(group);
    world.fired(Fault::Pause);
    let (world, number) = (Arc::clone(world), life.number);
    Arc::clone(&world).agenda.spawn(world.heaven, async move {
        world.sleep_millis(PAUSE_LEAST + world.below(PAUSE_MOST - PAUSE_LEAST)).await;
        world.was_paused(number);
        world.agenda.thaw(group);
        world.sleep_millis(world.below(3_000)).await;
        world.agenda.kill(group);
    });
}
