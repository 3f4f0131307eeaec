//! The bounds of a run.

use std::num::NonZeroUsize;
use std::time::Duration;

use crate::Duty;

/// The most items a page may examine when the policy names no other limit.
pub const PAGE_ITEMS_MAX: u64 = 100_000;

/// How much one policy may do in one sweep, and how gently. `None` is unbounded.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// The most items one page may examine.
    pub page_items_max: u64,
    /// The time a page should stay within; the page size follows it.
    pub page_time: Duration,
    /// The most items examined in the run.
    pub items: Option<u64>,
    /// The most requests to the source in the run.
    pub requests: Option<u64>,
    /// How long the run may take.
    pub run_time: Option<Duration>,
    /// The rest between two pages.
    pub pause: Duration,
    /// The share of the time that pages may take while others are at work in the source.
    pub duty: Duty,
    /// How many pages may be swept side by side, where the target can be parted.
    pub workers: NonZeroUsize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            page_items_max: PAGE_ITEMS_MAX,
            page_time: Duration::from_millis(50),
            items: None,
            requests: None,
            run_time: None,
            pause: Duration::ZERO,
            duty: Duty::FULL,
            workers: NonZeroUsize::MIN,
        }
    }
}
