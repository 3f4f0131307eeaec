//! Who was seen with the turn of a source. Nobody asks for it in order to tell: whoever asks for a turn gets it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

/// Who has the turn to sweep a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnHolder {
    /// We do.
    ThisDaemon,
    /// Somebody else did when we asked for it last.
    Another,
}

/// Who was seen with the turn of a source, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnSeen {
    /// Who.
    pub holder: TurnHolder,
    /// When that was found.
    pub at: Timestamp,
}

/// The turns by source.
#[derive(Debug, Default)]
pub(super) struct Turns(Mutex<BTreeMap<String, TurnSeen>>);

impl Turns {
    /// Takes note of who has a turn; `None` when we have given it back.
    pub(super) fn see(&self, source: &str, seen: Option<TurnSeen>) {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match seen {
            Some(seen) => turns.insert(source.to_owned(), seen),
            None => turns.remove(source),
        };
    }

    pub(super) fn of(&self, source: &str) -> Option<TurnSeen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(source).copied()
    }
}
