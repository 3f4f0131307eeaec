//! The record of a key: one small JSON value that every step swaps as a whole.
//!
//! It holds the lease, the fencing token, the version and small state, so that taking a lease, changing state and giving
//! the lease back are one write each. Its `attempt` is unique to the write that made it: a store whose versions are
//! checksums would take two equal bodies for one, and a writer whose reply was lost could not know its own.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

use crate::Error;
use crate::blob::Blob;
use crate::layout::Hour;
use crate::moment::Moment;
use crate::txn::{Decision, Participant};

/// What a store knows of a key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    /// Unique to the write.
    pub(crate) attempt: Uuid,
    /// Of the state: grows with every change of it.
    #[serde(deserialize_with = "count")]
    pub(crate) version: u64,
    /// The last one that was given out.
    #[serde(deserialize_with = "count")]
    pub(crate) fencing_token: u64,
    /// When the state was last changed.
    pub(crate) updated_at: Moment,
    /// When anything was last changed: how long an empty record stays counts from here.
    pub(crate) touched_at: Moment,
    /// The hour of the index that has an entry for this key. Whoever needs one in another hour writes it first; whoever
    /// takes this one away says so here first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) indexed: Option<Hour>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lease: Option<LeaseRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<State>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) attachments: BTreeMap<String, Attached>,
    /// What a transaction wants to make of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) staged: Option<Staged>,
}

/// A change that a transaction has staged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Staged {
    pub(crate) txn: Uuid,
    /// Whether what there is goes, before the rest comes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) removes: bool,
    /// The state that is to be; as it is if there is none here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<State>,
    /// The attachments that are to be, and by `null` those that are to go.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) attachments: BTreeMap<String, Option<Attached>>,
}

/// An attachment of a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Attached {
    pub(crate) blob: Blob,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content_type: Option<String>,
    pub(crate) created_at: Moment,
}

/// A lease as it stands in a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LeaseRecord {
    pub(crate) id: Uuid,
    pub(crate) owner: String,
    pub(crate) expires_at: Moment,
    pub(crate) ttl_ms: u64,
    /// The process that granted it, whose clock its end was read from.
    pub(crate) granted_by: Uuid,
    /// The caller's own name for his request: asked again, he gets the same lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<String>,
    /// The transaction that it was taken in: it ends by the decision of that alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) txn: Option<Uuid>,
}

/// State: within the record where it is small.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum State {
    Small(Small),
    /// Beside the record: too large for it.
    Large {
        blob: Blob,
    },
}

/// Bytes within JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Small {
    /// Text, as it is: readable with any client of the store.
    Text(String),
    /// Anything else.
    Base64(String),
}

/// Reads a number that only grows. Half of the range nobody ever counted to: a record that says so is none of ours, and what
/// would come behind it must not begin anew.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let count = u64::deserialize(deserializer)?;
    if count > u64::MAX / 2 {
        return Err(D::Error::custom(format!("nobody counts to {count}")));
    }
    Ok(count)
}

impl State {
    pub(crate) fn blob(&self) -> Option<&Blob> {
        if let Self::Large { blob } = self { Some(blob) } else { None }
    }
}

impl Small {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64(BASE64_STANDARD.encode(bytes)),
        }
    }

    pub(crate) fn bytes(&self) -> Result<Bytes, String> {
        match self {
            Self::Text(text) => Ok(Bytes::copy_from_slice(text.as_bytes())),
            Self::Base64(text) => BASE64_STANDARD.decode(text).map(Bytes::from).map_err(|error| error.to_string()),
        }
    }
}

impl Record {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(body).map_err(|error| error.to_string())
    }

    pub(crate) fn body(&self) -> Result<Bytes, Error> {
        let unreadable =
            |error: serde_json::Error| Error::Unreadable { key: "a record".to_owned(), reason: error.to_string() };
        serde_json::to_vec(self).map(Bytes::from).map_err(unreadable)
    }

    /// Whether nothing is in it that anybody could want, but the token.
    pub(crate) fn is_empty(&self) -> bool {
        self.lease.is_none() && self.has_nothing() && self.staged.is_none()
    }

    /// Whether the key has neither state nor attachments.
    pub(crate) fn has_nothing(&self) -> bool {
        self.state.is_none() && self.attachments.is_empty()
    }

    /// What a transaction stages in it.
    pub(crate) fn staged_by(&mut self, txn: Uuid) -> &mut Staged {
        let nothing = || Staged { txn, removes: false, state: None, attachments: BTreeMap::new() };
        self.staged.get_or_insert_with(nothing)
    }

    /// Does what was staged.
    pub(crate) fn promote(&mut self, staged: &Staged) {
        if staged.removes {
            self.state = None;
            self.attachments.clear();
        }
        if staged.state.is_some() {
            self.state.clone_from(&staged.state);
        }
        for (name, attached) in &staged.attachments {
            match attached {
                Some(attached) => self.attachments.insert(name.clone(), attached.clone()),
                None => self.attachments.remove(name),
            };
        }
        self.version += 1;
    }

    /// The transaction that has a hand in it.
    pub(crate) fn txn(&self) -> Option<Uuid> {
        let staged = self.staged.as_ref().map(|staged| staged.txn);
        staged.or_else(|| self.lease.as_ref().and_then(|lease| lease.txn))
    }

    /// The record after a transaction's end; `None` if that has no hand in it.
    pub(crate) fn resolved(&self, decision: &Decision, participant: &Participant, now: Moment) -> Option<Self> {
        if self.txn() != Some(decision.id) {
            return None;
        }
        let mut resolved = Self { lease: None, staged: None, ..self.clone() };
        if let Some(staged) = self.staged.as_ref().filter(|_| decision.promotes(participant)) {
            resolved.promote(staged);
            resolved.updated_at = now;
        }
        Some(resolved)
    }
}
