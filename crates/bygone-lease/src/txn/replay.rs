//! Ending transactions that others left, beside operations on state and queues.
//!
//! Nothing depends on it: whoever meets such a transaction ends it. It only spares him that, and costs nothing while
//! nothing is known to be pending. What is known: a look at the list of hours after opening, the transactions of this
//! process, and those that it met. Where a listing shows that there are none, none are known.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::TxnHours;
use crate::Error;
use crate::document;
use crate::layout;
use crate::store::{LeaseStore, Shared};

#[derive(Debug, Default)]
pub(crate) struct Replayed {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    known: Known,
    /// When the last run began.
    began: Option<Duration>,
    /// Where the next one goes on.
    after: Option<String>,
}

/// Whether transactions are pending, as far as we know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Known {
    /// Nobody has looked since the store was opened.
    #[default]
    Unknown,
    Some,
    None,
}

impl Replayed {
    /// There is one now.
    pub(crate) fn note_pending(&self) {
        self.with(|state| state.known = Known::Some);
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Until the listing is there, nobody knows whether any are pending. Whoever is dropped while he waits for it leaves that
/// they may be.
struct Doubt<'a> {
    replayed: &'a Replayed,
    is_dispelled: bool,
}

impl Drop for Doubt<'_> {
    fn drop(&mut self) {
        if !self.is_dispelled {
            self.replayed.note_pending();
        }
    }
}

impl LeaseStore {
    /// Ends transactions that others left, as far as one run of that goes; answers how many. Nobody has to ask for it: it is
    /// done beside other operations, and whoever meets such a transaction ends it.
    pub async fn replay(&self) -> Result<u64, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        // Asked for, it is no use to rely on what is known.
        shared.replayed.note_pending();
        shared.try_replay(shared.clock.elapsed()).await
    }
}

impl Shared {
    /// The one look after opening: whether any hour is on the list. Where it fails, the first operation looks.
    pub(crate) async fn look_for_pending(&self) -> Result<(), Error> {
        let hours: TxnHours = document::read(&*self.storage, layout::TXN_HOURS).await?;
        let known = if hours.pending.is_empty() { Known::None } else { Known::Some };
        self.replayed.with(|state| {
            // A transaction that was begun meanwhile is not forgotten.
            if state.known == Known::Unknown {
                state.known = known;
            }
        });
        Ok(())
    }

    /// Ends some of the transactions that others left, if it is time for it. What fails is left to the next run.
    pub(crate) async fn replay(&self) {
        let now = self.clock.elapsed();
        let is_due = self.replayed.with(|state| {
            let is_due = state.began.is_none_or(|began| now.saturating_sub(began) >= self.options.replay.every);
            let is_due = is_due && state.known != Known::None;
            if is_due {
                state.began = Some(now);
            }
            is_due
        });
        if is_due && let Err(error) = self.try_replay(now).await {
            tracing::debug!(%error, "transactions of others are left to the next run");
        }
    }

    async fn try_replay(&self, began: Duration) -> Result<u64, Error> {
        if !self.storage.capabilities().list {
            self.replayed.with(|state| state.known = Known::None);
            return Ok(0);
        }
        let (known, after) = self.replayed.with(|state| (state.known, state.after.take()));
        if known == Known::Unknown {
            self.look_for_pending().await?;
            if self.replayed.with(|state| state.known == Known::None) {
                return Ok(0);
            }
        }
        // Known to be empty only if nobody begins one while we look.
        self.replayed.with(|state| state.known = Known::None);
        let mut doubt = Doubt { replayed: &self.replayed, is_dispelled: false };
        let replay = self.options.replay;
        let limit = usize::try_from(replay.transactions_max).unwrap_or(usize::MAX);
        let listing = self.storage.list(layout::TXNS, after.as_deref(), limit).await;
        if listing.as_ref().is_ok_and(|listing| listing.keys.is_empty()) && after.is_none() {
            doubt.is_dispelled = true;
            return Ok(0);
        }
        drop(doubt);
        let listing = listing?;
        let mut ended = 0;
        for listed in &listing.keys {
            if self.clock.elapsed().saturating_sub(began) >= replay.run_time {
                break;
            }
            ended += u64::from(self.end_txn(listed, self.now()).await?.entry_removed);
            self.replayed.with(|state| state.after = Some(listed.key.clone()));
        }
        if !listing.more {
            self.replayed.with(|state| state.after = None);
        }
        Ok(ended)
    }
}
