//! DPoP nonces (RFC 9449, sections 8 and 9): given out, accepted once, worth nothing afterwards.

use std::sync::Arc;

use jiff::Timestamp;

use crate::error::TokenError;
use crate::lifetimes::micros;
use crate::schema::DPOP_NONCES;
use crate::secret::{Digest, Secret};
use crate::store::{Store, instant};
use crate::table::Change;
use crate::tokens::Shared;

/// The store of DPoP nonces.
#[derive(Clone)]
pub struct Nonces(Store);

/// A nonce that was just made.
#[derive(Clone, Debug)]
pub struct IssuedNonce {
    /// What the client echoes.
    pub nonce: Secret,
    /// Until when it is accepted.
    pub expires_at: Timestamp,
}

/// What became of a nonce that was presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonceUse {
    /// It was valid, and is used now.
    Accepted,
    /// It was used before.
    Used,
    /// It was never used and came too late.
    Expired,
    /// It was never issued, or so long ago that nobody remembers.
    Unknown,
}

impl Nonces {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self(Store::new(shared, &DPOP_NONCES))
    }

    /// Makes a nonce.
    pub async fn issue(&self) -> Result<IssuedNonce, TokenError> {
        let (now, nonce) = (self.0.now(), self.0.secret()?);
        let expires_at = now + micros(self.0.lifetimes().nonce);
        let row = self.0.shared.row(now, expires_at).with("nonce", Digest::of(nonce.expose()));
        self.0.table().put_new(&row, now).await?;
        Ok(IssuedNonce { nonce, expires_at: instant(expires_at) })
    }

    /// Whether a nonce would be accepted.
    pub async fn is_valid(&self, nonce: &str) -> Result<bool, TokenError> {
        let found = self.0.table().get(&[("nonce", Digest::of(nonce))], self.0.now()).await?;
        Ok(found.is_some_and(|row| !row.has("used_at")))
    }

    /// Accepts a nonce, once.
    pub async fn accept(&self, nonce: &str) -> Result<NonceUse, TokenError> {
        let (now, key) = (self.0.now(), [("nonce", Digest::of(nonce))]);
        if self.0.table().change(&key, &Change::take("used_at", now), now).await?.is_some() {
            return Ok(NonceUse::Accepted);
        }
        Ok(match self.0.table().recall(&key, now).await? {
            Some(row) if row.has("used_at") => NonceUse::Used,
            Some(_) => NonceUse::Expired,
            None => NonceUse::Unknown,
        })
    }
}
