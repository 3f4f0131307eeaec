//! Queues: messages that are delivered at least once, to one worker at a time.
//!
//! A message is one object, with its payload, its attempts and the lease of whoever works on it. Its name begins with the
//! time it was made ready for, so a listing shows the oldest first and ends where the future begins. Delivering is one swap
//! of it, and so is everything that its worker does with it; acknowledging removes it.
//!
//! A message whose worker died is delivered again when its lease is over. One that was delivered too often is put aside as
//! a dead letter: there first, and only then taken out of the queue, so that it is never in neither.

mod delivery;
mod message;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Error;
use crate::errand::Errand;
use crate::layout::{self, Hour};
use crate::moment::Moment;
use crate::name::{Namespace, QueueName};
use crate::record::Small;
use crate::storage::{Expected, StorageError};
use crate::store::LeaseStore;
use crate::txn::{Participant, TxnId};

pub(crate) use message::{Held, Letters, Message};

/// The longest time of a message, a hundred years: its name has thirteen digits for when it is ready, and the index an hour of
/// the calendar for when it goes.
const TIME_MAX: Duration = Duration::from_secs(36_525 * 24 * 3_600);

pub(crate) fn within(what: &'static str, asked: Duration) -> Result<(), Error> {
    if asked <= TIME_MAX { Ok(()) } else { Err(Error::BadTime { what, asked, most: TIME_MAX }) }
}

/// A queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Queue {
    /// The namespace of it.
    pub namespace: Namespace,
    /// Its name there.
    pub name: QueueName,
}

/// A message to be.
#[derive(Clone, Debug, Default)]
pub struct Enqueue {
    /// What it says.
    pub payload: Vec<u8>,
    /// What is known of it besides.
    pub attributes: BTreeMap<String, String>,
    /// How long nobody gets it.
    pub delay: Duration,
    /// How long it is of use, from now on: then it goes, delivered or not.
    pub ttl: Option<Duration>,
    /// In this transaction: nobody gets it before that is committed, and nobody at all if that is undone.
    pub txn: Option<TxnId>,
    /// How often it is delivered before it is put aside; as often as needed if that is not said.
    pub attempts_max: Option<u32>,
}

/// A message in the hands of a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The queue.
    pub queue: Queue,
    /// Which message.
    pub id: Uuid,
    /// Its name in the queue.
    pub name: String,
    /// What it says.
    pub payload: Vec<u8>,
    /// What is known of it besides.
    pub attributes: BTreeMap<String, String>,
    /// How often it was delivered, this time included.
    pub attempts: u32,
    /// This delivery.
    pub lease: Uuid,
    /// Higher than that of every delivery of the message before.
    pub fencing_token: u64,
    /// When it is delivered to somebody else, unless it is extended.
    pub expires_at: Moment,
}

/// Why a message is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nack {
    /// Working on it failed: the attempt counts.
    Failure,
    /// It was not the time for it: the attempt does not count.
    Defer,
}

/// What an acknowledgement found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acked {
    /// The message, which is gone now.
    Now,
    /// None: it was acknowledged before.
    Already,
}

/// How many messages there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueStats {
    /// Messages that are in the queue, whoever works on them.
    pub messages: u64,
    /// Those among them whose time has not come.
    pub delayed: u64,
    /// Messages that were put aside.
    pub dead: u64,
}

impl LeaseStore {
    /// Puts a message into a queue.
    pub async fn enqueue(&self, queue: &Queue, message: &Enqueue) -> Result<Uuid, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        shared.replay().await;
        let now = shared.now();
        let most = shared.options.message_bytes_max;
        if message.payload.len() > most {
            return Err(Error::TooLarge { bytes: message.payload.len(), most });
        }
        within("delay", message.delay)?;
        within("ttl", message.ttl.unwrap_or_default())?;
        let (id, ready_at) = (shared.ids.next(), now.plus(message.delay));
        let expires_at = message.ttl.map(|ttl| now.plus(ttl));
        let body = Message {
            attempt: id,
            id,
            payload: Small::of(&message.payload),
            attributes: message.attributes.clone(),
            enqueued_at: now,
            ready_at,
            expires_at,
            txn: message.txn.map(|txn| txn.0),
            attempts: 0,
            attempts_max: message.attempts_max,
            fencing_token: 0,
            held: None,
            is_done: false,
        };
        let name = message::name(ready_at, id);
        let participant = Participant::message(queue, &name);
        if let Some(TxnId(txn)) = message.txn {
            shared.join(txn, Some(&participant), now).await?;
        }
        if let Some(due) = expires_at.or(message.txn.is_some().then_some(now)) {
            let errand = Errand::Message { queue: queue.name.clone(), name: name.clone(), dead: false, due };
            shared.post(&queue.namespace, Hour::of(due), &errand).await?;
        }
        let path = layout::message(queue, &name);
        match shared.storage.put(&path, body.body(&path)?, Expected::Absent).await {
            Ok(_) => {}
            // Nobody else makes up this name.
            Err(StorageError::Conflict { .. }) => return Err(Error::Contended { times: 1 }),
            Err(error) => return Err(error.into()),
        }
        if let Some(TxnId(txn)) = message.txn {
            shared.txns.note_prepared(txn, participant);
        }
        shared.waiters.wake(&layout::messages(queue));
        Ok(id)
    }

    /// How many messages a queue has. Costs a listing of it.
    pub async fn queue_stats(&self, queue: &Queue) -> Result<QueueStats, Error> {
        let shared = &*self.shared;
        let _operation = shared.activity.begin();
        shared.replay().await;
        let now = shared.now();
        let mut stats = QueueStats::default();
        shared
            .each_listed(&layout::messages(queue), |name| {
                stats.messages += 1;
                stats.delayed += u64::from(message::ready_at(name).is_some_and(|ready_at| ready_at > now));
            })
            .await?;
        shared.each_listed(&layout::dead_letters(queue), |_| stats.dead += 1).await?;
        Ok(stats)
    }
}
