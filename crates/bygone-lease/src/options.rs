//! How a store is used. The defaults are those of the system that it follows.

use std::time::Duration;

use crate::Error;
use crate::storage::Patience;

/// How leases are given, and what is kept for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How long a lease lasts where the caller does not say.
    pub default_ttl: Duration,
    /// The longest that a lease may last without being extended.
    pub max_ttl: Duration,
    /// How far the clocks of two processes may be apart. A lease that another process granted counts as ended only so
    /// much later.
    pub skew: Duration,
    /// State up to so many bytes stands in the record itself.
    pub inline_bytes_max: usize,
    /// The most bytes that state may have, in the record or beside it.
    pub state_bytes_max: usize,
    /// Larger values are written in pieces of so many bytes.
    pub chunk_bytes: usize,
    /// The most attachments that a key may have.
    pub attachments_max: usize,
    /// The most bytes that a message may have.
    pub message_bytes_max: usize,
    /// How long a message stays that was put aside.
    pub dead_letter_keep: Duration,
    /// How long the record of a key stays after there is nothing left in it. It holds the last fencing token, so this is
    /// longer than any clock may be off.
    pub tombstone_keep: Duration,
    /// How long the decision of a transaction is remembered.
    pub decision_keep: Duration,
    /// How long state stays that nobody changes, if not for ever. Every process over a store must have the same.
    pub retention: Option<Duration>,
    /// How transactions that others left are ended beside other operations.
    pub replay: Replay,
    /// How often the clocks of the store and of this machine are compared, beyond the first time.
    pub clock_check_every: Duration,
    /// How long a waiting caller pauses between two looks, at first and at most, when the lease is another process's.
    pub poll: (Duration, Duration),
    /// Records remembered, so that the next step needs no read. What they say is proven by the swap itself.
    pub cached_records_max: usize,
    /// How long to put up with a store.
    pub patience: Patience,
}

/// How much of the work that others left is done beside an operation on state or a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replay {
    /// The time between two runs.
    pub every: Duration,
    /// The most transactions that a run looks at.
    pub transactions_max: u64,
    /// How long a run may take.
    pub run_time: Duration,
}

impl Default for Replay {
    fn default() -> Self {
        Self { every: Duration::from_secs(5), transactions_max: 128, run_time: Duration::from_secs(2) }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            default_ttl: Duration::from_secs(30),
            max_ttl: Duration::from_secs(30 * 60),
            skew: Duration::from_secs(2),
            inline_bytes_max: 32 << 10,
            state_bytes_max: 64 << 20,
            chunk_bytes: 4 << 20,
            attachments_max: 256,
            message_bytes_max: 256 << 10,
            dead_letter_keep: Duration::from_secs(14 * 24 * 3600),
            tombstone_keep: Duration::from_secs(24 * 3600),
            decision_keep: Duration::from_secs(24 * 3600),
            retention: None,
            replay: Replay::default(),
            clock_check_every: Duration::from_secs(60),
            poll: (Duration::from_millis(50), Duration::from_secs(2)),
            cached_records_max: 10_000,
            patience: Patience::default(),
        }
    }
}

impl Options {
    /// Whether what they promise can be kept.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let flaws = [
            // The next token is by the clock then: it must be past every token that any clock has given.
            (
                self.tombstone_keep <= self.skew.saturating_mul(2),
                "tombstone_keep",
                "tokens could go back: it must be more than twice the skew",
            ),
            // Whoever kept a lease alive until the last moment must still find out what was decided.
            (
                self.decision_keep <= self.max_ttl.saturating_add(self.skew.saturating_mul(2)),
                "decision_keep",
                "decisions could be forgotten while they are needed: it must be longer than max_ttl and twice the skew",
            ),
            (
                self.default_ttl.is_zero() || self.default_ttl > self.max_ttl,
                "default_ttl",
                "it must be more than nothing, and at most max_ttl",
            ),
            (self.chunk_bytes == 0, "chunk_bytes", "it must be more than nothing"),
            (self.retention.is_some_and(|retention| retention.is_zero()), "retention", "it must be more than nothing"),
        ];
        match flaws.into_iter().find(|(is_flawed, ..)| *is_flawed) {
            Some((_, option, flaw)) => Err(Error::BadOptions { option, flaw }),
            None => Ok(()),
        }
    }
}
