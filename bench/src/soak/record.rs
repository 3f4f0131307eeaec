//! Everything that was seen of a run, in the order in which it was: what verdicts and the picture are made of.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bygone_core::{Clock, SystemClock};
use jiff::Timestamp;
use serde::Serialize;

use super::book::Early;
use super::fault::Disturbance;
use super::part::Part;

/// A measurement of the daemon's process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Sample {
    /// Since the beginning of the run.
    pub(super) at: Duration,
    /// Which of the daemons.
    pub(super) life: usize,
    pub(super) memory_kib: u64,
    pub(super) handles: u64,
}

/// How much room things take, in bytes, and how many sweeps the history tells of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Space {
    pub(super) at: Duration,
    pub(super) ledger: u64,
    pub(super) sweeps: u64,
    pub(super) till: u64,
    pub(super) jobs: u64,
    pub(super) shop: Option<u64>,
}

/// How far behind a part is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Lag {
    pub(super) at: Duration,
    pub(super) part: Part,
    /// How long the oldest item has been past its time, by the writers' book.
    pub(super) oldest: Duration,
    /// How many there are.
    pub(super) overdue: u64,
}

/// The same, as the daemon tells it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Told {
    pub(super) at: Duration,
    pub(super) policy: String,
    pub(super) lag: Duration,
    pub(super) backlog: Option<u64>,
}

/// Something that did not work for somebody who uses what the daemon uses, too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Trouble {
    pub(super) from: Duration,
    pub(super) to: Duration,
    pub(super) who: Who,
    pub(super) what: String,
}

/// Who had trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Who {
    /// A writer of a part.
    Writer(Part),
    /// Whoever looks at a part.
    Looker(Part),
    /// Whoever asks the daemon.
    Asker,
}

/// All that was seen.
#[derive(Debug, Default, Serialize)]
pub(super) struct Seen {
    pub(super) samples: Vec<Sample>,
    pub(super) spaces: Vec<Space>,
    pub(super) lags: Vec<Lag>,
    pub(super) told: Vec<Told>,
    pub(super) disturbances: Vec<Disturbance>,
    pub(super) troubles: Vec<Trouble>,
    pub(super) early: Vec<Early>,
    /// Fencing tokens that were not higher than one before.
    pub(super) tokens_back: Vec<String>,
    /// Answers that were good.
    pub(super) answers: u64,
    /// How many looks each part had; early is only what is looked for.
    pub(super) looks: u64,
    /// What ended a run before its time, or the daemon.
    pub(super) broken: Vec<String>,
}

/// The daemon of the moment.
#[derive(Debug, Default)]
struct Living {
    life: usize,
    pid: Option<u32>,
}

/// The record of a run.
#[derive(Debug)]
pub(super) struct Record {
    clock: SystemClock,
    began: Timestamp,
    seen: Mutex<Seen>,
    living: Mutex<Living>,
}

impl Record {
    pub(super) fn new() -> Self {
        let clock = SystemClock::new();
        Self { began: clock.now(), clock, seen: Mutex::default(), living: Mutex::default() }
    }

    /// Now, by the wall.
    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Now, since the beginning.
    pub(super) fn at(&self) -> Duration {
        self.clock.elapsed()
    }

    /// A moment by the wall, since the beginning.
    pub(super) fn since_begin(&self, moment: Timestamp) -> Duration {
        Duration::try_from(moment.duration_since(self.began)).unwrap_or_default()
    }

    /// Waits.
    pub(super) async fn sleep(&self, time: Duration) {
        self.clock.sleep(time).await;
    }

    /// A daemon answers, the next one.
    pub(super) fn lives(&self, pid: u32) {
        let mut living = self.living();
        living.life += 1;
        living.pid = Some(pid);
    }

    /// It is about to end.
    pub(super) fn dies(&self) {
        self.living().pid = None;
    }

    /// The daemon that answers, and which it is.
    pub(super) fn alive(&self) -> Option<(u32, usize)> {
        let living = self.living();
        living.pid.map(|pid| (pid, living.life))
    }

    /// Somebody had trouble since a moment of the run.
    pub(super) fn trouble(&self, who: Who, from: Duration, what: impl Into<String>) {
        let trouble = Trouble { from, to: self.at(), who, what: what.into() };
        self.seen().troubles.push(trouble);
    }

    /// All that was seen so far.
    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn living(&self) -> MutexGuard<'_, Living> {
        self.living.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same, at the end.
    pub(super) fn take(&self) -> Seen {
        std::mem::take(&mut *self.seen())
    }
}
