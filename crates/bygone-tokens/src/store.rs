//! What each store has at hand: its table, the time, chance, and how long things live.

use std::sync::Arc;

use jiff::Timestamp;

use crate::error::TokenError;
use crate::lifetimes::Lifetimes;
use crate::secret::{Digest, Secret};
use crate::table::{ExpiringTable, Shape, Statements};
use crate::tokens::Shared;

/// A store over one table.
#[derive(Clone)]
pub(crate) struct Store {
    pub(crate) shared: Arc<Shared>,
    /// The table's quoted name.
    name: String,
    shape: &'static Shape,
}

impl Store {
    pub(crate) fn new(shared: &Arc<Shared>, shape: &'static Shape) -> Self {
        Self { shared: Arc::clone(shared), name: shared.naming.quoted(shape.name), shape }
    }

    pub(crate) fn table(&self) -> ExpiringTable<'_> {
        let client = &self.shared.client;
        ExpiringTable {
            client,
            statements: Statements { engine: client.engine(), table: &self.name, shape: self.shape },
        }
    }

    /// The one `now` of an operation.
    pub(crate) fn now(&self) -> i64 {
        self.shared.now()
    }

    pub(crate) fn lifetimes(&self) -> &Lifetimes {
        &self.shared.lifetimes
    }

    pub(crate) fn secret(&self) -> Result<Secret, TokenError> {
        Secret::random(&*self.shared.entropy)
    }

    pub(crate) fn mark(&self) -> Result<Digest, TokenError> {
        Digest::random(&*self.shared.entropy)
    }
}

/// An instant as callers know it.
pub(crate) fn instant(micros: i64) -> Timestamp {
    Timestamp::from_microsecond(micros).unwrap_or(if micros < 0 { Timestamp::MIN } else { Timestamp::MAX })
}

/// An instant as it is stored: whole microseconds, cut downwards, so that nothing lives longer than it should.
pub(crate) fn stored(at: Timestamp) -> i64 {
    i64::try_from(at.as_nanosecond().div_euclid(1_000)).unwrap_or(i64::MAX)
}
