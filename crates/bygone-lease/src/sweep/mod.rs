//! What is past its time, swept: a target of the engine.
//!
//! Nothing here is needed for correctness: every operation tests deadlines by itself, and clears what it meets. The sweeper
//! only takes away what nobody comes back for, and it goes where the index leads it: with nothing due it reads one small
//! list a namespace, and lists nothing.

mod census;
mod ended;
mod errands;
mod gate;
mod idle;
mod janitor;
mod look;
mod rounds;
mod store_turn;
mod target;
mod turn;

use std::time::Duration;

/// An hour stays on its list for so long after it is over: a writer whose clock is behind may still enter into it.
pub(crate) const HOUR_MARGIN: Duration = Duration::from_secs(3600);

/// How far a listing may be behind, and a request on its way.
pub(crate) const STRAGGLERS: Duration = Duration::from_secs(60);

pub(crate) use look::key_of;

pub use idle::{Ended, Idle, IdleOptions, IdleSweeper};
pub use janitor::Janitor;
pub use store_turn::StoreTurn;
pub use target::{LeaseTarget, Swept};
