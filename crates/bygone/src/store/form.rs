//! Leases and deliveries as the shell passes them on: stable names, times that people can read, text as text.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bygone_lease::{Attachment, Delivery, Key, Lease, Moment, Namespace, Queue, QueueName, TxnId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use uuid::Uuid;

/// A lease, as `acquire` prints it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LeaseForm {
    pub(crate) namespace: Namespace,
    pub(crate) key: Key,
    pub(crate) id: Uuid,
    pub(crate) owner: String,
    pub(crate) fencing_token: u64,
    #[serde(serialize_with = "millis")]
    pub(crate) expires_at: Timestamp,
    pub(crate) version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) txn: Option<Uuid>,
}

impl From<&Lease> for LeaseForm {
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

impl From<LeaseForm> for Lease {
    fn from(form: LeaseForm) -> Self {
        Self {
            namespace: form.namespace,
            key: form.key,
            id: form.id,
            owner: form.owner,
            fencing_token: form.fencing_token,
            expires_at: Moment::from(form.expires_at),
            version: form.version,
            txn: form.txn.map(TxnId),
        }
    }
}

/// A delivery, as `receive` prints it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct DeliveryForm {
    pub(crate) namespace: Namespace,
    pub(crate) queue: QueueName,
    pub(crate) id: Uuid,
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) payload: Option<String>,
    /// Instead of `payload`, where that is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) payload_base64: Option<String>,
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) attempts: u32,
    pub(crate) lease: Uuid,
    pub(crate) fencing_token: u64,
    #[serde(serialize_with = "millis")]
    pub(crate) expires_at: Timestamp,
}

impl From<&Delivery> for DeliveryForm {
    fn from(delivery: &Delivery) -> Self {
        let (payload, payload_base64) = text_or_base64(&delivery.payload);
        Self {
            namespace: delivery.queue.namespace.clone(),
            queue: delivery.queue.name.clone(),
            id: delivery.id,
            name: delivery.name.clone(),
            payload,
            payload_base64,
            attributes: delivery.attributes.clone(),
            attempts: delivery.attempts,
            lease: delivery.lease,
            fencing_token: delivery.fencing_token,
            expires_at: instant(delivery.expires_at),
        }
    }
}

impl TryFrom<DeliveryForm> for Delivery {
    type Error = base64::DecodeError;

    fn try_from(form: DeliveryForm) -> Result<Self, Self::Error> {
        let payload = match form.payload_base64 {
            Some(base64) => BASE64_STANDARD.decode(base64)?,
            None => form.payload.unwrap_or_default().into_bytes(),
        };
        Ok(Self {
            queue: Queue { namespace: form.namespace, name: form.queue },
            id: form.id,
            name: form.name,
            payload,
            attributes: form.attributes,
            attempts: form.attempts,
            lease: form.lease,
            fencing_token: form.fencing_token,
            expires_at: Moment::from(form.expires_at),
        })
    }
}

/// An attachment, as it is listed.
#[derive(Debug, Serialize)]
pub(crate) struct AttachmentForm {
    pub(crate) namespace: Namespace,
    pub(crate) key: Key,
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    /// Null where nobody said.
    pub(crate) content_type: Option<String>,
    #[serde(serialize_with = "millis")]
    pub(crate) created_at: Timestamp,
}

impl AttachmentForm {
    pub(crate) fn of(namespace: &Namespace, key: &Key, attachment: &Attachment) -> Self {
        Self {
            namespace: namespace.clone(),
            key: key.clone(),
            name: attachment.name.clone(),
            bytes: attachment.bytes,
            sha256: attachment.sha256.clone(),
            content_type: attachment.content_type.clone(),
            created_at: instant(attachment.created_at),
        }
    }
}

/// Bytes for JSON: as text where they are text, in base64 where they are not.
pub(crate) fn text_or_base64(bytes: &[u8]) -> (Option<String>, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Some(text.to_owned()), None),
        Err(_) => (None, Some(BASE64_STANDARD.encode(bytes))),
    }
}

/// A moment of a store. One that no calendar has is the last that it has.
fn instant(moment: Moment) -> Timestamp {
    moment.timestamp().unwrap_or(Timestamp::MAX)
}

/// With all three digits, so that texts sort as instants do.
fn millis<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{at:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(payload: &[u8]) -> Delivery {
        Delivery {
            queue: Queue { namespace: Namespace::new("n").unwrap(), name: QueueName::new("q").unwrap() },
            id: Uuid::from_u128(1),
            name: "0000000000999-1".to_owned(),
            payload: payload.to_vec(),
            attributes: BTreeMap::from([("to".to_owned(), "ada".to_owned())]),
            attempts: 2,
            lease: Uuid::from_u128(2),
            fencing_token: 7,
            expires_at: Moment::from_millis(1_795_003_200_123),
        }
    }

    #[test]
    fn what_is_printed_is_read_back() {
        for payload in [&b"hello"[..], b"", b"\xff\x00", "\u{e4}\n".as_bytes()] {
            let delivery = delivery(payload);
            let text = serde_json::to_string(&DeliveryForm::from(&delivery)).unwrap();
            let form: DeliveryForm = serde_json::from_str(&text).unwrap();
            assert_eq!(Delivery::try_from(form).unwrap(), delivery, "{text}");
        }
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
        let text = serde_json::to_string(&LeaseForm::from(&lease)).unwrap();
        assert_eq!(Lease::from(serde_json::from_str::<LeaseForm>(&text).unwrap()), lease, "{text}");
    }
}
