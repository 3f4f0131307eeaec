//! When to sweep a store, whose turn it is, and where the last sweep stopped.
//!
//! Several processes over one store need not sweep it at once: one takes the turn, for a while, by a small lease of its
//! own. Nothing else depends on it. Whoever sweeps without it, or past its end, does no harm, since every step of a sweep
//! is a swap.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::Error;
use crate::document;
use crate::layout;
use crate::moment::Moment;
use crate::store::Shared;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Turn {
    /// The process that sweeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    holder: Option<Uuid>,
    /// Until when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Moment>,
    /// The namespace that came last in a sweep that was cut short: the next one begins behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
}

impl Shared {
    /// Waits until it is time to look again. False when told to stop.
    pub(super) async fn rest(&self, time: Duration, stop: &CancellationToken) -> bool {
        tokio::select! {
            biased;
            () = stop.cancelled() => false,
            () = self.clock.sleep(time) => true,
        }
    }

    /// Takes the turn for a while. False if somebody else has it.
    pub(crate) async fn take_turn(&self, time: Duration) -> Result<bool, Error> {
        let now = self.now();
        let turn = document::amend(&*self.storage, &self.ids, layout::SWEEPER, |turn: &mut Turn| {
            let is_over = turn.expires_at.is_none_or(|end| end.plus(self.options.skew).has_passed(now));
            let is_free = turn.holder.is_none_or(|holder| holder == self.process) || is_over;
            if is_free {
                (turn.holder, turn.expires_at) = (Some(self.process), Some(now.plus(time)));
            }
            is_free
        });
        Ok(turn.await?.holder == Some(self.process))
    }

    pub(crate) async fn give_turn_back(&self) -> Result<(), Error> {
        let give_back = |turn: &mut Turn| {
            let is_ours = turn.holder == Some(self.process);
            if is_ours {
                (turn.holder, turn.expires_at) = (None, None);
            }
            is_ours
        };
        document::amend(&*self.storage, &self.ids, layout::SWEEPER, give_back).await.map(drop)
    }

    /// Remembers where a sweep was cut short.
    pub(crate) async fn remember_namespace(&self, namespace: &str) -> Result<(), Error> {
        let remember = |turn: &mut Turn| turn.after.replace(namespace.to_owned()).as_deref() != Some(namespace);
        document::amend(&*self.storage, &self.ids, layout::SWEEPER, remember).await.map(drop)
    }
}
