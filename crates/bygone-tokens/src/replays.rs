//! The `jti` of DPoP proofs and logout tokens (RFC 9449, section 11.1): each is good for one time.

use std::sync::Arc;

use jiff::Timestamp;

use crate::error::TokenError;
use crate::lifetimes::micros;
use crate::schema::DPOP_REPLAYS;
use crate::secret::Digest;
use crate::store::{Store, stored};
use crate::tokens::Shared;

/// The store of identifiers that were seen.
#[derive(Clone)]
pub struct Replays(Store);

/// Whether an identifier is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// It is, and is remembered now.
    Fresh,
    /// It was seen before, and is still remembered.
    Seen,
}

impl Replays {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self(Store::new(shared, &DPOP_REPLAYS))
    }

    /// Remembers a `jti` of any length for as long as proofs are accepted. Whose `jti` it is belongs into it: put the
    /// key's thumbprint in front where two clients may choose the same.
    pub async fn remember(&self, jti: &str) -> Result<Replay, TokenError> {
        let now = self.0.now();
        self.remember_for(jti, now, now + micros(self.0.lifetimes().replay)).await
    }

    /// The same up to an instant; one that has passed is not remembered, and nothing that comes so late is fresh.
    pub async fn remember_until(&self, jti: &str, until: Timestamp) -> Result<Replay, TokenError> {
        let (now, until) = (self.0.now(), stored(until));
        if until <= now { Ok(Replay::Seen) } else { self.remember_for(jti, now, until).await }
    }

    async fn remember_for(&self, jti: &str, now: i64, until: i64) -> Result<Replay, TokenError> {
        let row = self.0.shared.row(now, until).with("jti", Digest::of(jti));
        Ok(if self.0.table().put(&row, now).await? { Replay::Fresh } else { Replay::Seen })
    }
}
