//! The last runs of every policy, at hand: whoever scrapes a thousand policies does not ask the ledger a thousand times.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::ledger::Run;

/// How many runs of a policy are kept at hand.
pub(crate) const RUNS_KEPT: u32 = 16;

/// What is known of a policy's last runs.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    /// The newest first.
    pub(crate) runs: VecDeque<Run>,
    /// When a run was last complete.
    pub(crate) completed: Option<Timestamp>,
}

/// The last runs of every policy.
#[derive(Debug, Default)]
pub(crate) struct Lately {
    policies: Mutex<BTreeMap<String, Recent>>,
}

impl Lately {
    /// Takes note of what the ledger tells.
    pub(crate) fn load(&self, policy: &str, runs: Vec<Run>, completed: Option<Timestamp>) {
        self.lock().insert(policy.to_owned(), Recent { runs: runs.into(), completed });
    }

    pub(crate) fn knows(&self, policy: &str) -> bool {
        self.lock().contains_key(policy)
    }

    /// Looks at what is known of a policy, where it is: runs are many, and are not copied for a look.
    pub(crate) fn look<T>(&self, policy: &str, look: impl FnOnce(&Recent) -> T) -> T {
        match self.lock().get(policy) {
            Some(recent) => look(recent),
            None => look(&Recent::default()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Recent>> {
        self.policies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
