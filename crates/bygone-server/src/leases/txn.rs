//! Transactions.

use bygone_lease::{Key, Moment, Namespace, RolledBack, TxnId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::moment::{instant, millis_if_any};

/// Begins a transaction.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BeginRequest {
    /// How long it may last, in milliseconds; 30 seconds unless it is said, at most 30 minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
}

/// A transaction that has begun.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct BegunDocument {
    /// The transaction.
    pub txn: Uuid,
    /// When it ends, undone, unless it is committed or kept alive.
    #[serde(serialize_with = "millis_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
}

impl BegunDocument {
    /// Of a transaction.
    pub fn of(txn: TxnId, expires_at: Option<Moment>) -> Self {
        Self { txn: txn.0, expires_at: expires_at.map(instant) }
    }
}

/// Takes the lease of a key and stages a change of its state, in one step.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StageRequest {
    /// The transaction.
    pub txn: Uuid,
    /// The namespace of the key; `default` unless it is said.
    #[serde(default)]
    #[schema(value_type = String, min_length = 1, max_length = 256, required = false)]
    pub namespace: Namespace,
    /// The key.
    #[schema(value_type = String, min_length = 1, max_length = 256)]
    pub key: Key,
    /// Who asks, as others may see it.
    pub owner: String,
    /// How long the lease lasts, in milliseconds; 30 seconds unless it is said, at most 30 minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// What the state is to be, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Instead of `state`: in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_base64: Option<String>,
    /// Only if it has this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_version: Option<u64>,
}

/// Names a transaction.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TxnRequest {
    /// The transaction.
    pub txn: Uuid,
}

/// What was decided of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// All of it came true.
    Commit,
    /// None of it did.
    Rollback,
}

/// A transaction that came true.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct CommittedDocument {
    /// The transaction.
    pub txn: Uuid,
    /// `commit`.
    pub state: Verdict,
}

impl CommittedDocument {
    /// Of a transaction.
    pub fn of(txn: TxnId) -> Self {
        Self { txn: txn.0, state: Verdict::Commit }
    }
}

/// A transaction that was undone.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct RolledBackDocument {
    /// The transaction.
    pub txn: Uuid,
    /// `rollback`.
    pub state: Verdict,
    /// False when there was nothing to undo: it never was, or is long over.
    pub known: bool,
}

impl RolledBackDocument {
    /// Of a transaction.
    pub fn of(txn: TxnId, undone: RolledBack) -> Self {
        Self { txn: txn.0, state: Verdict::Rollback, known: undone == RolledBack::Now }
    }
}

/// Asks that transactions be ended that others left.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayRequest {}

/// What was ended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReplayedDocument {
    /// How many transactions.
    pub ended: u64,
}
