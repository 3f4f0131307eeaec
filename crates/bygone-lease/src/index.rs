//! The expiry index: which keys to look at, hour by hour, so that nobody ever has to look at all of them.
//!
//! An entry only says "look at this key when this hour has come". One too many is harmless: whoever follows it finds
//! nothing to do and takes it away. One too few is not, since nobody would ever look. So an entry is written before the
//! record that needs it, and the record says which hour has its entry; the entry goes only after the record has stopped
//! saying so, and only if nobody has written it anew meanwhile.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Error;
use crate::document;
use crate::ids::Ids;
use crate::layout::{self, Hour};
use crate::moment::Moment;
use crate::name::{Key, Namespace};
use crate::storage::{Expected, Storage, StorageError};
use crate::store::Shared;
use crate::sweep::{HOUR_MARGIN, STRAGGLERS};

/// How often the entry of one key may change under our hands.
const CONFLICTS_MAX: u32 = 16;

/// The hours that a namespace has entries in.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hours {
    #[serde(default)]
    pub(crate) buckets: BTreeSet<Hour>,
    /// Those among them that are long over and were found empty, and when that was noted. They go if nobody enters anything
    /// before a listing must show it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) closing: BTreeMap<Hour, Moment>,
}

/// What the store is, and the namespaces that have an index.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Catalogue {
    #[serde(default)]
    pub(crate) namespaces: BTreeSet<String>,
    /// Those among them of which every key that has state is in the index, since there is a retention.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) enrolled: BTreeSet<String>,
}

#[derive(Serialize)]
struct Entry<'a> {
    attempt: Uuid,
    key: &'a str,
}

/// The hours that are known to be on their lists: what is there once stays until it is over.
#[derive(Debug, Default)]
pub(crate) struct Index {
    listed: Mutex<HashMap<Namespace, BTreeSet<Hour>>>,
    /// Whose turn it is to change a list: all who come with the first entry of an hour would want to at once.
    turn: tokio::sync::Mutex<()>,
}

impl Shared {
    /// Writes the entry of a key, for a record that is about to rely on it.
    pub(crate) async fn enter(&self, of: (&Namespace, &Key), hour: Hour) -> Result<(), Error> {
        self.index.enter(&*self.storage, &self.ids, of, hour).await?;
        self.list_again(of.0, hour).await
    }

    /// Puts an hour back on its list that something was written into late. Whoever is paused between the list and the entry
    /// may find that the hour was long over and taken off, since nothing was in it, or that somebody is about to.
    ///
    /// The list is written even where it says so already: then nobody who read it before can take the hour off any more
    /// ([`Self::close_hour`]).
    pub(crate) async fn list_again(&self, namespace: &Namespace, hour: Hour) -> Result<(), Error> {
        if !hour.end().plus(HOUR_MARGIN / 2).has_passed(self.now()) {
            return Ok(());
        }
        let _turn = self.index.turn.lock().await;
        let reopen = |hours: &mut Hours| {
            hours.buckets.insert(hour);
            hours.closing.remove(&hour);
            true
        };
        let hours = document::amend(&*self.storage, &self.ids, &layout::hours(namespace), reopen).await?;
        self.index.keep(namespace, hours);
        Ok(())
    }

    /// Takes an hour that is long over off its list, if nothing is in it.
    ///
    /// In two steps, by two sweeps: a mark, and after a while, if it is still there, a listing. What is entered late is
    /// entered before its writer rewrites the list. If he does that before a sweeper has read it for his mark, the listing
    /// shows the entry, however stale; if after that, either he or the sweeper finds the list changed.
    /// Answers with the requests that it took.
    pub(crate) async fn close_hour(&self, namespace: &Namespace, hour: Hour) -> Result<u64, Error> {
        let storage = &*self.storage;
        let mut requests = 1;
        let close = async |hours: &mut Hours| {
            let now = self.now();
            let Some(since) = hours.closing.get(&hour) else {
                hours.closing.insert(hour, now);
                return Ok(hours.buckets.contains(&hour));
            };
            if !since.plus(STRAGGLERS).has_passed(now) {
                return Ok(false);
            }
            requests += 1;
            let is_empty = storage.list(&layout::hour_prefix(namespace, hour), None, 1).await?.keys.is_empty();
            hours.buckets.remove(&hour);
            hours.closing.remove(&hour);
            Ok(is_empty)
        };
        if let Some(hours) = document::amend_once(storage, &self.ids, &layout::hours(namespace), close).await? {
            requests += 1;
            self.index.keep(namespace, hours);
        }
        Ok(requests)
    }
}

impl Index {
    /// Makes sure that the key has an entry in this hour, written by us.
    pub(crate) async fn enter(
        &self,
        storage: &dyn Storage,
        ids: &Ids,
        (namespace, key): (&Namespace, &Key),
        hour: Hour,
    ) -> Result<(), Error> {
        self.list_hour(storage, ids, namespace, hour).await?;
        let path = layout::entry(namespace, hour, key);
        let mut version = None;
        for _ in 0..CONFLICTS_MAX {
            let entry = Entry { attempt: ids.attempt(), key: key.as_str() };
            let body = serde_json::to_vec(&entry)
                .map_err(|error| Error::Unreadable { key: path.clone(), reason: error.to_string() })?;
            // One that is there already is written anew: somebody may be about to take away the one that he saw.
            let expected = version.as_ref().map_or(Expected::Absent, Expected::Version);
            match storage.put(&path, Bytes::from(body), expected).await {
                Ok(_) => return Ok(()),
                Err(StorageError::Conflict { current }) => version = current.map(|current| current.version),
                Err(error) => return Err(error.into()),
            }
        }
        Err(Error::Contended { times: CONFLICTS_MAX })
    }

    /// Takes note of a list as it was written just now.
    fn keep(&self, namespace: &Namespace, hours: Hours) {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner).insert(namespace.clone(), hours.buckets);
    }

    /// The list comes before the entry, as the entry comes before the record.
    pub(crate) async fn list_hour(
        &self,
        storage: &dyn Storage,
        ids: &Ids,
        namespace: &Namespace,
        hour: Hour,
    ) -> Result<(), Error> {
        let known = || {
            let listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
            listed.get(namespace).map(|hours| hours.contains(&hour))
        };
        if known() == Some(true) {
            return Ok(());
        }
        let _turn = self.turn.lock().await;
        let found = known();
        if found == Some(true) {
            return Ok(());
        }
        if found.is_none() {
            let name = namespace.as_str();
            document::amend(storage, ids, layout::STORE, |catalogue: &mut Catalogue| {
                catalogue.namespaces.insert(name.to_owned())
            })
            .await?;
        }
        let hours =
            document::amend(storage, ids, &layout::hours(namespace), |hours: &mut Hours| hours.buckets.insert(hour))
                .await?;
        self.keep(namespace, hours);
        Ok(())
    }
}
