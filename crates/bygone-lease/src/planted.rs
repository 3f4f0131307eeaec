//! Bugs that can be planted, so that the simulation can show that it would find them.
//!
//! Without the feature `planted`, which nothing but tests turns on, each of these questions is answered by a constant, and
//! nothing of them is left in what is built.

/// A mistake that somebody could make, or has made.
#[cfg_attr(not(feature = "planted"), expect(unreachable_pub, reason = "only tests can name a bug to plant"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// Whoever had a lease once may write, whoever has it now.
    NoFencing,
    /// The index entry is written after the record that needs it.
    IndexAfterRecord,
    /// What was staged is discarded with the lease, before anybody asked for the decision.
    DiscardBeforeDecision,
    /// An hour leaves its list when a page of it was gone through.
    HourDroppedEarly,
    /// Nothing tells two writes of the same content apart.
    NoAttempt,
    /// What ends now is over.
    EndsNow,
    /// A key that came too late for the decision counts.
    LateParticipant,
    /// An entry goes, and the record still relies on it.
    EntryBeforeRecord,
    /// A message is delivered though its transaction was rolled back.
    UndoneDelivered,
    /// A message goes at the last moment of its time, not after it.
    GoesEarly,
    /// What stands beside a record is written before the errand that leads to it.
    BlobBeforeErrand,
    /// What stands beside a record is removed, though the record names it.
    RemovesNamed,
}

#[cfg(feature = "planted")]
mod chosen {
    use std::cell::Cell;

    use super::Bug;

    thread_local! {
        static BUG: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    /// A bug in the ground of this thread, until it is dropped.
    #[derive(Debug)]
    pub struct Planted(());

    /// Plants a bug, for everything that this thread does.
    #[must_use]
    pub fn plant(bug: Bug) -> Planted {
        BUG.set(Some(bug));
        Planted(())
    }

    impl Drop for Planted {
        fn drop(&mut self) {
            BUG.set(None);
        }
    }

    pub(crate) fn is(bug: Bug) -> bool {
        BUG.get() == Some(bug)
    }
}

#[cfg(feature = "planted")]
pub(crate) use chosen::is;
#[cfg(feature = "planted")]
pub use chosen::{Planted, plant};

/// No bug is planted.
#[cfg(not(feature = "planted"))]
pub(crate) const fn is(_: Bug) -> bool {
    false
}
