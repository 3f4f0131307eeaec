//! Identifiers: they sort by the time they were made at, those of one process also within a millisecond, and no two are
//! equal.

use std::sync::{Arc, Mutex, PoisonError};

use bygone_core::Clock;
use uuid::{Builder, Uuid};

use crate::chance::Chance;
use crate::moment::Moment;
use crate::planted::{self, Bug};

#[derive(Clone, Debug)]
pub(crate) struct Ids {
    clock: Arc<dyn Clock>,
    chance: Arc<dyn Chance>,
    /// The millisecond of the last one, and how many were made in it.
    last: Arc<Mutex<(u64, u16)>>,
}

impl Ids {
    pub(crate) fn new(clock: Arc<dyn Clock>, chance: Arc<dyn Chance>) -> Self {
        Self { clock, chance, last: Arc::new(Mutex::new((u64::MAX, 0))) }
    }

    /// What tells a write from every other, whoever makes it of whatever content.
    pub(crate) fn attempt(&self) -> Uuid {
        if planted::is(Bug::NoAttempt) { Uuid::nil() } else { self.next() }
    }

    /// A new one.
    pub(crate) fn next(&self) -> Uuid {
        let millis = u64::try_from(Moment::from(self.clock.now()).millis()).unwrap_or(0);
        let mut rest = [0; 10];
        // Twelve bits of it are used here: where they do not suffice, only the order is lost.
        rest[..2].copy_from_slice(&self.number(millis).to_be_bytes());
        rest[2..].copy_from_slice(&self.chance.bits().to_le_bytes());
        Builder::from_unix_timestamp_millis(millis, &rest).into_uuid()
    }

    /// How many were made in this millisecond before.
    fn number(&self, millis: u64) -> u16 {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = if last.0 == millis { (millis, last.1.wrapping_add(1)) } else { (millis, 0) };
        last.1
    }
}

#[cfg(test)]
mod tests {
    use bygone_core::ManualClock;
    use jiff::Timestamp;

    use super::*;
    use crate::SeededChance;

    #[test]
    fn those_of_a_millisecond_sort_as_they_were_made() {
        let clock = Arc::new(ManualClock::at(Timestamp::UNIX_EPOCH));
        let ids = Ids::new(Arc::clone(&clock) as Arc<dyn Clock>, Arc::new(SeededChance::new(7)));
        let mut made: Vec<Uuid> = (0..4096).map(|_| ids.next()).collect();
        clock.advance(std::time::Duration::from_millis(1));
        made.push(ids.next());
        assert!(made.is_sorted());
        made.dedup();
        assert_eq!(made.len(), 4097);
    }
}
