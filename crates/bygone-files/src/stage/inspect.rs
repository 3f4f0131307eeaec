//! Looking at an area without leaving a trace: for plans and checks.

use std::path::{Path, PathBuf};

use bygone_core::Clock;
use jiff::Timestamp;
use rusqlite::Connection;

use super::area::{MANIFEST, OWN, open_root};
use super::attachment::Metrics;
use super::error::StageError;
use super::id::AttachmentId;
use super::manifest::{self, Due};
use super::moment::Moment;
use super::name::Name;
use super::stage::{Stage, metrics};

/// How often a look is repeated when somebody opens the area meanwhile.
const TRIES: usize = 5;

/// An area that is only looked at. Nothing in the directory is made, changed or touched, and nobody is kept waiting.
#[derive(Clone, Debug)]
pub struct Inspection {
    manifest: PathBuf,
}

/// An attachment that ends some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upcoming {
    /// The SHA-256 of its content.
    pub id: AttachmentId,
    /// Its name.
    pub name: Name,
    /// How long it is, in bytes.
    pub size: u64,
    /// When it ends, or ended where no sweep came by since.
    pub deadline: Timestamp,
    /// Whether somebody holds it, so that no sweep takes it.
    pub held: bool,
}

impl Stage {
    /// Looks at an area without opening it: writes nothing at all, takes no part in it, and reconciles nothing.
    pub fn inspect(dir: impl AsRef<Path>) -> Result<Inspection, StageError> {
        let (_, path) = open_root(dir.as_ref())?;
        let manifest = path.join(OWN).join(MANIFEST);
        if !manifest.is_file() {
            return Err(StageError::NoArea(path));
        }
        let inspection = Inspection { manifest };
        // Whose manifest it is, and of which version, is told now and not at the first question.
        inspection.metrics()?;
        Ok(inspection)
    }
}

impl Inspection {
    /// How much is staged.
    pub fn metrics(&self) -> Result<Metrics, StageError> {
        self.look(manifest::totals).map(|totals| metrics(&totals))
    }

    /// At most `limit` attachments that end, the soonest first, and whether there are more. They come straight from the
    /// order of deadlines, whatever else is staged.
    pub fn next_to_end(&self, limit: u64, clock: &dyn Clock) -> Result<(Vec<Upcoming>, bool), StageError> {
        let held_at = Moment::of(clock).cutoff();
        let due = self.look(|conn| manifest::due(conn, i64::MAX, held_at, None, limit.saturating_add(1)))?;
        let more = due.len() as u64 > limit;
        let upcoming = |Due { entry, held }: Due| {
            let deadline = entry.deadline_instant()?;
            Some(Upcoming { id: entry.id, name: entry.name, size: entry.size, deadline, held })
        };
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok((due.into_iter().take(most).filter_map(upcoming).collect(), more))
    }

    /// Asks the manifest as it is now. Each look opens it anew: what was a file at rest before may be in use by now.
    pub(crate) fn look<T>(&self, work: impl Fn(&Connection) -> Result<T, StageError>) -> Result<T, StageError> {
        let mut tries = 0;
        loop {
            let was_at_rest = !manifest::has_log(&self.manifest);
            let answer = manifest::look_at(&self.manifest, was_at_rest).and_then(|conn| work(&conn));
            // Somebody opened or closed the area meanwhile: an answer may be a mixture, and an error may be none.
            let is_at_rest = !manifest::has_log(&self.manifest);
            if tries == TRIES || was_at_rest == is_at_rest {
                return answer;
            }
            tries += 1;
        }
    }
}
