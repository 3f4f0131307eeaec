//! A gate before a server that has enough to do: closed while it has, and while nobody can tell.

mod neighbours;
mod replicas;
mod work;

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Clock, Closed, Gate, ManualClock};
use bygone_sql::{LoadGate, LoadLimits, SourceUrl};
use bygone_testkit::wait::Wait;
use jiff::Timestamp;

/// A gate, and the clock by which it remembers.
struct Watch {
    gate: Arc<LoadGate>,
    clock: Arc<ManualClock>,
}

impl Watch {
    fn over(url: &str, limits: LoadLimits) -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH));
        let url = SourceUrl::parse(url).unwrap();
        Self { gate: LoadGate::new(url, limits, Arc::clone(&clock) as Arc<dyn Clock>), clock }
    }

    /// What it says so much later.
    async fn after(&self, time: Duration) -> Option<Closed> {
        self.clock.advance(time);
        self.gate.closed().await
    }

    /// What it says when it has to ask again.
    async fn now(&self) -> Option<Closed> {
        self.after(Duration::from_secs(2)).await
    }

    /// Asks until it is closed for something that is said.
    async fn until_closed(&self, reason: &str) -> Closed {
        let mut wait = Wait::up_to(Duration::from_mins(1));
        loop {
            let found = self.now().await;
            if let Some(closed) = found.clone().filter(|closed| closed.reason.contains(reason)) {
                return closed;
            }
            assert!(wait.again().await, "not closed by {reason:?}: {found:?}");
        }
    }

    /// Asks until it is open.
    async fn until_open(&self) {
        let mut wait = Wait::up_to(Duration::from_mins(1));
        while let Some(closed) = self.now().await {
            assert!(wait.again().await, "not open: {closed:?}");
        }
    }
}

fn sessions(limit: u64) -> LoadLimits {
    LoadLimits { active_sessions: Some(limit), ..LoadLimits::default() }
}

fn transactions(limit: u64) -> LoadLimits {
    LoadLimits { transactions_per_second: Some(limit), ..LoadLimits::default() }
}
