//! What a store knows of a transaction, and what this process remembers of it.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::moment::Moment;
use crate::name::{Key, Namespace, QueueName};
use crate::planted::{self, Bug};
use crate::queue::Queue;
use crate::storage::Version;

/// What takes part.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Participant {
    /// A key, with its lease and with what is staged at it.
    Key { namespace: Namespace, key: Key },
    /// A message, which nobody gets before.
    Message { namespace: Namespace, queue: QueueName, message: String },
}

impl Participant {
    pub(crate) fn key(namespace: &Namespace, key: &Key) -> Self {
        Self::Key { namespace: namespace.clone(), key: key.clone() }
    }

    pub(crate) fn message(queue: &Queue, name: &str) -> Self {
        Self::Message { namespace: queue.namespace.clone(), queue: queue.name.clone(), message: name.to_owned() }
    }
}

/// A transaction that is not over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TxnRecord {
    pub(crate) attempt: Uuid,
    pub(crate) id: Uuid,
    pub(crate) expires_at: Moment,
    /// The process whose clock its end was read from.
    pub(crate) granted_by: Uuid,
    pub(crate) participants: BTreeSet<Participant>,
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    Commit,
    Rollback,
}

/// The end of a transaction, for these participants. Whoever came later is not among them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Decision {
    pub(crate) attempt: Uuid,
    pub(crate) id: Uuid,
    #[serde(rename = "state")]
    pub(crate) verdict: Verdict,
    pub(crate) participants: BTreeSet<Participant>,
    /// How long it is remembered.
    pub(crate) expires_at: Moment,
}

impl Decision {
    /// The end of a transaction that nobody has written down.
    pub(crate) fn undoing(id: Uuid, participants: BTreeSet<Participant>, now: Moment) -> Self {
        Self { attempt: id, id, verdict: Verdict::Rollback, participants, expires_at: now }
    }

    /// Whether what is staged at a key comes true.
    pub(crate) fn promotes(&self, participant: &Participant) -> bool {
        let is_named = self.participants.contains(participant) || planted::is(Bug::LateParticipant);
        self.verdict == Verdict::Commit && is_named
    }
}

/// What is known of a transaction.
#[derive(Clone, Debug)]
pub(crate) enum TxnSeen {
    /// We made it up, and nothing is written yet.
    New { expires_at: Moment },
    /// As it was read or written last.
    Known { record: TxnRecord, version: Version },
    /// There is none.
    Absent,
}

impl TxnSeen {
    fn expires_at(&self) -> Option<Moment> {
        match self {
            Self::New { expires_at } => Some(*expires_at),
            Self::Known { record, .. } => Some(record.expires_at),
            Self::Absent => None,
        }
    }
}

/// The transactions of this process: few at a time, and each for a short while.
#[derive(Debug, Default)]
pub(crate) struct Txns {
    known: Mutex<HashMap<Uuid, Known>>,
}

#[derive(Clone, Debug)]
struct Known {
    seen: TxnSeen,
    /// Where staging was answered, to us: it cannot vanish without a decision.
    prepared: BTreeSet<Participant>,
}

impl Txns {
    /// Takes note of a new one. Those that nobody ended stay known for as long as decisions do: only we know whom we
    /// enlisted, and a commit is ours only if all of them are part of the decision.
    pub(crate) fn begin(&self, id: Uuid, expires_at: Moment, now: Moment, decision_keep: Duration) {
        let mut known = self.known();
        let is_bygone = |expires_at: Moment| expires_at.plus(decision_keep).has_passed(now);
        known.retain(|_, known| !known.seen.expires_at().is_some_and(is_bygone));
        known.insert(id, Known { seen: TxnSeen::New { expires_at }, prepared: BTreeSet::new() });
    }

    pub(crate) fn get(&self, id: Uuid) -> Option<TxnSeen> {
        self.known().get(&id).map(|known| known.seen.clone())
    }

    pub(crate) fn keep(&self, record: TxnRecord, version: Version) {
        let id = record.id;
        let seen = TxnSeen::Known { record, version };
        let mut known = self.known();
        match known.get_mut(&id) {
            Some(known) => known.seen = seen,
            None => {
                known.insert(id, Known { seen, prepared: BTreeSet::new() });
            }
        }
    }

    pub(crate) fn note_prepared(&self, id: Uuid, participant: Participant) {
        if let Some(known) = self.known().get_mut(&id) {
            known.prepared.insert(participant);
        }
    }

    pub(crate) fn is_prepared(&self, id: Uuid, participant: &Participant) -> bool {
        self.known().get(&id).is_some_and(|known| known.prepared.contains(participant))
    }

    pub(crate) fn forget(&self, id: Uuid) {
        self.known().remove(&id);
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Uuid, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
