//! The state of keys.

use bygone_lease::{Description, Key, Namespace, Versioned};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::lease::LeaseDocument;
use super::moment::{instant, millis_if_any};
use super::text_or_base64;

/// Asks for the state of a key: by its name, or as the holder of its lease, who sees what he has staged.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GetRequest {
    /// The namespace of the key; `default` unless it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 256)]
    pub namespace: Option<Namespace>,
    /// The key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 256)]
    pub key: Option<Key>,
    /// Instead of both: its lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseDocument>,
}

/// State.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct StateDocument {
    /// The namespace of the key.
    #[schema(value_type = String)]
    pub namespace: Namespace,
    /// The key.
    #[schema(value_type = String)]
    pub key: Key,
    /// Grows with every change.
    pub version: u64,
    /// The state, where it is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The state, where it is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_base64: Option<String>,
}

impl StateDocument {
    /// The state of a key.
    pub fn of(namespace: Namespace, key: Key, found: &Versioned) -> Self {
        let (state, state_base64) = text_or_base64(&found.state);
        Self { namespace, key, version: found.version, state, state_base64 }
    }
}

/// Changes state, under a lease.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateRequest {
    /// The lease.
    pub lease: LeaseDocument,
    /// What the state is to be, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Instead of `state`: in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_base64: Option<String>,
    /// Only if it has this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_version: Option<u64>,
    /// Gives the lease back in the same step.
    #[serde(default)]
    pub release: bool,
}

/// The same where the body is the state.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StateParameters {
    /// Only if it has this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_version: Option<u64>,
    /// Gives the lease back in the same step.
    #[serde(default)]
    #[param(required = false)]
    pub release: bool,
}

/// Removes state, under a lease.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveRequest {
    /// The lease.
    pub lease: LeaseDocument,
    /// Only if it has this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_version: Option<u64>,
}

/// The version that state has now, or will have when its transaction is committed.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct VersionDocument {
    /// The namespace of the key.
    #[schema(value_type = String)]
    pub namespace: Namespace,
    /// The key.
    #[schema(value_type = String)]
    pub key: Key,
    /// The version.
    pub version: u64,
}

/// Names a key.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeyRequest {
    /// The namespace of the key; `default` unless it is said.
    #[serde(default)]
    #[schema(value_type = String, min_length = 1, max_length = 256, required = false)]
    pub namespace: Namespace,
    /// The key.
    #[schema(value_type = String, min_length = 1, max_length = 256)]
    pub key: Key,
}

/// What is known of a key, without its state.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DescriptionDocument {
    /// The namespace of the key.
    #[schema(value_type = String)]
    pub namespace: Namespace,
    /// The key.
    #[schema(value_type = String)]
    pub key: Key,
    /// Whether it has state.
    pub exists: bool,
    /// How many attachments it has.
    pub attachments: usize,
    /// The version of its state.
    pub version: u64,
    /// The last fencing token that was given out.
    pub fencing_token: u64,
    /// When its state was last changed; null if it never had any.
    #[serde(serialize_with = "millis_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub updated_at: Option<Timestamp>,
    /// Who holds its lease; null if nobody does.
    pub owner: Option<String>,
    /// When that lease ends.
    #[serde(serialize_with = "millis_if_any")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
}

impl DescriptionDocument {
    /// Of a key.
    pub fn of(namespace: Namespace, key: Key, found: Description) -> Self {
        let Description { exists, attachments, version, fencing_token, updated_at, owner, expires_at } = found;
        Self {
            namespace,
            key,
            exists,
            attachments,
            version,
            fencing_token,
            // One that never had state was never changed.
            updated_at: (version > 0).then(|| instant(updated_at)),
            owner,
            expires_at: expires_at.map(instant),
        }
    }
}
