//! The way to the store, and all that can happen on it.

use std::sync::Arc;

use async_trait::async_trait;
use bygone_core::ClockReading;
use bygone_lease::storage::{Capabilities, Expected, Listing, Storage, StorageError, Stored, Version};
use bytes::Bytes;

use crate::shelf::LAG_MAX;
use crate::witness::{Sender, Write};
use crate::world::{Fault, World};

/// The longest that a request may be on its way after its sender gave it up, in milliseconds.
pub(crate) const LATE_MAX: u64 = 15_000;
/// How long it is on its way at least where it is overdue: hours of the index pass meanwhile.
pub(crate) const OVERDUE_LEAST: u64 = 130 * 60_000;
/// A request in so many takes longer than any lease lasts.
const STALLS: u64 = 700;
/// How long it takes then, in milliseconds: leases of the simulation last two seconds.
const STALL_LEAST: u64 = 2_000;
const STALL_MOST: u64 = 20_000;

/// A process's way to the store.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) world: Arc<World>,
    pub(crate) sender: Sender,
    /// The life with which the process is paused.
    pub(crate) host: u64,
}

/// What is asked of the store.
#[derive(Clone, Debug)]
enum Request {
    Get { key: String },
    Put { key: String, body: Bytes, expected: Option<Version> },
    Delete { key: String, version: Version },
    List { prefix: String, after: Option<String>, limit: usize },
}

/// What it answers.
enum Reply {
    Found(Option<Stored>),
    Written(Version),
    Deleted,
    Listed(Listing),
}

impl Request {
    fn writes(&self) -> bool {
        matches!(self, Self::Put { .. } | Self::Delete { .. })
    }

    fn name(&self) -> (&'static str, &str) {
        match self {
            Self::Get { key } => ("get", key),
            Self::Put { key, .. } => ("put", key),
            Self::Delete { key, .. } => ("delete", key),
            Self::List { prefix, .. } => ("list", prefix),
        }
    }
}

impl World {
    /// How a request goes.
    fn fate(&self, sender: Sender, request: &Request) -> Option<Fault> {
        self.counts().requests += 1;
        if self.is_calm() {
            return None;
        }
        let fault = match self.below(200) {
            0..=3 => Fault::Throttled,
            4..=5 => Fault::Collided,
            6..=7 => Fault::Unreachable,
            8..=10 => Fault::LostRequest,
            11..=15 => Fault::LostReply,
            16..=17 => Fault::Late,
            18..=20 => Fault::SentTwice,
            // Not both: what is kept is kept for longer than either.
            21 if self.one_in(4) && !sender.is_late => Fault::Overdue,
            _ => return None,
        };
        // Twice matters only where the second meets the first; late, where it changes something.
        let fits =
            request.writes() || !matches!(fault, Fault::SentTwice | Fault::Late | Fault::Overdue | Fault::Collided);
        fits.then_some(fault).inspect(|fault| self.fired(*fault))
    }

    /// A little time, often none, and now and then more than any lease lasts.
    async fn pass(&self) {
        if self.is_calm() {
            return;
        }
        let millis = if self.one_in(STALLS) {
            self.fired(Fault::Stall);
            STALL_LEAST + self.below(STALL_MOST - STALL_LEAST)
        } else {
            self.below(20).saturating_sub(10)
        };
        self.sleep_millis(millis).await;
    }

    /// The store does what it is asked.
    fn carry_out(&self, sender: Sender, request: &Request) -> Result<Reply, StorageError> {
        let now = self.agenda.now();
        let mut stock = self.shelf();
        let done = match request {
            Request::Get { key } => {
                self.witness().shows(self.true_millis(), sender.life, key);
                Ok(Reply::Found(stock.get(key).cloned()))
            }
            Request::Put { key, body, expected } => {
                stock.put(now, key, body.clone(), expected.as_ref()).map(|version| {
                    let write = Write { path: key, body: Some(body) };
                    self.demand(self.witness().see(&stock, self.true_millis(), sender, &write));
                    Reply::Written(version)
                })
            }
            Request::Delete { key, version } => stock.delete(now, key, version).map(|()| {
                let write = Write { path: key, body: None };
                self.demand(self.witness().see(&stock, self.true_millis(), sender, &write));
                Reply::Deleted
            }),
            Request::List { prefix, after, limit } => {
                let is_stale = !self.is_calm() && self.one_in(20);
                let lag = if is_stale { self.below(LAG_MAX) } else { 0 };
                let mut listing = stock.list(prefix, after.as_deref(), *limit, now.saturating_sub(lag));
                if is_stale {
                    self.fired(Fault::StaleListing);
                }
                if !self.is_calm() && self.one_in(20) {
                    self.fired(Fault::BareListing);
                    listing.keys.iter_mut().for_each(|listed| listed.version = None);
                }
                Ok(Reply::Listed(listing))
            }
        };
        drop(stock);
        let (what, name) = request.name();
        self.trace().note(now, sender.life, what, name, if done.is_ok() { "carried out" } else { "conflict" });
        if let Request::Put { body, .. } = request {
            self.trace().add(body);
        }
        done
    }
}

impl Way {
    async fn send(&self, request: Request) -> Result<Reply, StorageError> {
        let world = &self.world;
        world.pass().await;
        let sender = Sender { is_late: world.is_late(self.host), ..self.sender };
        let lost = |writes: bool| {
            let reason = "lost".to_owned();
            if writes { StorageError::Unknown { reason } } else { StorageError::Unavailable { reason } }
        };
        let answer = match world.fate(sender, &request) {
            Some(Fault::Throttled | Fault::Collided) => Err(StorageError::Throttled),
            Some(Fault::Unreachable) => Err(lost(false)),
            Some(Fault::LostRequest) => Err(lost(request.writes())),
            Some(Fault::LostReply) => {
                let _ = world.carry_out(sender, &request);
                Err(lost(request.writes()))
            }
            Some(fault @ (Fault::Late | Fault::Overdue)) => {
                let later = if fault == Fault::Late { 0 } else { OVERDUE_LEAST } + world.below(LATE_MAX);
                let world = Arc::clone(world);
                let sender = Sender { is_late: true, ..sender };
                Arc::clone(&self.world).agenda.spawn(self.world.heaven, async move {
                    world.sleep_millis(later).await;
                    let _ = world.carry_out(sender, &request);
                });
                Err(lost(true))
            }
            Some(Fault::SentTwice) => {
                world.sent_twice(sender.life, request.name().1);
                world.witness().doubles(world.true_millis(), request.name().1);
                let _ = world.carry_out(sender, &request);
                world.carry_out(sender, &request)
            }
            _ => world.carry_out(sender, &request),
        };
        world.pass().await;
        answer
    }
}

/// The store answered something else than it was asked: that is a bug of the simulation.
fn confused() -> StorageError {
    StorageError::Refused { reason: "the simulated store is confused".to_owned() }
}

#[async_trait]
impl Storage for Way {
    fn capabilities(&self) -> Capabilities {
        let (value_bytes_max, requests_at_once) = (usize::MAX, 4);
        Capabilities { proven: true, list: true, delete_if_version: true, value_bytes_max, requests_at_once }
    }

    async fn get(&self, key: &str) -> Result<Option<Stored>, StorageError> {
        match self.send(Request::Get { key: key.to_owned() }).await? {
            Reply::Found(found) => Ok(found),
            _ => Err(confused()),
        }
    }

    async fn put(&self, key: &str, body: Bytes, expected: Expected<'_>) -> Result<Version, StorageError> {
        let expected = match expected {
            Expected::Absent => None,
            Expected::Version(version) => Some(version.clone()),
        };
        match self.send(Request::Put { key: key.to_owned(), body, expected }).await? {
            Reply::Written(version) => Ok(version),
            _ => Err(confused()),
        }
    }

    async fn delete(&self, key: &str, version: &Version) -> Result<(), StorageError> {
        match self.send(Request::Delete { key: key.to_owned(), version: version.clone() }).await? {
            Reply::Deleted => Ok(()),
            _ => Err(confused()),
        }
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Listing, StorageError> {
        let (prefix, after) = (prefix.to_owned(), after.map(str::to_owned));
        match self.send(Request::List { prefix, after, limit }).await? {
            Reply::Listed(listing) => Ok(listing),
            _ => Err(confused()),
        }
    }

    async fn read_clock(&self) -> Result<Option<ClockReading>, StorageError> {
        Ok(None)
    }
}
