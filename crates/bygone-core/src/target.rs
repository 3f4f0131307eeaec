//! What the engine asks of anything it sweeps.

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use crate::{Boundary, Tally, TargetError};

/// A policy bound to its source.
///
/// The contract, which the conformance suite of the test kit checks: a page removes only what has passed the
/// boundary, tests the deadline again on what it removes, examines at most `limit` items, commits before it
/// answers, and always moves the cursor on. Sweeping twice is harmless.
#[async_trait]
pub trait Target: Send {
    /// The policy's name.
    fn policy(&self) -> &str;

    /// The source's name.
    fn source(&self) -> &str;

    /// The most items that one page of it takes, whatever it is allowed.
    fn page_items_max(&self) -> u64 {
        u64::MAX
    }

    /// Counts what is bygone. Touches nothing.
    async fn survey(&mut self, boundary: Boundary) -> Result<Survey, TargetError>;

    /// Whether the source holds at least so many items, bygone or not. Costs no more than counting that far.
    async fn holds_at_least(&mut self, items: u64) -> Result<bool, TargetError>;

    /// Removes, at one stroke, a part of the source that is bygone as a whole and has at most so many items; `None` when
    /// there is none. Asked again and again before the first page.
    async fn whole(&mut self, _boundary: Boundary, _items_max: u64) -> Result<Option<Page>, TargetError> {
        Ok(None)
    }

    /// Parts that can be swept side by side, no more than `workers`: together they are what is left of this target, and
    /// no two hold the same item. Empty where it cannot be parted, or where that would gain nothing. Asked before the
    /// first page; afterwards pages are asked of the parts alone.
    async fn parts(&mut self, _boundary: Boundary, _workers: usize) -> Result<Vec<Box<dyn Target>>, TargetError> {
        Ok(Vec::new())
    }

    /// Sweeps one page.
    async fn page(&mut self, request: PageRequest<'_>) -> Result<Page, TargetError>;

    /// Housekeeping between two pages, while nothing is held: it takes time from the sweep and from nobody else.
    async fn tidy(&mut self) -> Result<(), TargetError> {
        Ok(())
    }

    /// Makes sure that every page answered so far outlives a crash. Called before a report is shown.
    async fn settle(&mut self) -> Result<(), TargetError>;

    /// How long the oldest bygone item has been so; `None` when there is none.
    async fn lag(&mut self, boundary: Boundary) -> Result<Option<SignedDuration>, TargetError>;

    /// What a person should know of the pages so far, beyond what the survey could say. Asked for when a run has ended.
    fn warnings(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// What the last page did in the words of its kind, beyond what every page counts: what, and how often. Asked for
    /// after each page.
    fn counted(&mut self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// What a survey found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// How many items are bygone; `None` when that could not be counted (never read as zero).
    pub bygone: Option<u64>,
    /// How many items have no deadline that can be read.
    pub unreadable: u64,
    /// The earliest deadline among the bygone.
    pub oldest: Option<Timestamp>,
    /// How many bytes the bygone items take, where the source knows.
    pub bytes: Option<u64>,
    /// What a person should know before trusting the numbers.
    pub warnings: Vec<String>,
    /// Requests that the survey took.
    pub requests: u64,
}

/// Where a page begins. Only the target that made it knows what is inside.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cursor(String);

impl Cursor {
    /// A cursor holding `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// What the target put in.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How a page goes about its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Care {
    /// By the fastest way that is right. May fail whole where a single item is in the way.
    Swift,
    /// Item by item: skips what others hold, and fails only for an item that truly cannot go.
    Careful,
    /// Examines one item and leaves it where it is, as a conflict: the way past an item that cannot go.
    KeepBack,
}

/// The page that the engine asks for.
#[derive(Clone, Copy, Debug)]
pub struct PageRequest<'a> {
    /// The sweep's boundary.
    pub boundary: Boundary,
    /// Where to begin; `None` for the first page.
    pub cursor: Option<&'a Cursor>,
    /// The most items to examine.
    pub limit: u64,
    /// How.
    pub care: Care,
}

/// A committed page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// What it did.
    pub tally: Tally,
    /// Requests to the source that it took.
    pub requests: u64,
    /// Where the next page begins; `None` when there is nothing further to examine.
    pub next: Option<Cursor>,
}
