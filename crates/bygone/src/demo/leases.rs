//! The demo's lease store: leases, transactions and a queue, with some of each on every side of the boundary.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Clock, ManualClock};
use bygone_lease::storage::Disk;
use bygone_lease::{
    Acquire, Enqueue, Error, IfVersion, Key, Lease, LeaseStore, Namespace, Options, Queue, QueueName, SystemChance,
    Wait,
};
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use super::EVERY;
use crate::output::grouped;

/// How many there are of each.
const RELEASED_LONG_AGO: u32 = 30;
const FORGOTTEN: u32 = 60;
const RELEASED: u32 = 20;
const ON_THE_BOUNDARY: u32 = 10;
const LIVING: u32 = 40;
const MESSAGES: u32 = 20;
const ACKED: usize = 15;

/// New leases and messages, again and again.
const FORGETFUL: u32 = 5;

const HOUR: Duration = Duration::from_secs(3_600);
/// How much later a lease ends for everybody else: the store's own default, in milliseconds.
const SKEW: i64 = 2_000;
/// How long the record of a key stays when nothing is left in it, in milliseconds.
const KEEP: i64 = 24 * 3_600_000;

/// The store.
pub(super) struct Leases {
    directory: PathBuf,
}

/// Somebody who uses the store, long ago at first, and then later and later.
struct User {
    store: LeaseStore,
    namespace: Namespace,
    clock: Arc<ManualClock>,
    boundary: Timestamp,
}

impl Leases {
    /// Makes the store, around `boundary`.
    pub(super) async fn create(directory: &Path, boundary: Timestamp) -> Result<Self, Error> {
        let leases = Self { directory: directory.join("leases") };
        let clock = Arc::new(ManualClock::at(boundary - SignedDuration::from_hours(48)));
        let (options, chance) = (Options::default(), Arc::new(SystemChance));
        let disk = Disk::open(&leases.directory)?;
        let store = LeaseStore::open_by(disk, options, Arc::clone(&clock) as Arc<dyn Clock>, chance).await?;
        let user = User { store, namespace: Namespace::new("jobs")?, clock, boundary };
        user.live().await?;
        Ok(leases)
    }

    /// Those who go on working with it.
    pub(super) async fn workers(&self) -> Result<Workers, Error> {
        let store = LeaseStore::open(Disk::open(&self.directory)?, Options::default()).await?;
        Ok(Workers { store, namespace: Namespace::new("live")? })
    }

    /// Its part of the demo's `bygone.toml`.
    pub(super) fn config_text(&self) -> String {
        format!(
            "\n[source.leases]\nurl = \"file:{}\"\n\n[[policy]]\nname     = \"ended-leases\"\nsource   = \"leases\"\n\
             kind     = \"leases\"\n{EVERY}",
            self.directory.display()
        )
    }

    /// Rows for the table of survivors: what is left of keys, transactions and messages, by what the store's file says.
    pub(super) fn survivors(&self, boundary: Timestamp) -> rusqlite::Result<Vec<Vec<String>>> {
        let file = self.directory.join("leases.db");
        let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut statement = connection.prepare("SELECT key, body FROM item")?;
        let found = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?)))?;
        let (mut keys, mut txns, mut messages) = ([0; 6], [0; 6], [0; 6]);
        for item in found {
            let (key, body) = item?;
            let body = serde_json::from_slice(&body).unwrap_or_default();
            let counts = match key.split('/').collect::<Vec<_>>()[..] {
                [_, "meta", _] => &mut keys,
                [".txns", _] | [".txn-decisions", "m", _] => &mut txns,
                [_, "q", ..] => &mut messages,
                _ => continue,
            };
            counts[0] += 1;
            counts[fate(&body, boundary.as_millisecond())] += 1;
        }
        let row = |name: &str, counts: [u64; 6]| {
            std::iter::once(name.to_owned()).chain(counts.map(grouped)).collect::<Vec<_>>()
        };
        Ok(vec![row("leases/", keys), row("transactions", txns), row("messages", messages)])
    }
}

/// Workers who take leases, send messages, and forget both.
pub(super) struct Workers {
    store: LeaseStore,
    namespace: Namespace,
}

impl Workers {
    /// New leases and messages whose time is up in a moment.
    pub(super) async fn forget(&self, beat: u32) -> Result<(), Error> {
        let inbox = Queue { namespace: self.namespace.clone(), name: QueueName::new("inbox")? };
        for n in 0..FORGETFUL {
            let key = Key::new(format!("job-{beat}-{n}"))?;
            let ttl = Some(Duration::from_secs(1));
            self.store.acquire(&Acquire { ttl, ..Acquire::new(self.namespace.clone(), key, "worker") }).await?;
            let payload = format!("mail {beat}/{n}").into_bytes();
            self.store.enqueue(&inbox, &Enqueue { payload, ttl, ..Enqueue::default() }).await?;
        }
        Ok(())
    }
}

/// The column of the table of survivors that an item belongs into.
fn fate(item: &Value, boundary: i64) -> usize {
    let (living, kept, on_the_boundary, no_deadline, bygone) = (1, 2, 3, 4, 5);
    let until = |deadline: i64| match deadline.cmp(&boundary) {
        std::cmp::Ordering::Less => bygone,
        std::cmp::Ordering::Equal => on_the_boundary,
        std::cmp::Ordering::Greater => living,
    };
    if let Some(expires_at) = item["lease"]["expires_at"].as_i64() {
        until(expires_at + SKEW)
    } else if let Some(expires_at) = item["expires_at"].as_i64() {
        until(expires_at)
    } else if item["state"].is_object() || item["payload"].is_object() {
        no_deadline
    } else {
        let touched_at = item["touched_at"].as_i64().unwrap_or(0);
        if touched_at + KEEP < boundary { bygone } else { kept }
    }
}

impl User {
    async fn live(&self) -> Result<(), Error> {
        // Two days ago: keys that nobody has used since, and a transfer.
        for n in 0..RELEASED_LONG_AGO {
            self.store.release(&self.take(&format!("old-{n}"), None).await?).await?;
        }
        self.transfer("60", "40").await?;
        // Two hours ago: workers that wrote something and died.
        self.come_to(HOUR * 2);
        for n in 0..FORGOTTEN {
            let lease = self.take(&format!("forgotten-{n}"), None).await?;
            self.store.update(&lease, b"half done", IfVersion::Any).await?;
        }
        // An hour ago: keys that were given back, a transfer that nobody ended, and a queue.
        self.come_to(HOUR);
        for n in 0..RELEASED {
            self.store.release(&self.take(&format!("released-{n}"), None).await?).await?;
        }
        self.begin_transfer("0", "100").await?;
        self.send_and_receive().await?;
        // What ends exactly on the boundary, and what lives.
        self.come_to(Duration::from_secs(32));
        for n in 0..ON_THE_BOUNDARY {
            self.take(&format!("boundary-{n}"), Some(Duration::from_secs(30))).await?;
        }
        for n in 0..LIVING {
            self.take(&format!("living-{n}"), Some(HOUR / 2)).await?;
        }
        Ok(())
    }

    /// Lets time pass until so long before the boundary.
    fn come_to(&self, ago: Duration) {
        let left = self.boundary.duration_since(self.clock.now());
        self.clock.advance(Duration::try_from(left).unwrap_or_default().saturating_sub(ago));
    }

    async fn take(&self, key: &str, ttl: Option<Duration>) -> Result<Lease, Error> {
        self.store.acquire(&Acquire { ttl, ..self.ask(key)? }).await
    }

    fn ask(&self, key: &str) -> Result<Acquire, Error> {
        Ok(Acquire::new(self.namespace.clone(), Key::new(key)?, "worker"))
    }

    async fn begin_transfer(&self, ada: &str, bob: &str) -> Result<bygone_lease::TxnId, Error> {
        let txn = self.store.begin(None)?;
        for (key, state) in [("ada", ada), ("bob", bob)] {
            let within = Acquire { txn: Some(txn), ..self.ask(key)? };
            self.store.stage(&within, state.as_bytes(), IfVersion::Any).await?;
        }
        Ok(txn)
    }

    async fn transfer(&self, ada: &str, bob: &str) -> Result<(), Error> {
        let txn = self.begin_transfer(ada, bob).await?;
        self.store.commit(txn).await
    }

    async fn send_and_receive(&self) -> Result<(), Error> {
        let mail = Queue { namespace: self.namespace.clone(), name: QueueName::new("mail")? };
        for n in 0..MESSAGES {
            let payload = format!("mail {n}").into_bytes();
            self.store.enqueue(&mail, &Enqueue { payload, ..Enqueue::default() }).await?;
        }
        for delivery in self.store.dequeue(&mail, "worker", None, ACKED, Wait::None).await? {
            self.store.ack(&delivery).await?;
        }
        Ok(())
    }
}
