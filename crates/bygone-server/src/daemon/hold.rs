//! What people hold back: a policy, or all of them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bygone_core::{Closed, Gate, Hindrance};

/// The policies that are paused, and whether everything is.
#[derive(Debug, Default)]
pub(crate) struct Holds {
    paused: Mutex<Paused>,
}

#[derive(Debug, Default)]
struct Paused {
    all: bool,
    policies: BTreeSet<String>,
}

impl Holds {
    /// What the ledger has; `None` stands for everything.
    pub(crate) fn of(held: impl IntoIterator<Item = Option<String>>) -> Self {
        let holds = Self::default();
        for policy in held {
            holds.set(policy.as_deref(), true);
        }
        holds
    }

    /// Pauses a policy, or all of them, or lets them go on.
    pub(crate) fn set(&self, policy: Option<&str>, is_paused: bool) {
        let mut paused = self.paused.lock().unwrap_or_else(PoisonError::into_inner);
        match policy {
            None => paused.all = is_paused,
            Some(policy) if is_paused => {
                paused.policies.insert(policy.to_owned());
            }
            Some(policy) => {
                paused.policies.remove(policy);
            }
        }
    }

    /// Whether everything is paused.
    pub(crate) fn is_everything(&self) -> bool {
        self.paused.lock().unwrap_or_else(PoisonError::into_inner).all
    }

    /// Why a policy is held, if it is.
    pub(crate) fn why(&self, policy: &str) -> Option<&'static str> {
        let paused = self.paused.lock().unwrap_or_else(PoisonError::into_inner);
        if paused.all {
            Some("everything is paused")
        } else if paused.policies.contains(policy) {
            Some("the policy is paused")
        } else {
            None
        }
    }
}

/// Closed while a policy is held.
#[derive(Debug)]
pub(crate) struct HoldGate {
    holds: Arc<Holds>,
    policy: String,
}

impl HoldGate {
    pub(crate) fn new(holds: &Arc<Holds>, policy: &str) -> Arc<Self> {
        Arc::new(Self { holds: Arc::clone(holds), policy: policy.to_owned() })
    }
}

#[async_trait]
impl Gate for HoldGate {
    async fn closed(&self) -> Option<Closed> {
        let reason = self.holds.why(&self.policy)?;
        Some(Closed { by: Hindrance::Held, reason: reason.to_owned() })
    }
}
