//! A second pair of hands: the walk is handed out in batches, and what is done with a batch needs nobody else.
//!
//! Looking at names and removing them is time spent in the kernel, most of it outside any lock that two threads share, so
//! a second thread pays. More would take the machine away from those it serves.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread::{Builder, available_parallelism, scope};

const HANDS_MAX: usize = 2;

/// How many threads work at once on this machine.
pub(crate) fn hands() -> usize {
    available_parallelism().map_or(1, NonZero::get).min(HANDS_MAX)
}

/// Runs `work` in so many threads, this one among them, and collects what each of them brings.
pub(crate) fn with_hands<R: Send>(hands: usize, work: impl Fn() -> R + Sync) -> Vec<R> {
    scope(|scope| {
        // Where no thread can be had, the others do its part.
        let helpers: Vec<_> =
            (1..hands).filter_map(|_| Builder::new().name("tree".into()).spawn_scoped(scope, &work).ok()).collect();
        let mut brought = vec![work()];
        brought.extend(helpers.into_iter().map(|helper| helper.join().unwrap_or_else(|panic| resume_unwind(panic))));
        brought
    })
}
