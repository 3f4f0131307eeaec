//! What can go wrong, each with what to do about it.

use std::time::Duration;

use uuid::Uuid;

use crate::moment::Moment;
use crate::storage::StorageError;

/// Why an operation did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that cannot be one.
    #[error("{name:?} is not a {what}: {flaw}")]
    BadName {
        /// What it should have been.
        what: &'static str,
        /// The name.
        name: String,
        /// What is wrong with it.
        flaw: &'static str,
    },
    /// Options with which promises could not be kept.
    #[error("the option {option} is not possible: {flaw}")]
    BadOptions {
        /// Which one.
        option: &'static str,
        /// What is wrong with it.
        flaw: &'static str,
    },
    /// A lifetime that leases cannot have.
    #[error("a lease cannot last {asked:?}: between {least:?} and {most:?} is possible")]
    BadTtl {
        /// The lifetime that was asked for.
        asked: Duration,
        /// The shortest one.
        least: Duration,
        /// The longest one.
        most: Duration,
    },
    /// A time that no message can have.
    #[error("the {what} of a message cannot be {asked:?}: {most:?} at most is possible")]
    BadTime {
        /// What it is of a message.
        what: &'static str,
        /// The time that was asked for.
        asked: Duration,
        /// The longest one.
        most: Duration,
    },
    /// Somebody else has the lease.
    #[error("the lease is held by {owner:?} until {expires_at}: try again in {retry_after:?}")]
    Held {
        /// Who has it, as he calls himself.
        owner: String,
        /// When it ends, unless it is extended.
        expires_at: Moment,
        /// When to try again.
        retry_after: Duration,
    },
    /// The operation needs a lease of the key, and the caller has none.
    #[error("the operation needs a lease of the key: acquire it first")]
    LeaseRequired,
    /// The caller's lease has ended.
    #[error("the lease ended at {expired_at}: acquire it again, and look at what happened meanwhile")]
    LeaseExpired {
        /// When it ended.
        expired_at: Moment,
    },
    /// The caller's lease was followed by another.
    #[error("the fencing token {given} is not the one of the lease, which is {found}: somebody else has it now")]
    FencingMismatch {
        /// The caller's.
        given: u64,
        /// The one of the lease.
        found: u64,
    },
    /// The key has state already.
    #[error("the key has state already")]
    AlreadyExists,
    /// The state is of another version than the caller expects.
    #[error("the state has version {found}, not {expected}: read it again")]
    VersionConflict {
        /// What the caller expects.
        expected: u64,
        /// What there is.
        found: u64,
    },
    /// The key is part of another transaction, or of one that must end first.
    #[error("the key takes part in a transaction that is not over: commit it or roll it back first")]
    TxnPending,
    /// The transaction was decided otherwise: nothing of it came true, or all of it.
    #[error("the transaction {txn} was decided otherwise, or is past its time: look at what is there, and begin anew")]
    TxnConflict {
        /// Which one.
        txn: Uuid,
    },
    /// There is no such transaction.
    #[error("there is no transaction {txn}: it was never begun, or is long over")]
    TxnUnknown {
        /// Which one.
        txn: Uuid,
    },
    /// Something that is larger than allowed.
    #[error("it has {bytes} bytes, and at most {most} are allowed")]
    TooLarge {
        /// Its bytes.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// More of something than a key may have.
    #[error("a key may have {most} {what}: remove some first")]
    TooMany {
        /// What there would be too many of.
        what: &'static str,
        /// The limit.
        most: usize,
    },
    /// What was to be stored could not be read.
    #[error("what was to be stored could not be read to its end, and nothing was changed: {reason}")]
    Source {
        /// What went wrong.
        reason: String,
    },
    /// What was being read was replaced meanwhile.
    #[error("{what} was replaced or removed while it was read: read it again")]
    Replaced {
        /// What it was.
        what: String,
    },
    /// Others changed the same record again and again.
    #[error("the record was changed by others {times} times in a row: try again")]
    Contended {
        /// How often.
        times: u32,
    },
    /// The clocks of the store and of this machine are too far apart.
    #[error("the clock is {off:?} off the store's, and {allowed:?} are allowed: set it right, by NTP for example")]
    ClockSkew {
        /// How far at least.
        off: Duration,
        /// How far they may be.
        allowed: Duration,
    },
    /// The store has too much to do.
    #[error("the store asks for fewer requests: try again later")]
    Throttled,
    /// The operation may have happened, or not, or may still happen.
    #[error("nobody knows whether this happened ({reason}): ask again with the same request id, or look")]
    OutcomeUnknown {
        /// What went wrong.
        reason: String,
    },
    /// Something in the store is not what it should be. It is left as it is.
    #[error("{key} cannot be read, and is left as it is: {reason}")]
    Unreadable {
        /// Its key in the store.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The store cannot be used like this.
    #[error(transparent)]
    Storage(StorageError),
}

impl Error {
    /// Something in the store is not what it should be.
    pub(crate) fn unreadable(key: &str, reason: &impl ToString) -> Self {
        Self::Unreadable { key: key.to_owned(), reason: reason.to_string() }
    }

    /// A word for programs: the same in every version, over every transport.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadName { .. } => "bad_name",
            Self::BadOptions { .. } => "bad_options",
            Self::BadTtl { .. } => "bad_ttl",
            Self::BadTime { .. } => "bad_time",
            Self::Held { .. } => "waiting",
            Self::LeaseRequired => "lease_required",
            Self::LeaseExpired { .. } => "lease_expired",
            Self::FencingMismatch { .. } => "fencing_mismatch",
            Self::AlreadyExists => "already_exists",
            Self::VersionConflict { .. } => "version_conflict",
            Self::TxnPending => "txn_pending",
            Self::TxnConflict { .. } => "txn_conflict",
            Self::TxnUnknown { .. } => "txn_unknown",
            Self::TooLarge { .. } => "too_large",
            Self::TooMany { .. } => "too_many",
            Self::Source { .. } => "source",
            Self::Replaced { .. } => "replaced",
            Self::Contended { .. } => "cas_mismatch",
            Self::ClockSkew { .. } => "clock_skew",
            Self::Throttled => "throttled",
            Self::OutcomeUnknown { .. } => "outcome_unknown",
            Self::Unreadable { .. } => "unreadable",
            Self::Storage(_) => "storage",
        }
    }
}

impl From<StorageError> for Error {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Throttled => Self::Throttled,
            StorageError::Unknown { reason } => Self::OutcomeUnknown { reason },
            error => Self::Storage(error),
        }
    }
}
