//! What processes do all day.

mod attachment;
mod lease;
mod queue;
mod sweep;
mod txn;

use std::sync::Arc;

use bygone_lease::{Error, Key, Versioned};

use crate::ledger::Call;
use crate::model::KeyOp;
use crate::names;
use crate::process::Life;

impl Life {
    /// Works until everything is done.
    pub(crate) async fn work(self) {
        while !self.world.is_over() {
            self.world.rest().await;
            match self.below(100) {
                0..=24 => self.edit().await,
                25..=27 => self.file().await,
                28 => self.look_at_attachments().await,
                29 => self.publish().await,
                30..=49 => self.transfer().await,
                50..=54 => self.write_in_a_hurry().await,
                55..=62 => self.look().await,
                63..=67 => self.abandon().await,
                68..=77 => self.post().await,
                78 => self.post_note().await,
                79 => self.post_together().await,
                _ => self.deliver().await,
            }
        }
    }

    fn bits(&self) -> u64 {
        self.world.bits()
    }

    fn one_in(&self, n: u64) -> bool {
        self.world.one_in(n)
    }

    fn below(&self, n: u64) -> u64 {
        self.world.below(n)
    }

    fn call(&self, key: &Key, may_do: Option<KeyOp>) -> Call {
        Call::begin(&self.world, self.number, key.as_str(), may_do)
    }

    /// An operation was answered.
    fn note<T>(&self, what: &'static str, name: &str, answer: &Result<T, Error>) {
        let how = answer.as_ref().err().map_or("ok", Error::code);
        self.world.answered(self.number, what, name, how);
        // Nobody is told that his time is over while his own clock says that it is not.
        if let Err(Error::LeaseExpired { expired_at }) = answer
            && expired_at.millis() >= self.clock.millis()
        {
            self.world.broken(format!("{what} {name}: refused at {} for {expired_at}", self.clock.millis()));
        }
    }

    /// Now and then somebody takes his time, and may find that it is over.
    async fn dawdle(&self) {
        if self.one_in(8) {
            self.world.sleep_millis(self.below(4_000)).await;
        }
    }
}

/// Ends a call that was refused, with what the refusal says of the key.
fn refused(call: Call, given: u64, error: &Error) {
    match *error {
        Error::OutcomeUnknown { .. } => call.unknown(),
        Error::FencingMismatch { found, .. } => call.refused(Some(KeyOp::Fenced { given, found })),
        Error::VersionConflict { found, .. } => call.refused(Some(KeyOp::VersionIs(found))),
        Error::AlreadyExists => call.refused(Some(KeyOp::Exists)),
        _ => call.refused(None),
    }
}

/// What was found, for the model.
fn found(life: &Life, found: Option<&Versioned>) -> Option<(u64, i64)> {
    found.map(|found| {
        let value = names::value_of(&found.state);
        if value.is_none() {
            Arc::clone(&life.world).broken(format!("{found:?} was never written"));
        }
        (found.version, value.unwrap_or_default())
    })
}
