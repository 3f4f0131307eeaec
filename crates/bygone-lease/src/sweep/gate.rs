//! What lets an idle sweep go on to its next entry.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::idle::{Ended, IdleOptions};
use crate::store::Shared;

/// Shared by the parts of one run.
#[derive(Debug)]
pub(crate) struct Gate {
    shared: Arc<Shared>,
    options: IdleOptions,
    began: Duration,
    /// How many operations there had been by then.
    operations: u64,
    entries: AtomicU64,
    requests: AtomicU64,
    ended: Mutex<Option<Ended>>,
    stop: CancellationToken,
}

impl Gate {
    pub(crate) fn new(shared: Arc<Shared>, options: IdleOptions, stop: CancellationToken) -> Self {
        let (began, operations) = (shared.clock.elapsed(), shared.activity.begun());
        let (entries, requests) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { shared, options, began, operations, entries, requests, ended: Mutex::default(), stop }
    }

    /// Waits for its turn to look at another entry. False when the run is over.
    pub(crate) async fn pass(&self) -> bool {
        let entries = self.entries.fetch_add(1, Ordering::AcqRel);
        if entries > 0 && self.why_not(entries).is_none() {
            self.shared.clock.sleep(self.options.entry_pause).await;
        }
        let why = self.why_not(entries);
        if let Some(why) = why {
            self.ended.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
            self.stop.cancel();
        }
        why.is_none()
    }

    pub(crate) fn spend(&self, requests: u64) {
        self.requests.fetch_add(requests, Ordering::AcqRel);
    }

    pub(crate) fn ended(&self) -> Ended {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or(Ended::Complete)
    }

    fn why_not(&self, entries: u64) -> Option<Ended> {
        let most = self.options.operations_max;
        if self.shared.activity.begun() != self.operations {
            Some(Ended::Activity)
        } else if entries >= most {
            Some(Ended::Entries)
        } else if self.requests.load(Ordering::Acquire) >= most {
            Some(Ended::Requests)
        } else if self.shared.clock.elapsed().saturating_sub(self.began) >= self.options.run_time {
            Some(Ended::RunTime)
        } else {
            None
        }
    }
}
