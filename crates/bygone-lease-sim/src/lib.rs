//! A simulation of bygone's lease store: several processes, each with a clock of its own, over one store, in bad weather.
//!
//! Everything is decided by a seed: whose turn it is, delays, faults, crashes. So a seed that finds a broken promise finds it
//! again, in the same way, and the run that found it can be looked at for as long as it takes.
//!
//! ```
//! use bygone_lease_sim::{Settings, play};
//!
//! let report = play(Settings { seed: 7, operations: 1_000 }).expect("every promise is kept");
//! assert!(report.operations >= 1_000);
//! ```

mod clock;
mod ledger;
mod linear;
mod model;
mod names;
mod process;
mod report;
mod scheduler;
mod settle;
mod shelf;
mod trace;
mod weather;
mod witness;
mod work;
mod world;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bygone_lease::SeededChance;

pub use report::{Broken, Report};

use self::scheduler::{Agenda, Scheduler};
use self::world::World;

/// Which run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What decides everything.
    pub seed: u64,
    /// How many operations are answered before everybody goes home.
    pub operations: u64,
}

/// Steps between two looks at whether to go on.
const STEPS: u32 = 1_024;

/// Plays a seed to its end.
pub fn play(settings: Settings) -> Result<Report, Broken> {
    play_while(settings, |_| ControlFlow::Continue(()))
}

/// The same, and tells now and then how many operations were answered. Whoever stops it gets the report so far.
pub fn play_while(settings: Settings, mut go_on: impl FnMut(u64) -> ControlFlow<()>) -> Result<Report, Broken> {
    let agenda = Arc::new(Agenda::default());
    let seeds = SeededChance::new(settings.seed);
    let mut scheduler = Scheduler::new(Arc::clone(&agenda), split(&seeds));
    let world = Arc::new(World::new(Arc::clone(&agenda), split(&seeds), settings.operations));
    let is_done = Arc::new(AtomicBool::new(false));
    agenda.spawn(world.heaven, history(Arc::clone(&world), Arc::clone(&is_done)));
    let (mut steps, mut is_stopped) = (0_u32, false);
    while !is_done.load(Ordering::Relaxed) && !is_stopped {
        if let Some(what) = world.is_broken() {
            return Err(Broken::new(settings, &world, what));
        }
        if !scheduler.step() {
            return Err(Broken::new(settings, &world, "everybody waits, and nobody will ever come".to_owned()));
        }
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(STEPS) {
            is_stopped = go_on(world.operations.load(Ordering::Relaxed)).is_break();
        }
    }
    match world.is_broken() {
        Some(what) => Err(Broken::new(settings, &world, what)),
        None => Ok(Report::new(settings, &world, is_stopped)),
    }
}

fn split(seeds: &SeededChance) -> SeededChance {
    SeededChance::new(bygone_lease::Chance::bits(seeds))
}

/// Everything, from the first account to the last sweep.
async fn history(world: Arc<World>, is_done: Arc<AtomicBool>) {
    world.witness().keeps = Some(process::keeps());
    world.set_calm(true);
    if let Err(error) = settle::open_accounts(&world).await {
        world.broken(format!("no account could be opened: {error}"));
    }
    world.set_calm(false);
    let running = Arc::new(AtomicU64::new(0));
    for _ in 0..process::PROCESSES {
        running.fetch_add(1, Ordering::Relaxed);
        world.agenda.spawn(world.heaven, process::process(Arc::clone(&world), Arc::clone(&running)));
    }
    while running.load(Ordering::Relaxed) > 0 {
        world.sleep_millis(1_000).await;
    }
    if let Err(error) = settle::settle(&world).await {
        world.broken(format!("the end failed in good weather: {error}"));
    }
    is_done.store(true, Ordering::Relaxed);
}
