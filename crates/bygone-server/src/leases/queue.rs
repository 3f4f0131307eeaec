//! Messages: put into queues, delivered, and what becomes of them.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use bygone_lease::{Acked, Delivery, Moment, Namespace, Queue, QueueName, QueueStats};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::moment::{instant, millis};
use super::{ContentError, bytes_of, text_or_base64};

/// A message in the hands of a worker.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DeliveryDocument {
    /// The namespace of the queue.
    #[schema(value_type = String, min_length = 1, max_length = 256)]
    pub namespace: Namespace,
    /// The queue.
    #[schema(value_type = String, min_length = 1, max_length = 256)]
    pub queue: QueueName,
    /// Which message.
    pub id: Uuid,
    /// Its name in the queue.
    pub name: String,
    /// What it says, where that is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    /// What it says, where that is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_base64: Option<String>,
    /// What is known of it besides.
    pub attributes: BTreeMap<String, String>,
    /// How often it was delivered, this time included.
    pub attempts: u32,
    /// This delivery.
    pub lease: Uuid,
    /// Higher than that of every delivery of the message before.
    pub fencing_token: u64,
    /// When it is delivered to somebody else, unless it is extended.
    #[serde(serialize_with = "millis")]
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
}

impl From<&Delivery> for DeliveryDocument {
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

impl TryFrom<DeliveryDocument> for Delivery {
    type Error = ContentError;

    fn try_from(document: DeliveryDocument) -> Result<Self, ContentError> {
        // What is done with a message needs no payload.
        let payload = match (document.payload, document.payload_base64) {
            (None, None) => Vec::new(),
            (text, base64) => bytes_of(text, base64)?,
        };
        Ok(Self {
            queue: Queue { namespace: document.namespace, name: document.queue },
            id: document.id,
            name: document.name,
            payload,
            attributes: document.attributes,
            attempts: document.attempts,
            lease: document.lease,
            fencing_token: document.fencing_token,
            expires_at: Moment::from(document.expires_at),
        })
    }
}

/// Puts a message into a queue.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EnqueueRequest {
    /// The namespace of the queue; `default` unless it is said.
    #[serde(default)]
    #[schema(value_type = String, min_length = 1, max_length = 256, required = false)]
    pub namespace: Namespace,
    /// The queue.
    #[schema(value_type = String, min_length = 1, max_length = 256)]
    pub queue: QueueName,
    /// What it says, as text; at most 256 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    /// Instead of `payload`: in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_base64: Option<String>,
    /// What is known of it besides.
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
    /// How long nobody gets it, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// How long it is of use, in milliseconds: then it goes, delivered or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// In this transaction: nobody gets it before that is committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub txn: Option<Uuid>,
    /// How often it is delivered before it is put aside; as often as needed unless it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub attempts_max: Option<NonZeroU32>,
}

/// A message that is in its queue.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct EnqueuedDocument {
    /// Which message.
    pub id: Uuid,
}

/// Takes messages that are ready, the oldest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DequeueRequest {
    /// The namespace of the queue; `default` unless it is said.
    #[serde(default)]
    #[schema(value_type = String, min_length = 1, max_length = 256, required = false)]
    pub namespace: Namespace,
    /// The queue.
    #[schema(value_type = String, min_length = 1, max_length = 256)]
    pub queue: QueueName,
    /// Who asks, as others may see it.
    pub owner: String,
    /// How long they are the worker's, in milliseconds; 30 seconds unless it is said, at most 30 minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// How long to wait while there is none, in milliseconds; not at all unless it is said. What is longer than 25 seconds is
    /// cut off there: ask again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// How many at most; 1 unless it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 32)]
    pub limit: Option<u16>,
}

/// Messages that were delivered. None, if there was none for as long as the worker would wait.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DeliveryList {
    /// The oldest first.
    pub deliveries: Vec<DeliveryDocument>,
}

/// Names a delivery. Its payload may be left out.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliveryRequest {
    /// The delivery.
    pub delivery: DeliveryDocument,
}

/// What an acknowledgement found.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct AckedDocument {
    /// How many messages: 0 when it was acknowledged before.
    pub acked: u64,
}

impl AckedDocument {
    /// Of so many acknowledgements.
    pub fn of(acked: &[Acked]) -> Self {
        Self { acked: acked.iter().map(|done| u64::from(*done == Acked::Now)).sum() }
    }
}

/// Gives a message back. The payload of the delivery may be left out.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NackRequest {
    /// The delivery.
    pub delivery: DeliveryDocument,
    /// How long nobody gets it, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// It was not the time for it: the attempt does not count.
    #[serde(default)]
    pub defer: bool,
}

/// A message that was given back.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct NackedDocument {
    /// How many messages: 1.
    pub nacked: u64,
}

impl NackedDocument {
    /// Of each that was given back.
    pub fn of<T>(nacked: &[T]) -> Self {
        Self { nacked: u64::try_from(nacked.len()).unwrap_or(u64::MAX) }
    }
}

/// Keeps a message for longer. The payload of the delivery may be left out.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtendRequest {
    /// The delivery.
    pub delivery: DeliveryDocument,
    /// How long from now on, in milliseconds; 30 seconds unless it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
}

/// Names a queue.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueRequest {
    /// The namespace of the queue; `default` unless it is said.
    #[serde(default)]
    #[schema(value_type = String, min_length = 1, max_length = 256, required = false)]
    pub namespace: Namespace,
    /// The queue.
    #[schema(value_type = String, min_length = 1, max_length = 256)]
    pub queue: QueueName,
}

/// Asks for the messages that were put aside.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeadRequest {
    /// The namespace of the queue; `default` unless it is said.
    #[serde(default)]
    #[schema(value_type = String, min_length = 1, max_length = 256, required = false)]
    pub namespace: Namespace,
    /// The queue.
    #[schema(value_type = String, min_length = 1, max_length = 256)]
    pub queue: QueueName,
    /// How many at most; 100 unless it is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000)]
    pub limit: Option<u16>,
}

/// Messages that were put aside.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DeadLetters {
    /// Which, the oldest first.
    pub dead: Vec<Uuid>,
}

/// How many messages there are.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
pub struct StatsDocument {
    /// Messages that are in the queue, whoever works on them.
    pub messages: u64,
    /// Those among them whose time has not come.
    pub delayed: u64,
    /// Messages that were put aside.
    pub dead: u64,
}

impl From<QueueStats> for StatsDocument {
    fn from(QueueStats { messages, delayed, dead }: QueueStats) -> Self {
        Self { messages, delayed, dead }
    }
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
    fn a_delivery_that_was_given_out_is_read_back() {
        for payload in [&b"hello"[..], b"", b"\xff\x00", "\u{e4}\n".as_bytes()] {
            let delivery = delivery(payload);
            let text = serde_json::to_string(&DeliveryDocument::from(&delivery)).unwrap();
            let document: DeliveryDocument = serde_json::from_str(&text).unwrap();
            assert_eq!(Delivery::try_from(document).unwrap(), delivery, "{text}");
        }
        let bare = DeliveryDocument { payload: None, ..DeliveryDocument::from(&delivery(b"hello")) };
        assert_eq!(Delivery::try_from(bare).unwrap(), delivery(b""));
    }
}
