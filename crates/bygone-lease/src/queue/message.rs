//! A message as it stands in the store, and what this process remembers of those that it passed over.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Error;
use crate::moment::Moment;
use crate::record::{Small, count};
use crate::storage::Version;

/// Digits of a millisecond in the name of a message: enough until the year 2286, and all of one length.
const READY_DIGITS: usize = 13;
/// Messages remembered as not for now; beyond, all are forgotten, and looked at again.
const PASSED_MAX: usize = 10_000;

/// What a store knows of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Message {
    pub(crate) attempt: Uuid,
    pub(crate) id: Uuid,
    pub(crate) payload: Small,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) attributes: BTreeMap<String, String>,
    pub(crate) enqueued_at: Moment,
    /// Nobody gets it before.
    pub(crate) ready_at: Moment,
    /// Nobody gets it after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<Moment>,
    /// Nobody gets it before this transaction is committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) txn: Option<Uuid>,
    pub(crate) attempts: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) attempts_max: Option<u32>,
    #[serde(deserialize_with = "count")]
    pub(crate) fencing_token: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) held: Option<Held>,
    /// Acknowledged, in a store that cannot delete under a condition.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_done: bool,
}

/// Who works on a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Held {
    pub(crate) lease: Uuid,
    pub(crate) owner: String,
    pub(crate) expires_at: Moment,
    pub(crate) granted_by: Uuid,
}

impl Message {
    pub(crate) fn parse(path: &str, body: &[u8]) -> Result<Self, Error> {
        serde_json::from_slice(body).map_err(|error| Error::unreadable(path, &error))
    }

    pub(crate) fn body(&self, path: &str) -> Result<Bytes, Error> {
        serde_json::to_vec(self).map(Bytes::from).map_err(|error| Error::unreadable(path, &error))
    }

    /// Whether it was delivered as often as it may be.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.attempts_max.is_some_and(|most| self.attempts >= most)
    }
}

/// The name of a message: names sort by the time that messages are ready at.
pub(crate) fn name(ready_at: Moment, id: Uuid) -> String {
    format!("{:0READY_DIGITS$}-{id}", ready_at.millis().max(0))
}

/// When a message of this name was made ready for; `None` if it is not the name of one.
pub(crate) fn ready_at(name: &str) -> Option<Moment> {
    let (millis, id) = name.split_once('-')?;
    Uuid::try_parse(id).ok()?;
    (millis.len() == READY_DIGITS).then(|| millis.parse().ok().map(Moment::from_millis)).flatten()
}

/// Messages that are not for now, by their version: as long as that is the same, nobody has to look at them.
#[derive(Debug, Default)]
pub(crate) struct Letters {
    passed: Mutex<HashMap<String, (Version, Moment)>>,
    /// Those that we delivered, so that what their workers do with them needs no read.
    in_hand: Mutex<HashMap<String, (Message, Version)>>,
    /// Those that somebody here is about to take. All workers see the same one first, and only one can have it.
    claimed: Mutex<HashSet<String>>,
}

/// A message that nobody else of this process tries to take while this lives.
#[derive(Debug)]
pub(crate) struct Claim<'a> {
    letters: &'a Letters,
    path: String,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.letters.claimed.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.path);
    }
}

impl Letters {
    /// Remembers that a message is not for anybody until then.
    pub(crate) fn pass(&self, path: &str, version: Version, until: Moment) {
        let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        if passed.len() >= PASSED_MAX {
            passed.clear();
        }
        passed.insert(path.to_owned(), (version, until));
    }

    /// Claims a message; `None` while somebody else here has a claim to it.
    pub(crate) fn claim(&self, path: &str) -> Option<Claim<'_>> {
        let is_new = self.claimed.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        is_new.then(|| Claim { letters: self, path: path.to_owned() })
    }

    /// Remembers a message that was delivered.
    pub(crate) fn hand_out(&self, path: &str, message: Message, version: Version) {
        let mut in_hand = self.in_hand.lock().unwrap_or_else(PoisonError::into_inner);
        if in_hand.len() >= PASSED_MAX {
            in_hand.clear();
        }
        in_hand.insert(path.to_owned(), (message, version));
    }

    /// A message as it was when it was delivered; it is forgotten with that.
    pub(crate) fn take_back(&self, path: &str) -> Option<(Message, Version)> {
        self.in_hand.lock().unwrap_or_else(PoisonError::into_inner).remove(path)
    }

    /// Whether a message, in this version, is known not to be for now.
    pub(crate) fn is_passed(&self, path: &str, version: Option<&Version>, now: Moment) -> bool {
        let passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        passed.get(path).is_some_and(|(of, until)| Some(of) == version && !until.has_passed(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_one_workers_and_ends_with_him() {
        let letters = Letters::default();
        let first = letters.claim("a").unwrap();
        assert!(letters.claim("a").is_none());
        assert!(letters.claim("b").is_some());
        drop(first);
        assert!(letters.claim("a").is_some());
    }

    #[test]
    fn names_sort_by_time_and_are_read_back() {
        let id = Uuid::from_u128(7);
        let (early, late) = (Moment::from_millis(999), Moment::from_millis(1_795_003_200_000));
        assert!(name(early, id) < name(late, id));
        assert_eq!((ready_at(&name(early, id)), ready_at(&name(late, id))), (Some(early), Some(late)));
        for odd in ["", "1-2", "x", "0000000000999", "0000000000999-x"] {
            assert_eq!(ready_at(odd), None, "{odd}");
        }
    }
}
