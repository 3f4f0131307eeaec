//! The turn to sweep a source.

use async_trait::async_trait;

use crate::Gate;

/// The turn of one sweeper among several over the same source: a gate that is open for as long as the turn lasts.
///
/// That there is one sweeper at a time saves work, and nothing else: whoever sweeps without the turn, or past its end, does
/// no harm.
#[async_trait]
pub trait Turn: Gate {
    /// Lets the next one have it. One that is dropped instead is given back later, when its holder is missed.
    async fn give_back(&self);
}
