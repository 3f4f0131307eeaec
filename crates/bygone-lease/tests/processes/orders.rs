//! What a worker is told, and what it says.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::SystemClock;
use bygone_lease::storage::{Disk, Objects};
use bygone_lease::{Key, Lease, LeaseStore, Namespace, Options, Queue, QueueName};
use bygone_objects::{Access, BucketUrl, Environment};
use bygone_testkit::TestBucket;
use serde::{Deserialize, Serialize};

/// Longer than any request to a healthy store.
const REQUEST_TIME: Duration = Duration::from_secs(20);
/// Lines that are for the test begin with this: the test runner writes to the same output.
const MARK: &str = "@";

/// Where the store is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Place {
    Disk(PathBuf),
    Bucket { url: String, credentials: Vec<(String, String)> },
}

impl Place {
    pub(crate) fn bucket(bucket: &TestBucket) -> Self {
        let credentials = bucket.credentials().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Self::Bucket { url: bucket.url(), credentials }
    }

    /// Opens the store, as any process does.
    pub(crate) async fn open(&self, options: Options) -> LeaseStore {
        let opened = match self {
            Self::Disk(directory) => LeaseStore::open(Disk::open(directory).unwrap(), options).await,
            Self::Bucket { url, credentials } => {
                let environment =
                    Environment::of(credentials.iter().map(|(name, value)| (name.as_str(), value.as_str())));
                let access = Access::new(BucketUrl::parse(url).unwrap(), environment).unwrap();
                let objects = Objects::open(access, Arc::new(SystemClock::new()), REQUEST_TIME).unwrap();
                LeaseStore::open(objects, options).await
            }
        };
        opened.unwrap()
    }
}

/// What a worker is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub(crate) place: Place,
    pub(crate) task: Task,
    /// How it calls itself: no other life of any process has this name.
    pub(crate) name: String,
    pub(crate) seed: u64,
    /// How long leases, deliveries and transactions last.
    pub(crate) ttl: Duration,
    pub(crate) skew: Duration,
    /// The resource that its leases guard, if there is one.
    pub(crate) resource: Option<SocketAddr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Task {
    /// Work until killed.
    Work,
    /// Say what stands in the books of a term, and end.
    Audit { term: u64 },
}

impl Orders {
    pub(crate) fn options(&self) -> Options {
        Options {
            default_ttl: self.ttl,
            skew: self.skew,
            poll: (Duration::from_millis(10), Duration::from_millis(80)),
            ..Options::default()
        }
    }
}

/// What a worker says: each is one line, written at once, so that a kill never leaves half of one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Said {
    /// Nothing of what it does is under way.
    Quiet,
    /// It has counted: to this value, in this version.
    Counted {
        key: Key,
        value: u64,
        version: u64,
    },
    /// The store has taken a message.
    Sent {
        letter: String,
    },
    /// It works on a message.
    Got {
        letter: String,
        attempts: u32,
    },
    /// It is about to acknowledge one.
    Acking {
        letter: String,
    },
    Acked {
        letter: String,
        now: bool,
    },
    /// It was refused that, and nothing has changed.
    NotAcked {
        letter: String,
    },
    /// It is about to move something between accounts, in a transaction.
    Moving {
        id: String,
        term: u64,
        deltas: Vec<(usize, i64)>,
    },
    /// The transaction is committed.
    Moved {
        id: String,
    },
    /// It is not, and never will be.
    Undone {
        id: String,
        code: String,
    },
    /// It has a lease that nobody else asks for.
    Held {
        lease: Lease,
    },
    /// It is about to set the state of that key.
    Setting {
        key: Key,
        value: String,
    },
    Set {
        key: Key,
        value: String,
    },
    /// It is about to give that lease back.
    Freeing {
        key: Key,
    },
    Freed {
        key: Key,
    },
    /// What an account holds, and its version.
    Account {
        number: usize,
        text: String,
    },
    /// It was refused something, as may happen.
    Refused {
        what: String,
        code: String,
    },
    /// It was refused something, as should not happen.
    Odd {
        what: String,
        error: String,
    },
}

/// Says it, after everything that was said before and before everything that is done next.
pub(crate) fn say(said: &Said) {
    // The runner may have begun a line of its own.
    let line = format!("\n{MARK}{}\n", serde_json::to_string(said).unwrap());
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes()).unwrap();
    out.flush().unwrap();
}

/// What was said in a line, if it is one of ours.
pub(crate) fn heard(line: &str) -> Option<Said> {
    line.strip_prefix(MARK).map(|said| serde_json::from_str(said).unwrap_or_else(|error| panic!("{line}: {error}")))
}

pub(crate) fn namespace() -> Namespace {
    Namespace::new("real").unwrap()
}

pub(crate) fn key(name: impl Into<String>) -> Key {
    Key::new(name).unwrap()
}

pub(crate) fn queue() -> Queue {
    Queue { namespace: namespace(), name: QueueName::new("letters").unwrap() }
}
