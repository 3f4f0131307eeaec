//! How a store is used. The defaults are those of the system that it follows.

use std::time::Duration;

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
    /// How long a waiting caller pauses between two looks, at first and at most, when the lease is another process's.
    pub poll: (Duration, Duration),
    /// Records remembered, so that the next step needs no read. What they say is proven by the swap itself.
    pub cached_records_max: usize,
    /// How long to put up with a store.
    pub patience: Patience,
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
            poll: (Duration::from_millis(50), Duration::from_secs(2)),
            cached_records_max: 10_000,
            patience: Patience::default(),
        }
    }
}
