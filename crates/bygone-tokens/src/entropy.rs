//! Chance, injected: the one place where secrets come from.

use std::fmt;

use crate::error::TokenError;

/// Where random bytes come from.
pub trait Entropy: fmt::Debug + Send + Sync {
    /// Fills all of `bytes`, or fails: there is no second-best chance.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), TokenError>;
}

/// The operating system's.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), TokenError> {
        getrandom::fill(bytes).map_err(TokenError::Entropy)
    }
}
