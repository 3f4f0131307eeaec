//! The engine of bygone: one sweep loop over anything that expires.
//!
//! An adapter supplies a [`Target`]: it can *survey* (count what is bygone, touching nothing) and sweep one
//! *page* (examine at most n items from a cursor, remove the bygone, commit). Everything else lives here, once:
//! the [`Boundary`], the [`Budget`], the [`Brake`], the [`Gate`]s, the adaptive page size, retries with halved pages,
//! cancellation, [`Event`]s and the [`Report`].
//!
//! This crate does no I/O and knows no database, no file system and no network; a test over the dependency tree
//! keeps it so. Time comes from an injected [`Clock`].
//!
//! ```
//! use std::sync::Arc;
//! use bygone_core::{Boundary, Budget, Job, ManualClock, Sweep, memory::{Item, MemoryTarget, Shelf}};
//! use jiff::{SignedDuration, Timestamp};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
//! let shelf = Shelf::new([
//!     Item::due("token-1", now - SignedDuration::from_secs(1)),
//!     Item::due("token-2", now),                                  // exactly on the boundary: not yet bygone
//! ]);
//! let target = MemoryTarget::new("tokens", shelf.clone());
//! let sweep = Sweep::new(Arc::new(ManualClock::at(now)), Boundary::at(now));
//! let report = sweep.run(vec![Job::new(Box::new(target), Budget::default())]).await;
//! assert_eq!(report.policies[0].tally.removed, 1);
//! assert_eq!(shelf.keys(), ["token-2"]);
//! # }
//! ```

mod boundary;
mod brake;
mod budget;
mod clock;
mod duty;
mod error;
mod event;
mod gate;
mod ground;
pub mod memory;
mod outcome;
mod pace;
mod policy_run;
mod report;
mod schedule;
mod sweep;
mod tally;
mod target;
mod turn;
mod window;
mod worker;

pub use boundary::{Boundary, ClockReading, Skewed};
pub use brake::{Brake, BrakeDecision};
pub use budget::{Budget, PAGE_ITEMS_MAX};
pub use clock::{Clock, ManualClock, SystemClock};
pub use duty::{Duty, Neighbours};
pub use error::{ErrorKind, TargetError};
pub use event::{Event, Observer};
pub use gate::{Closed, Gate, Hindrance, WindowGate};
pub use outcome::{Outcome, SweepOutcome};
pub use report::{PolicyReport, Report, format_instant};
pub use schedule::{Schedule, ScheduleError};
pub use sweep::{Consent, Job, Sweep};
pub use tally::{KeptBack, Tally};
pub use target::{Care, Cursor, Page, PageRequest, Survey, Target};
pub use tokio_util::sync::CancellationToken;
pub use turn::Turn;
pub use window::Window;
pub use worker::CAREFUL_ITEMS_MAX;
