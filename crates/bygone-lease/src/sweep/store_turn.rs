//! The turn to sweep a store, for sweepers that the engine runs: the same that idle sweepers take.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::{Closed, Gate, Hindrance, Turn};
use tokio::sync::Mutex;

use crate::Error;
use crate::store::LeaseStore;

/// How long the turn lasts unless it is renewed: whoever dies in it keeps the others waiting for no longer.
const LASTS: Duration = Duration::from_secs(30);
/// When it is renewed, before a page: the store is asked no more often.
const RENEW_AFTER: Duration = Duration::from_secs(10);

/// The turn of one sweeper of a store.
#[derive(Debug)]
pub struct StoreTurn {
    store: LeaseStore,
    /// When it was last taken; `None` when it was lost or given back.
    taken: Mutex<Option<Duration>>,
}

impl StoreTurn {
    /// Takes it, if nobody has it.
    pub async fn take(store: &LeaseStore) -> Result<Option<Arc<Self>>, Error> {
        let taken = store.shared.clock.elapsed();
        let is_ours = store.shared.take_turn(LASTS).await?;
        let turn = || Arc::new(Self { store: store.clone(), taken: Mutex::new(Some(taken)) });
        Ok(is_ours.then(turn))
    }

    /// Whether it is still ours after a look that was due. A store that does not answer takes it from us when its time is over.
    async fn renewed(&self, last: Duration) -> Option<Duration> {
        let shared = &self.store.shared;
        let now = shared.clock.elapsed();
        let since = now.saturating_sub(last);
        if since < RENEW_AFTER {
            return Some(last);
        }
        match shared.take_turn(LASTS).await {
            Ok(is_ours) => is_ours.then_some(now),
            Err(error) => {
                tracing::debug!(%error, "the turn to sweep could not be renewed");
                (since < LASTS).then_some(last)
            }
        }
    }
}

#[async_trait]
impl Gate for StoreTurn {
    async fn closed(&self) -> Option<Closed> {
        let mut taken = self.taken.lock().await;
        if let Some(last) = *taken {
            *taken = self.renewed(last).await;
        }
        let is_lost = taken.is_none();
        is_lost.then(|| Closed { by: Hindrance::Held, reason: "the turn to sweep was lost".to_owned() })
    }
}

#[async_trait]
impl Turn for StoreTurn {
    async fn give_back(&self) {
        if self.taken.lock().await.take().is_some()
            && let Err(error) = self.store.shared.give_turn_back().await
        {
            tracing::debug!(%error, "the turn to sweep ends by itself");
        }
    }
}
