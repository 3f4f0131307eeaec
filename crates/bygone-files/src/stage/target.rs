//! A staging area as the engine sweeps it.

use std::sync::Arc;

use async_trait::async_trait;
use bygone_core::{Boundary, Care, Cursor, ErrorKind, Page, PageRequest, Survey, Tally, Target, TargetError};
use jiff::{SignedDuration, Timestamp};
use rusqlite::Connection;

use super::error::StageError;
use super::inspect::Inspection;
use super::manifest::{self, Place};
use super::stage::{Shared, Stage};

/// Sweeps what is past its time out of an area: in the order of deadlines, straight from the index.
///
/// A page is one immediate transaction: the files are deleted inside it, before it is committed, so that nobody can
/// restage one of them meanwhile. What cannot be deleted keeps its entry and is a conflict; what is held is locked.
pub struct StageTarget {
    policy: String,
    source: String,
    keep: SignedDuration,
    over: Over,
}

/// What there is to ask: an open area, or one that is only looked at.
#[derive(Clone)]
enum Over {
    Open(Arc<Shared>),
    Inspected(Inspection),
}

impl Stage {
    /// The area as a target of this policy and source.
    pub fn target(&self, policy: impl Into<String>, source: impl Into<String>) -> StageTarget {
        let over = Over::Open(Arc::clone(&self.shared));
        StageTarget { policy: policy.into(), source: source.into(), keep: SignedDuration::ZERO, over }
    }
}

impl Inspection {
    /// The area as a target that can be surveyed, and not swept.
    pub fn target(&self, policy: impl Into<String>, source: impl Into<String>) -> StageTarget {
        let over = Over::Inspected(self.clone());
        StageTarget { policy: policy.into(), source: source.into(), keep: SignedDuration::ZERO, over }
    }
}

impl StageTarget {
    /// The same, leaving attachments where they are for so long after their deadline, absent as they are. A negative time
    /// is none: nothing goes before its deadline.
    #[must_use]
    pub fn keeping(mut self, keep: SignedDuration) -> Self {
        self.keep = keep.max(SignedDuration::ZERO);
        self
    }

    /// Deadlines strictly before this microsecond are bygone.
    fn cutoff(&self, boundary: Boundary) -> i64 {
        let cutoff = boundary.cutoff(self.keep);
        cutoff.map_or(i64::MIN, |at| Boundary::at(at).instant().as_microsecond())
    }

    async fn ask<T: Send + 'static>(
        &self,
        work: impl Fn(&Connection) -> Result<T, StageError> + Send + 'static,
    ) -> Result<T, TargetError> {
        let over = self.over.clone();
        let blocking = move || match over {
            Over::Open(shared) => shared.manifest.read(work),
            Over::Inspected(inspection) => inspection.look(work),
        };
        joined(tokio::task::spawn_blocking(blocking).await)
    }
}

/// The answer of a blocking task.
fn joined<T>(task: Result<Result<T, StageError>, tokio::task::JoinError>) -> Result<T, TargetError> {
    match task {
        Ok(done) => done.map_err(failed),
        Err(error) => Err(TargetError::new(ErrorKind::Failed, "the page did not end").with_source(error)),
    }
}

fn failed(error: StageError) -> TargetError {
    TargetError::new(error.kind(), "the staging area cannot be swept").with_source(error)
}

#[async_trait]
impl Target for StageTarget {
    fn policy(&self) -> &str {
        &self.policy
    }

    fn source(&self) -> &str {
        &self.source
    }

    async fn survey(&mut self, boundary: Boundary) -> Result<Survey, TargetError> {
        let cutoff = self.cutoff(boundary);
        let (bygone, oldest) = self.ask(move |conn| manifest::survey(conn, cutoff)).await?;
        Ok(Survey {
            bygone: Some(bygone.count),
            unreadable: 0,
            oldest: oldest.and_then(|micros| Timestamp::from_microsecond(micros).ok()),
            bytes: Some(bygone.bytes),
            warnings: Vec::new(),
            requests: 1,
        })
    }

    async fn holds_at_least(&mut self, items: u64) -> Result<bool, TargetError> {
        let totals = self.ask(manifest::totals).await?;
        Ok(totals.persistent.count + totals.expirable.count >= items)
    }

    async fn page(&mut self, request: PageRequest<'_>) -> Result<Page, TargetError> {
        let Over::Open(shared) = &self.over else {
            let error = TargetError::new(ErrorKind::Unfit, "the staging area is open for looking only");
            return Err(error.with_help("open it by `Stage::open` to sweep it"));
        };
        let shared = Arc::clone(shared);
        let after = request.cursor.map(place).transpose()?;
        let (cutoff, boundary) = (self.cutoff(request.boundary), request.boundary);
        let (limit, care) = (request.limit, request.care);
        let sweep = move || shared.sweep_page(cutoff, boundary, after, limit, care);
        joined(tokio::task::spawn_blocking(sweep).await)
    }

    async fn settle(&mut self) -> Result<(), TargetError> {
        let Over::Open(shared) = &self.over else { return Ok(()) };
        let shared = Arc::clone(shared);
        joined(tokio::task::spawn_blocking(move || shared.area.sync_manifest()).await)
    }

    async fn lag(&mut self, boundary: Boundary) -> Result<Option<SignedDuration>, TargetError> {
        let cutoff = self.cutoff(boundary);
        let oldest = self.ask(move |conn| manifest::oldest(conn, cutoff)).await?;
        Ok(oldest.map(|oldest| SignedDuration::from_micros(cutoff.saturating_sub(oldest))))
    }
}

impl Shared {
    fn sweep_page(
        &self,
        cutoff: i64,
        boundary: Boundary,
        after: Option<Place>,
        limit: u64,
        care: Care,
    ) -> Result<Page, StageError> {
        let mut tally = Tally { bytes: Some(0), ..Tally::default() };
        let mut cleaned = Vec::new();
        // A crash of the machine may bring an entry back whose file is gone: it is past its time, and so absent.
        let next = self.manifest.write_unsynced(|conn| {
            // A hold counts while either clock has it so.
            let held_at = self.now().cutoff().min(boundary.instant().as_microsecond());
            let due = manifest::due(conn, cutoff, held_at, after, limit)?;
            let last = due.last().and_then(|due| Some((due.entry.deadline?, due.entry.seq)));
            tally.examined = due.len() as u64;
            for due in due {
                if due.held {
                    tally.kept_back.locked += 1;
                } else if care == Care::KeepBack || !self.discard(conn, &due.entry)? {
                    tally.kept_back.conflict += 1;
                } else {
                    tally.removed += 1;
                    cleaned.push(due.entry);
                }
            }
            manifest::forget_holds(conn, held_at)?;
            Ok(last.filter(|_| tally.examined == limit))
        })?;
        tally.bytes = Some(cleaned.iter().map(|entry| entry.size).sum());
        self.announce_cleaned(&cleaned);
        let next = next.map(|(deadline, seq)| Cursor::new(format!("{deadline} {seq}")));
        Ok(Page { tally, requests: 1, next })
    }
}

fn place(cursor: &Cursor) -> Result<Place, TargetError> {
    let numbers = cursor.as_str().split_once(' ');
    let place = numbers.and_then(|(deadline, seq)| Some((deadline.parse().ok()?, seq.parse().ok()?)));
    place.ok_or_else(|| TargetError::new(ErrorKind::Failed, "the cursor is of another target"))
}
