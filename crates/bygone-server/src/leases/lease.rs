//! Leases: taken, kept and given back.

use bygone_lease::{Key, Lease, Moment, Namespace, Released, TxnId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::moment::{instant, millis};

/// A lease.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LeaseDocument {
    /// The namespace of its key.
    #[schema(value_type = String, min_length = 1, max_length = 256)]
    pub namespace: Namespace,
    /// The key.
    #[schema(value_type = String, min_length = 1, max_length = 256)]
    pub key: Key,
    /// Which lease of it.
    pub id: Uuid,
    /// Who holds it, as he calls himself.
    pub owner: String,
    /// Higher than that of every earlier lease of the key.
    pub fencing_token: u64,
    /// When it ends, unless it is extended.
    #[serde(serialize_with = "millis")]
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// The version of the key's state.
    pub version: u64,
    /// The transaction that it was taken in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub txn: Option<Uuid>,
}

impl From<&Lease> for LeaseDocument {
    fn from(lease: &Lease) -> Self {
        Self {
            namespace: lease.namespace.clone(),
            key: lease.key.clone(),
            id: lease.id,
            owner: lease.owner.clone(),
            fencing_token: lease.fencing_token,
            expires_at: instant(lease.expires_at),
            version: lease.version,
            txn: lease.txn.map(|txn| txn.0),
        }
    }
}

impl From<LeaseDocument> for Lease {
    fn from(document: LeaseDocument) -> Self {
        Self {
            namespace: document.namespace,
            key: document.key,
            id: document.id,
            owner: document.owner,
            fencing_token: document.fencing_token,
            expires_at: Moment::from(document.expires_at),
            version: document.version,
            txn: document.txn.map(TxnId),
        }
    }
}

/// Asks for a lease.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AcquireRequest {
    /// The namespace of the key; `default` unless it is said.
    #[serde(default)]
    #[schema(value_type = String, min_length = 1, max_length = 256, required = false)]
    pub namespace: Namespace,
    /// The key.
    #[schema(value_type = String, min_length = 1, max_length = 256)]
    pub key: Key,
    /// Who asks, as others may see it.
    pub owner: String,
    /// How long it lasts, in milliseconds; 30 seconds unless it is said, at most 30 minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// How long to wait while somebody else has it, in milliseconds; not at all unless it is said. What is longer than 25
    /// seconds is cut off there: ask again, with the same `request`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// The caller's own name for this request: whoever lost the answer asks again with the same, and gets the same lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Only if the key has no state.
    #[serde(default)]
    pub if_not_exists: bool,
    /// In this transaction: what the holder changes comes true when it is committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub txn: Option<Uuid>,
}

/// Extends a lease.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeepaliveRequest {
    /// The lease.
    pub lease: LeaseDocument,
    /// How long it lasts from now on, in milliseconds; as long as it was given for unless it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
}

/// Names a lease.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseRequest {
    /// The lease.
    pub lease: LeaseDocument,
}

/// What a release found.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReleasedDocument {
    /// False when the lease was over already.
    pub released: bool,
}

impl From<Released> for ReleasedDocument {
    fn from(released: Released) -> Self {
        Self { released: released == Released::Now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_that_was_given_out_is_read_back() {
        let lease = Lease {
            namespace: Namespace::new("n").unwrap(),
            key: Key::new("a/b").unwrap(),
            id: Uuid::from_u128(1),
            owner: "me".to_owned(),
            fencing_token: 1_795_003_200_123_456,
            expires_at: Moment::from_millis(1_795_003_200_123),
            version: 3,
            txn: Some(TxnId(Uuid::from_u128(9))),
        };
        let text = serde_json::to_string(&LeaseDocument::from(&lease)).unwrap();
        assert_eq!(Lease::from(serde_json::from_str::<LeaseDocument>(&text).unwrap()), lease, "{text}");
    }

    #[test]
    fn a_request_is_read_strictly_and_says_no_more_than_it_was_told() {
        let least: AcquireRequest = serde_json::from_str(r#"{"key": "k", "owner": "me"}"#).unwrap();
        assert_eq!((least.namespace.as_str(), least.ttl_ms, least.if_not_exists), ("default", None, false));
        let written = serde_json::to_value(&least).unwrap();
        let said = serde_json::json!({ "namespace": "default", "key": "k", "owner": "me", "if_not_exists": false });
        assert_eq!(written, said);
        for wrong in [r#"{"key": "k"}"#, r#"{"key": "k", "owner": "me", "ttl": 3}"#, r#"{"key": "", "owner": "me"}"#] {
            assert!(serde_json::from_str::<AcquireRequest>(wrong).is_err(), "{wrong}");
        }
    }
}
