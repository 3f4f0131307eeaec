//! One worker's way through the pages of a target: the loop.
//!
//! A page is asked for, committed by the target, counted; then the loop looks whether it may go on. When a page
//! fails it is tried once more if the fault may pass, and otherwise halved, down to the single item that is in
//! the way; that item is kept back as a conflict and the loop goes on behind it.

use std::time::Duration;

use tracing::{Instrument as _, field};

use crate::ground::Ground;
use crate::pace::Pace;
use crate::{Care, Cursor, ErrorKind, Event, Outcome, Page, PageRequest, Target, TargetError};

/// Careful pages name each of their items, so they stay small whatever the pace says.
pub const CAREFUL_ITEMS_MAX: u64 = 1_000;
/// The wait before a passing fault is tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// What the loop does after a failed page: careful pages of `limit` items, growing again up to `goal`.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    goal: u64,
    limit: u64,
    keep_back: bool,
}

pub(crate) struct Worker<'g, 'r> {
    ground: &'g Ground<'r>,
    pace: Pace,
    cursor: Option<Cursor>,
    recovery: Option<Recovery>,
    retried: bool,
    page_requests: u64,
}

impl<'g, 'r> Worker<'g, 'r> {
    pub(crate) fn new(ground: &'g Ground<'r>, target: &dyn Target) -> Self {
        let pace = Pace::new(&ground.terms.budget, target.page_items_max());
        Self { ground, pace, cursor: None, recovery: None, retried: false, page_requests: 0 }
    }

    /// Goes from page to page, until nothing is left or something ends the run.
    pub(crate) async fn run(mut self, target: &mut dyn Target) -> Result<Outcome, TargetError> {
        let ground = self.ground;
        loop {
            let (limit, care) = self.next_page();
            let ration = match ground.admit(limit, self.page_requests).await {
                Ok(ration) => ration,
                Err(outcome) => return Ok(outcome),
            };
            let limit = ration.items;
            let request = PageRequest { boundary: ground.boundary, cursor: self.cursor.as_ref(), limit, care };
            let span = tracing::debug_span!("page", limit, examined = field::Empty, removed = field::Empty);
            let before = ground.clock.elapsed();
            match target.page(request).instrument(span.clone()).await {
                Ok(page) => {
                    span.record("examined", page.tally.examined).record("removed", page.tally.removed);
                    let time = ground.clock.elapsed().saturating_sub(before);
                    ground.count(&page, Some(ration));
                    self.tell(target, &page, care, time);
                    self.recover(limit, care, time);
                    if self.advance(page)? {
                        return Ok(Outcome::Complete);
                    }
                    target.tidy().await?;
                    ground.rest(time).await;
                }
                Err(error) => {
                    ground.count_failed(&ration);
                    ground.observer.on(&Event::PageFailed { policy: target.policy(), error: &error, limit });
                    self.fall_back(error, limit, care).await?;
                }
            }
        }
    }

    fn tell(&mut self, target: &mut dyn Target, page: &Page, care: Care, time: Duration) {
        self.page_requests = page.requests;
        self.retried = false;
        let observer = self.ground.observer;
        observer.on(&Event::PageSwept { policy: target.policy(), page: &page.tally, care, time });
        for (what, count) in target.counted() {
            observer.on(&Event::Counted { policy: target.policy(), what, count });
        }
    }

    fn next_page(&self) -> (u64, Care) {
        match self.recovery {
            None => (self.pace.limit(), Care::Swift),
            Some(Recovery { keep_back: true, .. }) => (1, Care::KeepBack),
            Some(Recovery { limit, .. }) => (limit, Care::Careful),
        }
    }

    /// After a good page: back towards the pace it had.
    fn recover(&mut self, limit: u64, care: Care, time: Duration) {
        match &mut self.recovery {
            None => self.pace.learn(limit, time),
            Some(recovery) => {
                // Behind a conflict the next one may stand close by: grow from one.
                recovery.limit = if care == Care::KeepBack { 1 } else { recovery.limit.saturating_mul(2) };
                recovery.keep_back = false;
                if recovery.limit > recovery.goal {
                    self.recovery = None;
                }
            }
        }
    }

    /// Moves the cursor; true at the end. A target that stands still would loop for ever, so that is an error.
    fn advance(&mut self, page: Page) -> Result<bool, TargetError> {
        match page.next {
            None => Ok(true),
            Some(next) if self.cursor.as_ref() == Some(&next) && page.tally.examined == 0 => {
                Err(TargetError::new(ErrorKind::Failed, "the target's cursor does not move; this is a bug in bygone"))
            }
            Some(next) => {
                self.cursor = Some(next);
                Ok(false)
            }
        }
    }

    /// Decides what to try instead of a page that failed; gives the error back when there is nothing.
    async fn fall_back(&mut self, error: TargetError, limit: u64, care: Care) -> Result<(), TargetError> {
        match error.kind() {
            ErrorKind::Transient | ErrorKind::Busy | ErrorKind::Lost if !self.retried => {
                self.retried = true;
                self.ground.clock.sleep(RETRY_PAUSE).await;
                Ok(())
            }
            _ if care == Care::KeepBack => Err(error),
            ErrorKind::Contended if care == Care::Swift => {
                let limit = limit.min(CAREFUL_ITEMS_MAX);
                self.recovery = Some(Recovery { goal: limit, limit, keep_back: false });
                Ok(())
            }
            ErrorKind::Transient | ErrorKind::Contended | ErrorKind::TooSlow | ErrorKind::Item => {
                self.halve(limit, care);
                Ok(())
            }
            _ => Err(error),
        }
    }

    fn halve(&mut self, limit: u64, care: Care) {
        let goal = self.recovery.map_or(limit, |r| r.goal).min(CAREFUL_ITEMS_MAX);
        let smaller = (limit.min(CAREFUL_ITEMS_MAX) / 2).max(1);
        let keep_back = limit == 1 && care == Care::Careful;
        self.recovery = Some(Recovery { goal, limit: smaller, keep_back });
        self.retried = false;
    }
}
