//! Listens to a sweep, so that a bench can say where the time of ours went.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bygone_core::{Clock, Event, Observer, SystemClock};

/// An observer with a clock of its own.
pub(crate) struct Watch {
    clock: Arc<SystemClock>,
    seen: Mutex<Seen>,
}

/// What it saw.
#[derive(Default)]
pub(crate) struct Seen {
    /// When the survey was done.
    pub(crate) surveyed: Duration,
    /// How long each page took.
    pub(crate) pages: Vec<Duration>,
    /// The most items that one of them examined.
    pub(crate) page_items_max: u64,
    /// Pages that failed.
    pub(crate) failed: usize,
}

impl Watch {
    /// Listens by this clock.
    pub(crate) fn new(clock: Arc<SystemClock>) -> Arc<Self> {
        Arc::new(Self { clock, seen: Mutex::default() })
    }

    /// What was seen since the last time.
    pub(crate) fn take(&self) -> Seen {
        std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for Watch {
    fn on(&self, event: &Event<'_>) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::PolicyStarted { .. } => seen.surveyed = self.clock.elapsed(),
            Event::PageSwept { page, time, .. } => {
                seen.pages.push(*time);
                seen.page_items_max = seen.page_items_max.max(page.examined);
            }
            Event::PageFailed { .. } => seen.failed += 1,
            _ => {}
        }
    }
}
