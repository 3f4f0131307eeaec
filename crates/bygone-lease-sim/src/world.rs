//! Everything that the processes share, but are not told.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bygone_lease::{Chance, SeededChance};

use crate::clock::true_millis;
use crate::ledger::Ledger;
use crate::names::segment;
use crate::scheduler::{Agenda, Group};
use crate::shelf::Shelf;
use crate::trace::Trace;
use crate::witness::Witness;

/// So many operations make a day; then everybody rests, and hours pass.
const DAY_OPERATIONS: u64 = 1_500;
/// The longest night, in milliseconds.
const NIGHT_MAX: u64 = 2 * 3_600_000;

/// What can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// 429: the store asks for patience, and does nothing.
    Throttled,
    /// 409: somebody else is at the same key, and nothing is done.
    Collided,
    /// The store cannot be reached.
    Unreachable,
    /// The request never arrives, and nobody can tell.
    LostRequest,
    /// 5xx after the request was carried out.
    LostReply,
    /// Nobody hears of it, and it is carried out long after.
    Late,
    /// 412 for one's own write: something on the way sent it twice.
    SentTwice,
    /// It takes longer than a lease lasts.
    Stall,
    /// A listing that shows the store as it was a while ago.
    StaleListing,
    /// A listing that tells no versions.
    BareListing,
    /// A process dies, wherever it is.
    Crash,
    /// A process stands still for more than an hour, and goes on.
    Pause,
    /// Nobody hears of it, and it is carried out more than an hour after.
    Overdue,
}

impl Fault {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Throttled => "throttled",
            Self::Collided => "collided",
            Self::Unreachable => "unreachable",
            Self::LostRequest => "lost_request",
            Self::LostReply => "lost_reply",
            Self::Late => "late",
            Self::SentTwice => "sent_twice",
            Self::Stall => "stall",
            Self::StaleListing => "stale_listing",
            Self::BareListing => "bare_listing",
            Self::Crash => "crash",
            Self::Pause => "pause",
            Self::Overdue => "overdue",
        }
    }
}

/// How often things happened.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) faults: BTreeMap<&'static str, u64>,
    pub(crate) operations: BTreeMap<(&'static str, &'static str), u64>,
    pub(crate) requests: u64,
    pub(crate) nights: u64,
}

pub(crate) struct World {
    pub(crate) agenda: Arc<Agenda>,
    /// Those who never die.
    pub(crate) heaven: Group,
    pub(crate) operations: AtomicU64,
    pub(crate) operations_max: u64,
    chance: SeededChance,
    lives: AtomicU64,
    is_calm: AtomicBool,
    night_until: AtomicU64,
    next_night: AtomicU64,
    shelf: Mutex<Shelf>,
    witness: Mutex<Witness>,
    ledger: Mutex<Ledger>,
    counts: Mutex<Counts>,
    trace: Mutex<Trace>,
    broken: Mutex<Option<String>>,
    /// Until when the writes of a life to a key were sent twice last.
    twice: Mutex<HashMap<(u64, String), u64>>,
    /// Lives that were paused: what they do then they would have done hours ago.
    paused: Mutex<HashSet<u64>>,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("agenda", &self.agenda).finish_non_exhaustive()
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    pub(crate) fn new(agenda: Arc<Agenda>, chance: SeededChance, operations_max: u64) -> Self {
        Self {
            heaven: agenda.group(),
            agenda,
            operations: AtomicU64::new(0),
            operations_max,
            chance,
            lives: AtomicU64::new(0),
            is_calm: AtomicBool::new(true),
            night_until: AtomicU64::new(0),
            next_night: AtomicU64::new(DAY_OPERATIONS),
            shelf: Mutex::default(),
            witness: Mutex::default(),
            ledger: Mutex::default(),
            counts: Mutex::default(),
            trace: Mutex::default(),
            broken: Mutex::default(),
            twice: Mutex::default(),
            paused: Mutex::default(),
        }
    }

    pub(crate) fn bits(&self) -> u64 {
        self.chance.bits()
    }

    pub(crate) fn one_in(&self, n: u64) -> bool {
        self.bits().is_multiple_of(n)
    }

    /// Less than so many.
    pub(crate) fn below(&self, n: u64) -> u64 {
        self.bits() % n
    }

    /// The number of a life that begins.
    pub(crate) fn next_life(&self) -> u64 {
        self.lives.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn true_millis(&self) -> i64 {
        true_millis(&self.agenda)
    }

    pub(crate) async fn sleep_millis(&self, millis: u64) {
        self.agenda.sleep(Duration::from_millis(millis)).await;
    }

    pub(crate) fn shelf(&self) -> MutexGuard<'_, Shelf> {
        lock(&self.shelf)
    }

    pub(crate) fn witness(&self) -> MutexGuard<'_, Witness> {
        lock(&self.witness)
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        lock(&self.ledger)
    }

    pub(crate) fn counts(&self) -> MutexGuard<'_, Counts> {
        lock(&self.counts)
    }

    pub(crate) fn trace(&self) -> MutexGuard<'_, Trace> {
        lock(&self.trace)
    }

    pub(crate) fn fired(&self, fault: Fault) {
        *self.counts().faults.entry(fault.as_str()).or_default() += 1;
    }

    /// An operation was answered.
    pub(crate) fn answered(&self, life: u64, what: &'static str, name: &str, how: &'static str) {
        *self.counts().operations.entry((what, how)).or_default() += 1;
        self.trace().note(self.agenda.now(), life, what, name, how);
        let done = self.operations.fetch_add(1, Ordering::Relaxed) + 1;
        let is_dusk = done >= self.next_night.load(Ordering::Relaxed) && !self.is_calm();
        if is_dusk && !self.is_night() {
            self.next_night.store(done + DAY_OPERATIONS, Ordering::Relaxed);
            self.night_until.store(self.agenda.now() + self.below(NIGHT_MAX), Ordering::Relaxed);
            self.counts().nights += 1;
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.operations.load(Ordering::Relaxed) >= self.operations_max
    }

    pub(crate) fn is_night(&self) -> bool {
        self.agenda.now() < self.night_until.load(Ordering::Relaxed)
    }

    /// Rests until the morning, if it is night.
    pub(crate) async fn rest(&self) {
        let until = self.night_until.load(Ordering::Relaxed);
        let now = self.agenda.now();
        if now < until {
            self.sleep_millis(until - now).await;
        }
    }

    /// Good weather: nothing goes wrong, and nothing takes time.
    pub(crate) fn set_calm(&self, is_calm: bool) {
        self.is_calm.store(is_calm, Ordering::Relaxed);
    }

    pub(crate) fn is_calm(&self) -> bool {
        self.is_calm.load(Ordering::Relaxed)
    }

    /// A life goes on that was paused.
    pub(crate) fn was_paused(&self, life: u64) {
        lock(&self.paused).insert(life);
    }

    pub(crate) fn is_late(&self, life: u64) -> bool {
        lock(&self.paused).contains(&life)
    }

    /// A write of this life to the record of a key was sent twice.
    pub(crate) fn sent_twice(&self, life: u64, path: &str) {
        if let Some((_, key)) = path.split_once("/meta/") {
            lock(&self.twice).insert((life, key.to_owned()), self.agenda.now());
        }
    }

    /// Whether that happened since then.
    pub(crate) fn was_sent_twice(&self, life: u64, key: &str, since: u64) -> bool {
        lock(&self.twice).get(&(life, segment(key))).is_some_and(|at| *at >= since)
    }

    /// A promise was broken: the first one is told.
    pub(crate) fn broken(&self, what: impl fmt::Display) {
        lock(&self.broken).get_or_insert_with(|| what.to_string());
    }

    /// Demands that something be so.
    pub(crate) fn demand(&self, kept: Result<(), impl fmt::Display>) {
        if let Err(what) = kept {
            self.broken(what);
        }
    }

    pub(crate) fn is_broken(&self) -> Option<String> {
        lock(&self.broken).clone()
    }
}
