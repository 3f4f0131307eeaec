//! What is past its time, swept: a target of the engine.
//!
//! Nothing here is needed for correctness: every operation tests deadlines by itself, and clears what it meets. The sweeper
//! only takes away what nobody comes back for, and it goes where the index leads it: with nothing due it reads one small
//! list a namespace, and lists nothing.

mod ended;
mod look;
mod target;

pub use target::{LeaseTarget, Swept};
