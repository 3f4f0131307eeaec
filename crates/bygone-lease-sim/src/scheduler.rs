//! One thread and one seed: tasks are polled one at a time, chance says which comes next, and time stands still for as long
//! as anybody has something to do.
//!
//! A runtime for servers decides such things by itself, and never the same way twice. Here they are the input: the same seed
//! gives the same order, and a task can be dropped between any two of its steps, as a process is that is killed.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use bygone_lease::{Chance, SeededChance};

/// Those who live and die together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group(u64);

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What is to be done, and when: everybody's way to the scheduler.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    now: AtomicU64,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    timers: BTreeMap<(u64, u64), Waker>,
    spawned: Vec<(Group, Work)>,
    killed: Vec<Group>,
    frozen: Vec<Group>,
    /// Whether anybody goes on who was frozen.
    is_thaw: bool,
    numbers: u64,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("timers", &self.timers.len()).finish_non_exhaustive()
    }
}

impl Agenda {
    /// Milliseconds since the beginning.
    pub(crate) fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn group(&self) -> Group {
        Group(self.inner().number())
    }

    pub(crate) fn spawn(&self, group: Group, work: impl Future<Output = ()> + Send + 'static) {
        self.inner().spawned.push((group, Box::pin(work)));
    }

    /// Ends whatever a group is doing, wherever it is.
    pub(crate) fn kill(&self, group: Group) {
        self.inner().killed.push(group);
    }

    /// Lets a group do nothing more, wherever it is; for it no time passes.
    pub(crate) fn freeze(&self, group: Group) {
        self.inner().frozen.push(group);
    }

    /// Lets it go on.
    pub(crate) fn thaw(&self, group: Group) {
        let mut inner = self.inner();
        inner.frozen.retain(|frozen| *frozen != group);
        inner.is_thaw = true;
    }

    fn is_frozen(&self, group: Group) -> bool {
        self.inner().frozen.contains(&group)
    }

    /// Waits; no time at all is still somebody else's turn.
    pub(crate) fn sleep(&self, time: Duration) -> Sleep<'_> {
        let millis = u64::try_from(time.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX);
        Sleep { agenda: self, until: self.now().saturating_add(millis), is_set: false }
    }

    fn advance(&self) -> Option<Vec<Waker>> {
        let mut inner = self.inner();
        let (next, _) = *inner.timers.first_key_value()?.0;
        let later = inner.timers.split_off(&(next + 1, 0));
        self.now.fetch_max(next, Ordering::Relaxed);
        Some(std::mem::replace(&mut inner.timers, later).into_values().collect())
    }
}

impl Inner {
    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }
}

/// A pause.
#[derive(Debug)]
pub(crate) struct Sleep<'a> {
    agenda: &'a Agenda,
    until: u64,
    is_set: bool,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.is_set && self.agenda.now() >= self.until {
            return Poll::Ready(());
        }
        if !self.is_set {
            self.is_set = true;
            let mut inner = self.agenda.inner();
            let at = (self.until, inner.number());
            // Nobody waits for the end of time.
            if at.0 < u64::MAX / 2 {
                inner.timers.insert(at, context.waker().clone());
            }
        }
        Poll::Pending
    }
}

#[derive(Debug)]
struct Alarm {
    task: u64,
    is_ready: AtomicBool,
    ready: Arc<Mutex<Vec<u64>>>,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        if !self.is_ready.swap(true, Ordering::Relaxed) {
            self.ready.lock().unwrap_or_else(PoisonError::into_inner).push(self.task);
        }
    }
}

struct Task {
    group: Group,
    work: Work,
    alarm: Arc<Alarm>,
    waker: Waker,
}

/// Polls the tasks.
pub(crate) struct Scheduler {
    agenda: Arc<Agenda>,
    chance: SeededChance,
    tasks: BTreeMap<u64, Task>,
    ready: Arc<Mutex<Vec<u64>>>,
    /// Those who would go on if they were not frozen.
    aside: Vec<u64>,
}

impl Scheduler {
    pub(crate) fn new(agenda: Arc<Agenda>, chance: SeededChance) -> Self {
        Self { agenda, chance, tasks: BTreeMap::new(), ready: Arc::default(), aside: Vec::new() }
    }

    /// Lets one task have its turn, or time pass. False when nothing is left to be done.
    pub(crate) fn step(&mut self) -> bool {
        self.take_in();
        let Some(task) = self.choose() else {
            return self.agenda.advance().map(|wakers| wakers.into_iter().for_each(Waker::wake)).is_some();
        };
        // One that is gone may still be called.
        let Some(found) = self.tasks.get_mut(&task) else { return true };
        if self.agenda.is_frozen(found.group) {
            self.aside.push(task);
            return true;
        }
        found.alarm.is_ready.store(false, Ordering::Relaxed);
        let mut context = Context::from_waker(&found.waker);
        if found.work.as_mut().poll(&mut context).is_ready() {
            self.tasks.remove(&task);
        }
        true
    }

    fn choose(&self) -> Option<u64> {
        let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        let among = u64::try_from(ready.len()).unwrap_or(u64::MAX);
        match among {
            0 => None,
            1 => ready.pop(),
            _ => usize::try_from(self.chance.bits() % among).ok().map(|at| ready.swap_remove(at)),
        }
    }

    fn take_in(&mut self) {
        let (spawned, killed) = {
            let mut inner = self.agenda.inner();
            if std::mem::take(&mut inner.is_thaw) {
                self.ready.lock().unwrap_or_else(PoisonError::into_inner).append(&mut self.aside);
            }
            if inner.spawned.is_empty() && inner.killed.is_empty() {
                return;
            }
            (std::mem::take(&mut inner.spawned), std::mem::take(&mut inner.killed))
        };
        for (group, work) in spawned {
            let task = self.agenda.inner().number();
            let alarm = Arc::new(Alarm { task, is_ready: AtomicBool::new(false), ready: Arc::clone(&self.ready) });
            let waker = Waker::from(Arc::clone(&alarm));
            waker.wake_by_ref();
            self.tasks.insert(task, Task { group, work, alarm, waker });
        }
        if !killed.is_empty() {
            self.tasks.retain(|_, task| !killed.contains(&task.group));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_frozen_goes_on_where_he_was() {
        let agenda = Arc::new(Agenda::default());
        let mut scheduler = Scheduler::new(Arc::clone(&agenda), SeededChance::new(1));
        let turns = Arc::new(Mutex::new(Vec::new()));
        let (frozen, keeper) = (agenda.group(), agenda.group());
        let (clock, noted) = (Arc::clone(&agenda), Arc::clone(&turns));
        agenda.spawn(frozen, async move {
            for _ in 0..3 {
                noted.lock().unwrap().push(clock.now());
                clock.sleep(Duration::from_millis(10)).await;
            }
        });
        let clock = Arc::clone(&agenda);
        agenda.spawn(keeper, async move {
            clock.sleep(Duration::from_millis(5)).await;
            clock.freeze(frozen);
            clock.sleep(Duration::from_millis(100)).await;
            clock.thaw(frozen);
        });
        while scheduler.step() {}
        assert_eq!(*turns.lock().unwrap(), [0, 105, 115]);
    }

    /// Three who note their turns, and one who is killed in the middle.
    fn turns(seed: u64) -> Vec<(u64, u64)> {
        let agenda = Arc::new(Agenda::default());
        let mut scheduler = Scheduler::new(Arc::clone(&agenda), SeededChance::new(seed));
        let turns = Arc::new(Mutex::new(Vec::new()));
        let (survivors, victims) = (agenda.group(), agenda.group());
        for name in 0..4 {
            let (agenda, turns) = (Arc::clone(&agenda), Arc::clone(&turns));
            let group = if name == 3 { victims } else { survivors };
            Arc::clone(&agenda).spawn(group, async move {
                for _ in 0..4 {
                    turns.lock().unwrap().push((agenda.now(), name));
                    agenda.sleep(Duration::from_millis(10)).await;
                }
            });
        }
        let killer = Arc::clone(&agenda);
        agenda.spawn(survivors, async move {
            killer.sleep(Duration::from_millis(15)).await;
            killer.kill(victims);
        });
        while scheduler.step() {}
        Arc::try_unwrap(turns).unwrap().into_inner().unwrap()
    }

    #[test]
    fn a_seed_gives_an_order_and_time_passes_only_when_all_wait() {
        let order = turns(1);
        assert_eq!(order, turns(1));
        assert!((2..20).any(|seed| turns(seed) != order), "chance has a say");
        assert!(order.is_sorted_by_key(|(at, _)| *at));
        assert_eq!(order.iter().filter(|(_, name)| *name == 0).map(|(at, _)| *at).collect::<Vec<_>>(), [0, 10, 20, 30]);
        assert_eq!(order.iter().filter(|(_, name)| *name == 3).count(), 2, "killed after its second turn");
    }
}
