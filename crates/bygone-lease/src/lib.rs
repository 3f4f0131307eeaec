//! Leases and state that expire by construction, over a store that compares before it swaps.
//!
//! A [`LeaseStore`] gives out leases of keys: a promise with an end and a fencing token that only ever grows. What a lease
//! guards, small state, lies in the same record, so that taking a lease, changing the state and giving the lease back are
//! one write each. Any number of processes may share a store; nothing that matters lives in memory only.
//!
//! ```
//! use bygone_lease::storage::Memory;
//! use bygone_lease::{Acquire, IfVersion, Key, LeaseStore, Namespace, Options};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), bygone_lease::Error> {
//! let store = LeaseStore::open(Memory::new(), Options::default()).await?;
//! let (namespace, key) = (Namespace::new("jobs")?, Key::new("nightly-report")?);
//! let lease = store.acquire(&Acquire::new(namespace.clone(), key.clone(), "worker-1")).await?;
//! store.update_and_release(&lease, b"{\"rows\": 42}", IfVersion::Any).await?;
//! let found = store.get(&namespace, &key).await?.map(|found| found.state);
//! assert_eq!(found.as_deref(), Some(&b"{\"rows\": 42}"[..]));
//! # Ok(())
//! # }
//! ```

mod activity;
mod attachment;
mod blob;
mod cache;
mod chance;
mod document;
mod errand;
mod error;
mod holdings;
mod ids;
mod index;
mod layout;
mod lease;
mod moment;
mod name;
mod open;
mod options;
#[cfg(feature = "planted")]
#[doc(hidden)]
pub mod planted;
#[cfg(not(feature = "planted"))]
mod planted;
mod queue;
mod record;
mod state;
pub mod storage;
mod store;
mod sweep;
mod txn;
mod waiters;

pub use attachment::{Attachment, AttachmentReader};
pub use bygone_objects::Environment;
pub use chance::{Chance, SeededChance, SystemChance};
pub use error::Error;
pub use holdings::{Ending, Holdings, LookBounds, NamespaceHoldings};
pub use lease::{Acquire, Lease, Released, Wait};
pub use moment::Moment;
pub use name::{Key, Namespace, QueueName};
pub use open::{OpenError, StoreUrl, StoreUrlError, open};
pub use options::{Options, Replay};
pub use queue::{Acked, Delivery, Enqueue, Nack, Queue, QueueStats};
pub use state::{Description, IfVersion, Versioned};
pub use store::LeaseStore;
pub use sweep::{Ended, Idle, IdleOptions, IdleSweeper, Janitor, LeaseTarget, StoreTurn, Swept};
pub use txn::{RolledBack, TxnId};
