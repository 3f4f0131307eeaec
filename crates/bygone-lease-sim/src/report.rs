//! How a run went.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::Serialize;

use crate::Settings;
use crate::world::World;

/// A run in which every promise was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// Operations that were answered.
    pub operations: u64,
    /// Whether somebody stopped it before its end: then nobody knows what would have been left.
    pub is_stopped: bool,
    /// A sum over everything that happened: the same for the same seed.
    pub trace: u64,
    /// Requests to the store.
    pub requests: u64,
    /// How much time passed, in the simulation.
    pub simulated: Duration,
    /// Nights, in which everything becomes due.
    pub nights: u64,
    /// Answers that were held against a model of their key.
    pub linearized: u64,
    /// What came so late that nobody could know of it, and is left.
    pub strays: u64,
    /// Faults, by kind.
    pub faults: BTreeMap<&'static str, u64>,
    /// Operations, by name and answer.
    pub answers: BTreeMap<String, u64>,
}

impl Report {
    pub(crate) fn new(settings: Settings, world: &World, is_stopped: bool) -> Self {
        let counts = world.counts();
        let answer = |(&(what, how), &count): (&(&str, &str), &u64)| (format!("{what}: {how}"), count);
        Self {
            seed: settings.seed,
            operations: world.operations.load(Ordering::Relaxed),
            is_stopped,
            trace: world.trace().sum(),
            requests: counts.requests,
            simulated: Duration::from_millis(world.agenda.now()),
            nights: counts.nights,
            linearized: world.ledger().checked(),
            strays: world.witness().strays(),
            faults: counts.faults.clone(),
            answers: counts.operations.iter().map(answer).collect(),
        }
    }

    /// How often an operation was answered in this way.
    pub fn answered(&self, what: &str, how: &str) -> u64 {
        self.answers.get(&format!("{what}: {how}")).copied().unwrap_or(0)
    }
}

/// A promise that was not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which run.
    pub settings: Settings,
    /// What was broken.
    pub what: String,
    /// After how many operations.
    pub operations: u64,
    /// A sum over everything that happened until then.
    pub trace: u64,
    /// The last that happened.
    pub tail: Vec<String>,
}

impl Broken {
    pub(crate) fn new(settings: Settings, world: &World, what: String) -> Self {
        let trace = world.trace();
        let operations = world.operations.load(Ordering::Relaxed);
        Self { settings, what, operations, trace: trace.sum(), tail: trace.tail() }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Settings { seed, operations } = self.settings;
        writeln!(f, "{}", self.what)?;
        self.tail.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        write!(f, "after {} operations, trace {:016x}; again: ", self.operations, self.trace)?;
        write!(
            f,
            "BYGONE_SIM_SEED={seed} BYGONE_SIM_OPERATIONS={operations} cargo nextest run -p bygone-lease-sim kept"
        )
    }
}

impl std::error::Error for Broken {}
