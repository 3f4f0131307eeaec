//! Leases that are taken, kept, given back and left, by a process of its own beside the daemon.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bygone_lease::{Acquire, Error, Key, Lease, LeaseStore, Namespace};
use jiff::{SignedDuration, Timestamp};

use super::super::book::Promise;
use super::super::part::Part;
use super::super::record::Who;
use super::super::site::Site;
use super::{Desk, Looker, Writer, records};
use crate::failure::Failure;

const TAKEN: u64 = 4;
/// Few enough that the records of keys, which stay for a day, do not become more and more.
const KEYS: u64 = 200;
/// The shortest lease: longer than it takes to enter it.
const TTL_MIN: Duration = Duration::from_secs(1);
/// How much later a lease ends for other processes: the store's default.
const SKEW: SignedDuration = SignedDuration::from_secs(2);

pub(super) struct Worker {
    desk: Desk,
    store: LeaseStore,
    namespace: Namespace,
    held: Vec<Lease>,
    tokens: BTreeMap<String, u64>,
}

impl Worker {
    pub(super) fn new(desk: Desk, store: &LeaseStore) -> Result<Self, Failure> {
        let (held, tokens) = (Vec::new(), BTreeMap::new());
        Ok(Self { desk, store: store.clone(), namespace: Namespace::new("soak")?, held, tokens })
    }

    async fn take(&mut self) -> Result<(), Failure> {
        let key = format!("job-{}", self.desk.chance.below(KEYS));
        let ttl = Some(TTL_MIN + self.desk.life());
        let request = Acquire { ttl, ..Acquire::new(self.namespace.clone(), Key::new(key.as_str())?, "worker") };
        let lease = match self.store.acquire(&request).await {
            Ok(lease) => lease,
            // One of ours has it.
            Err(Error::Held { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let last = self.tokens.insert(key, lease.fencing_token).unwrap_or_default();
        if lease.fencing_token <= last {
            let told = format!("{} after {last} for key {}", lease.fencing_token, lease.key);
            self.desk.record.seen().tokens_back.push(told);
        }
        let until = end(&lease)?;
        self.desk.book.enter(lease.id.to_string(), Promise { until, due: until + SKEW });
        self.held.push(lease);
        Ok(())
    }

    /// Keeps a lease, or gives it back, or leaves it.
    async fn go_on(&mut self, lease: Lease) -> Result<(), Failure> {
        let (id, until) = (lease.id.to_string(), end(&lease)?);
        let failed = match self.desk.chance.below(6) {
            0..3 => match self.store.keepalive(&lease, None).await {
                Ok(kept) => {
                    let until = end(&kept)?;
                    self.desk.book.enter(id, Promise { until, due: until + SKEW });
                    self.held.push(kept);
                    return Ok(());
                }
                Err(error) => error,
            },
            3 => {
                self.desk.book.strike(&id);
                match self.store.release(&lease).await {
                    Ok(_) => return Ok(()),
                    Err(error) => error,
                }
            }
            _ => return Ok(()),
        };
        // A holder who was late has lost it, as it should be.
        if self.desk.record.now() < until { Err(failed.into()) } else { Ok(()) }
    }
}

fn end(lease: &Lease) -> Result<Timestamp, Failure> {
    lease.expires_at.timestamp().ok_or_else(|| "a lease without an end".into())
}

#[async_trait]
impl Writer for Worker {
    async fn write(&mut self) -> Result<(), Failure> {
        for lease in std::mem::take(&mut self.held) {
            if self.desk.chance.one_in(6) {
                let from = self.desk.record.at();
                if let Err(error) = self.go_on(lease).await {
                    // The others are none the worse for it.
                    self.desk.record.trouble(Who::Writer(Part::Leases), from, error.to_string());
                }
            } else {
                self.held.push(lease);
            }
        }
        for _ in 0..TAKEN {
            self.take().await?;
        }
        Ok(())
    }
}

pub(super) struct Reader(Arc<Site>);

impl Reader {
    pub(super) fn new(site: &Arc<Site>) -> Self {
        Self(Arc::clone(site))
    }
}

#[async_trait]
impl Looker for Reader {
    async fn look(&mut self) -> Result<BTreeSet<String>, Failure> {
        let Self(site) = self;
        records::names(&site.jobs_file(), "meta", |record| record["lease"]["id"].as_str().map(str::to_owned))
    }
}
