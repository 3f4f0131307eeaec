//! How an area is kept. Everything has a default that is safe.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Clock, SystemClock};

use super::event::StageObserver;
use super::quota::Quota;
use super::ttl::Ttl;

/// The lifetime of an attachment that names none.
pub const DEFAULT_TTL: Duration = Duration::from_secs(24 * 60 * 60);
/// How long files that the manifest does not know are left alone.
pub const DEFAULT_ORPHAN_GRACE: Duration = Duration::from_secs(60 * 60);

/// How an area is kept.
#[derive(Clone)]
pub struct StageOptions {
    /// The lifetime of attachments that name none.
    pub default_ttl: Ttl,
    /// How much may be staged.
    pub quota: Quota,
    /// How a file comes into the area.
    pub ingest: Ingest,
    /// What a crash of the machine may cost.
    pub durability: Durability,
    /// When opening compares the manifest with the files.
    pub reconcile: Reconcile,
    /// How long files that the manifest does not know are left alone.
    pub orphan_grace: Duration,
    /// Told of everything staged and cleaned.
    pub observer: Arc<dyn StageObserver>,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
}

impl Default for StageOptions {
    fn default() -> Self {
        Self {
            default_ttl: Ttl::For(DEFAULT_TTL),
            quota: Quota::default(),
            ingest: Ingest::Copy,
            durability: Durability::Full,
            reconcile: Reconcile::Full,
            orphan_grace: DEFAULT_ORPHAN_GRACE,
            observer: Arc::new(()),
            clock: Arc::new(SystemClock::new()),
        }
    }
}

impl fmt::Debug for StageOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StageOptions")
            .field("default_ttl", &self.default_ttl)
            .field("quota", &self.quota)
            .field("ingest", &self.ingest)
            .field("durability", &self.durability)
            .field("reconcile", &self.reconcile)
            .field("orphan_grace", &self.orphan_grace)
            .finish_non_exhaustive()
    }
}

/// How a file comes into the area. Readers are always copied, and so is a file where the rest cannot be had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ingest {
    /// A copy of its own.
    #[default]
    Copy,
    /// A copy that shares its blocks, where the file system can.
    Reflink,
    /// A second name of the same file. It costs nothing, and it is only for files that nobody writes in place: such a
    /// write changes the staged file too, which then no longer is what its id says. Its mode and owner stay as they are.
    HardLink,
}

/// What a crash of the machine may cost. A crash of the process alone costs nothing in either case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// What was answered is on the disk.
    #[default]
    Full,
    /// The last moments may be lost. For areas that are thrown away: tests, file systems in memory.
    Relaxed,
}

/// When opening compares the manifest with the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reconcile {
    /// Always. Costs a walk over the whole area.
    #[default]
    Full,
    /// Only when somebody ended without closing. Opening then costs the same in an area of any size.
    AfterCrash,
}
