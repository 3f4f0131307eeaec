//! Looking at an area without leaving a trace: for plans and checks.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::area::{MANIFEST, OWN, open_root};
use super::attachment::Metrics;
use super::error::StageError;
use super::manifest;
use super::stage::{Stage, metrics};

/// How often a look is repeated when somebody opens the area meanwhile.
const TRIES: usize = 5;

/// An area that is only looked at. Nothing in the directory is made, changed or touched, and nobody is kept waiting.
#[derive(Clone, Debug)]
pub struct Inspection {
    manifest: PathBuf,
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
