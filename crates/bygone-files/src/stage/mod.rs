//! A staging area: content-addressed files with lifetimes, and a manifest that survives restarts.
//!
//! ```
//! use std::time::Duration;
//! use bygone_files::stage::{Content, Put, Stage, StageOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let temporary = tempfile::tempdir()?;
//! # let dir = temporary.path().join("area");
//! let stage = Stage::open(&dir, StageOptions::default())?;
//! let put = Put::named("greeting.txt").ttl(Duration::from_secs(60));
//! let attachment = stage.put(Content::reader(&b"hello"[..]), &put)?;
//! assert_eq!(std::fs::read(&attachment.path)?, b"hello");
//! assert_eq!(stage.metrics()?.expirable_count, 1);
//! # Ok(())
//! # }
//! ```
//!
//! Files lie at `<dir>/<sha256>/<name>`. The manifest, `<dir>/.bygone/manifest.db`, knows when each of them ends.
//!
//! - An attachment is past its time iff `deadline < now`, strictly; it is absent from then on, swept or not.
//! - A path that was returned is good until its deadline. Where the quota evicts, it is good while it is held.
//! - Staging the same content again refreshes and stretches, and never shortens.
//! - Several processes of one machine may share a directory: the manifest's write lock is the one lock of the area. Two
//!   machines over a network file system may not.
//! - Nothing persistent is removed but by [`Stage::remove`].

mod area;
mod attachment;
mod cleaner;
mod error;
mod event;
mod hold;
mod id;
mod ingest;
mod inspect;
mod manifest;
mod moment;
mod name;
mod options;
mod put;
mod quota;
mod reconcile;
mod session;
#[expect(clippy::module_inception, reason = "the file is named for what it holds")]
mod stage;
mod target;
mod ttl;

pub use attachment::{Attachment, Content, Metrics, Put};
pub use cleaner::{Cleaner, CleanerConfig, DEFAULT_INTERVAL};
pub use error::StageError;
pub use event::{Cleaned, StageObserver, Staged};
pub use hold::Hold;
pub use id::{AttachmentId, InvalidId};
pub use inspect::{Inspection, Upcoming};
pub use name::{Name, UnsafeName};
pub use options::{DEFAULT_ORPHAN_GRACE, DEFAULT_TTL, Durability, Ingest, Reconcile, StageOptions};
pub use put::PutAll;
pub use quota::{Quota, Shortage, WhenFull};
pub use reconcile::ReconcileReport;
pub use stage::{List, ResetReport, Stage};
pub use target::StageTarget;
pub use ttl::Ttl;
