//! Lease stores, opened once.
//!
//! A store knows more than what is written: who waits for a lease, which operations are under way, which transactions may be
//! pending. That is worth something when all of a process share it: sweeps, turns, gates, and those who come over HTTP. A store
//! stays open, also over a change of the configuration, for as long as it is the same one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bygone_core::{Clock, ErrorKind, TargetError};
use bygone_lease::storage::StorageError;
use bygone_lease::{Environment, Error, LeaseStore, Options, StoreUrl, SystemChance};
use bygone_server::{Absent, NoLeases};
use jiff::SignedDuration;
use tokio::sync::OnceCell;

use crate::config::{Config, Secret, Subject};

/// A source that is a lease store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeaseSource {
    name: String,
    url: Secret,
    /// How long the record of a key stays: the longest that any policy over it says.
    keep: SignedDuration,
}

impl LeaseSource {
    /// The source of that name, if a policy says that it is a lease store.
    pub(crate) fn of(config: &Config, name: &str) -> Option<Self> {
        let policies = config.policies.iter().filter(|policy| policy.source == name);
        let keeps = policies.filter_map(|policy| match &policy.subject {
            Subject::Leases(leases) => Some(leases.keep),
            _ => None,
        });
        let keep = keeps.max()?;
        Some(Self { name: name.to_owned(), url: config.sources.get(name)?.url.clone(), keep })
    }

    pub(crate) fn options(&self) -> Options {
        let tombstone_keep = Duration::try_from(self.keep).unwrap_or(Duration::MAX);
        Options { tombstone_keep, ..Options::default() }
    }

    pub(crate) fn url(&self) -> Result<StoreUrl, TargetError> {
        let read = StoreUrl::parse(self.url.expose(), Environment::of_process());
        read.map_err(|error| TargetError::new(ErrorKind::Unfit, error.to_string()).about("source"))
    }
}

/// The stores that are open, by their sources.
#[derive(Debug)]
pub(crate) struct LeaseStores {
    clock: Arc<dyn Clock>,
    places: Mutex<BTreeMap<String, Arc<Place>>>,
}

/// Where a store is, once somebody has opened it.
#[derive(Debug)]
struct Place {
    source: LeaseSource,
    store: OnceCell<LeaseStore>,
}

impl LeaseStores {
    pub(crate) fn new(clock: &Arc<dyn Clock>) -> Self {
        Self { clock: Arc::clone(clock), places: Mutex::default() }
    }

    /// The store of a source. Of those who come at once, one opens it; where he fails, the next tries.
    pub(crate) async fn get(&self, source: &LeaseSource, absent: Absent) -> Result<LeaseStore, NoLeases> {
        let place = self.place(source);
        if let Some(store) = place.store.get() {
            return Ok(store.clone());
        }
        let url = source.url().map_err(NoLeases::Failed)?;
        let failed = |error| NoLeases::Failed(failure(error));
        if absent == Absent::Refuse && !url.exists().await.map_err(failed)? {
            return Err(NoLeases::NotMade);
        }
        let open = || url.open_by(source.options(), Arc::clone(&self.clock), Arc::new(SystemChance));
        place.store.get_or_try_init(open).await.cloned().map_err(failed)
    }

    /// The same for who sweeps: one that is not there is never made.
    pub(crate) async fn existing(&self, source: &LeaseSource) -> Result<LeaseStore, TargetError> {
        self.get(source, Absent::Refuse).await.map_err(|why| match why {
            NoLeases::Failed(error) => error,
            _ => not_there(source),
        })
    }

    /// Forgets the stores of sources that are no more; whoever works with one still has it.
    pub(crate) fn keep_only(&self, is_known: impl Fn(&str) -> bool) {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).retain(|name, _| is_known(name));
    }

    fn place(&self, source: &LeaseSource) -> Arc<Place> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = places.get(&source.name).filter(|place| place.source == *source) {
            return Arc::clone(place);
        }
        let place = Arc::new(Place { source: source.clone(), store: OnceCell::new() });
        places.insert(source.name.clone(), Arc::clone(&place));
        place
    }
}

/// Nobody has made a store where a source says that one is.
pub(crate) fn not_there(source: &LeaseSource) -> TargetError {
    let place = source.url().map_or_else(|_| source.name.clone(), |url| url.to_string());
    let help = "correct the url; programs, `bygone lease acquire` and `bygone queue send` make a store";
    TargetError::new(ErrorKind::Unfit, format!("there is no lease store at {place}")).about("source").with_help(help)
}

pub(crate) fn failure(error: Error) -> TargetError {
    let kind = match &error {
        Error::Throttled | Error::Contended { .. } => ErrorKind::Busy,
        Error::ClockSkew { .. } => ErrorKind::Skewed,
        Error::Storage(StorageError::Lying { .. }) => ErrorKind::Unfit,
        Error::Storage(_) | Error::OutcomeUnknown { .. } => ErrorKind::Unreachable,
        _ => ErrorKind::Failed,
    };
    TargetError::new(kind, "the lease store cannot be opened").about("source").with_source(error)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bygone_core::SystemClock;
    use bygone_lease::{Acquire, Key, Namespace};

    use super::*;
    use crate::config::{ProcessEnv, parse};

    fn config(directory: &Path, keep: &str) -> Config {
        let policy = |name: &str, keep: &str| {
            format!("[[policy]]\nname = '{name}'\nsource = 's'\nkind = 'leases'\nkeep = '{keep}'\n")
        };
        let text =
            format!("[source.s]\nurl = 'file:{}'\n{}{}", directory.display(), policy("p", keep), policy("q", "2h"));
        parse("bygone.toml", &text, Path::new(""), &ProcessEnv).unwrap()
    }

    fn request() -> Acquire {
        Acquire::new(Namespace::default(), Key::new("k").unwrap(), "me")
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn all_who_ask_share_a_store_for_as_long_as_it_is_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let source = |keep: &str| LeaseSource::of(&config(&path, keep), "s").unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let stores = LeaseStores::new(&clock);
        let same = source("3h");
        assert!(matches!(stores.get(&same, Absent::Refuse).await, Err(NoLeases::NotMade)));
        assert!(stores.existing(&same).await.unwrap_err().full_message().contains("there is no lease store at"));
        assert!(!path.exists(), "whoever looks makes nothing");

        let (one, two) = tokio::join!(stores.get(&same, Absent::Make), stores.get(&same, Absent::Make));
        let (one, two) = (one.unwrap(), two.unwrap());
        // What one is told to wait for, it is called to by the other at once: they are one.
        let held = one.acquire(&request()).await.unwrap();
        let waiting = Acquire { wait: bygone_lease::Wait::Forever, ..request() };
        let (released, waited) = tokio::join!(one.release(&held), two.acquire(&waiting));
        assert!(released.is_ok() && waited.unwrap().fencing_token > held.fencing_token);

        let is_open = |source: &LeaseSource| stores.place(source).store.initialized();
        assert!(is_open(&source("3h")), "the same source is the same store, also after a reload");
        assert!(!is_open(&source("4h")), "another is not");
        assert_eq!(source("1h").keep, SignedDuration::from_hours(2), "the longest that any policy says");
        stores.keep_only(|_| false);
        assert!(!is_open(&source("4h")));
        assert_eq!(LeaseSource::of(&config(&path, "1h"), "other"), None);
    }

    #[tokio::test]
    async fn a_failure_is_not_remembered() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        std::fs::write(&path, "in the way").unwrap();
        let source = LeaseSource::of(&config(&path, "1h"), "s").unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let stores = LeaseStores::new(&clock);
        assert!(matches!(stores.get(&source, Absent::Make).await, Err(NoLeases::Failed(_))));
        std::fs::remove_file(&path).unwrap();
        assert!(stores.get(&source, Absent::Make).await.is_ok());
    }
}
