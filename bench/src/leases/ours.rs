//! A lease store over a directory, in the process that asks it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bygone_lease::storage::Disk;
use bygone_lease::{Acquire, Key, LeaseStore, Namespace, Options, Released};

use super::case::Keys;
use crate::crowd::{Client, Clients};
use crate::failure::Failure;

/// Opens the store in a directory.
pub(crate) async fn open(directory: &Path) -> Result<LeaseStore, Failure> {
    Ok(LeaseStore::open(Disk::open(directory)?, Options::default()).await?)
}

/// Asks for a lease of a key.
pub(crate) fn acquire(key: &str) -> Result<Acquire, Failure> {
    Ok(Acquire::new(Namespace::new("bench")?, Key::new(key)?, "a client"))
}

/// So many clients of one store.
pub(crate) fn clients(store: &LeaseStore, names: &Names, count: usize) -> Result<Clients, Failure> {
    let client = |at| {
        let (store, names, acquire) = (store.clone(), names.clone(), acquire(&Names::own(at))?);
        Ok(Box::new(Cycle { store, names, acquire }) as Box<dyn Client>)
    };
    (0..count).map(client).collect()
}

struct Cycle {
    store: LeaseStore,
    names: Names,
    acquire: Acquire,
}

#[async_trait]
impl Client for Cycle {
    async fn once(&mut self) -> Result<bool, Failure> {
        if let Some(name) = self.names.next() {
            self.acquire.key = Key::new(name)?;
        }
        let lease = self.store.acquire(&self.acquire).await?;
        match self.store.release(&lease).await? {
            Released::Now => Ok(true),
            Released::Already => Err("a lease was over before it was given back".into()),
        }
    }
}

/// The names of keys, the same for all contenders.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    keys: Keys,
    given: Arc<AtomicU64>,
}

impl Names {
    pub(crate) fn new(keys: Keys) -> Self {
        Self { keys, given: Arc::default() }
    }

    /// The name that one client begins with.
    pub(crate) fn own(at: usize) -> String {
        format!("client-{at}")
    }

    /// The name for the next lease, where it is to be another one.
    pub(crate) fn next(&self) -> Option<String> {
        (self.keys == Keys::New).then(|| format!("key-{:012}", self.given.fetch_add(1, Ordering::Relaxed)))
    }
}
