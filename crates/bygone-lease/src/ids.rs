//! Identifiers: they sort by the time they were made at, and no two are equal.

use std::sync::Arc;

use bygone_core::Clock;
use uuid::{Builder, Uuid};

use crate::chance::Chance;
use crate::moment::Moment;

#[derive(Clone, Debug)]
pub(crate) struct Ids {
    clock: Arc<dyn Clock>,
    chance: Arc<dyn Chance>,
}

impl Ids {
    pub(crate) fn new(clock: Arc<dyn Clock>, chance: Arc<dyn Chance>) -> Self {
        Self { clock, chance }
    }

    /// A new one.
    pub(crate) fn next(&self) -> Uuid {
        let millis = u64::try_from(Moment::from(self.clock.now()).millis()).unwrap_or(0);
        let mut random = [0; 10];
        let (low, high) = (self.chance.bits().to_le_bytes(), self.chance.bits().to_le_bytes());
        random[..8].copy_from_slice(&low);
        random[8..].copy_from_slice(&high[..2]);
        Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
    }
}
