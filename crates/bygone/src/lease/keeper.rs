//! Keeping a lease alive, and knowing when it is lost.

use std::fmt;
use std::time::Duration;

use bygone_core::Clock;
use bygone_lease::{Lease, Moment};

use crate::exit::Exit;
use crate::problem::Problem;
use crate::store::Store;

/// A lease is extended so many times within its lifetime, so that one failure or two do not end it.
const EXTENSIONS: u32 = 3;
/// After a failure it is tried so many times within its lifetime.
const TRIALS: u32 = 10;

/// Why a lease is lost.
#[derive(Debug)]
pub(super) enum Lost {
    /// The store says so.
    Told(Problem),
    /// Its time ran out before the store could be told to extend it.
    Unheard(Option<Problem>),
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Told(problem) | Self::Unheard(Some(problem)) => problem.fmt(f),
            Self::Unheard(None) => f.write_str("its time ran out before the store answered"),
        }
    }
}

/// Extends a lease again and again; ends when it is lost.
pub(super) async fn until_lost(store: &dyn Store, lease: &Lease, ttl: Duration, clock: &dyn Clock) -> Lost {
    let mut good_until = end_of(lease, clock);
    let (mut pause, mut complaint) = (ttl / EXTENSIONS, None);
    loop {
        clock.sleep(pause).await;
        // By the clock that never jumps: whoever cannot reach the store must stop by himself.
        let left = good_until.saturating_sub(clock.elapsed());
        let kept = tokio::select! {
            kept = store.keepalive(lease, None) => kept,
            () = clock.sleep(left) => return Lost::Unheard(complaint),
        };
        match kept {
            Ok(kept) => {
                good_until = end_of(&kept, clock);
                (pause, complaint) = (ttl / EXTENSIONS, None);
            }
            Err(problem) if problem.exit == Exit::LeaseLost => return Lost::Told(problem),
            Err(problem) => {
                tracing::warn!(%problem, "the lease could not be extended");
                let left = good_until.saturating_sub(clock.elapsed());
                (pause, complaint) = ((ttl / TRIALS).min(left), Some(problem));
            }
        }
    }
}

/// When a lease that was granted or extended just now ends.
fn end_of(lease: &Lease, clock: &dyn Clock) -> Duration {
    clock.elapsed() + Moment::from(clock.now()).until(lease.expires_at)
}
