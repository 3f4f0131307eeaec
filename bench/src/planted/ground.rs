//! The ground that bugs are planted in: a copy of the repository, so that nobody's own is ever touched.
//!
//! It stands below `target/`, always in the same place: what is built for it is kept from one run to the next, and cargo
//! tells crates apart by where they stand. The copy itself goes when the run ends, however it ends; one that was left by
//! a run that was killed goes when the next begins.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{FlockOperation, flock};

use super::table::Bug;
use crate::failure::Failure;

/// A copy of what git tracks, as it stands now.
pub(super) struct Ground {
    tree: PathBuf,
    build: PathBuf,
    /// Held as long as the copy is there.
    _alone: File,
}

impl Ground {
    pub(super) fn copy_of(top: &Path) -> Result<Self, Failure> {
        let place = top.join("target/planted");
        fs::create_dir_all(&place)?;
        let place = place.canonicalize()?;
        let alone = File::create(place.join("lock"))?;
        flock(&alone, FlockOperation::NonBlockingLockExclusive).map_err(|_| "another run is under way")?;
        let ground = Self { tree: place.join("tree"), build: place.join("build"), _alone: alone };
        ground.clear()?;
        let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(top).output()?;
        if !listed.status.success() {
            return Err(format!("git ls-files: {}", String::from_utf8_lossy(&listed.stderr).trim()).into());
        }
        for name in String::from_utf8(listed.stdout)?.split_terminator('\0') {
            let (from, to) = (top.join(name), ground.tree.join(name));
            // What was removed and is not committed yet is tracked, and not there.
            if from.is_file() {
                fs::create_dir_all(to.parent().unwrap_or(&ground.tree))?;
                fs::copy(from, to)?;
            }
        }
        Ok(ground)
    }

    pub(super) fn tree(&self) -> &Path {
        &self.tree
    }

    /// Where it is built.
    pub(super) fn build(&self) -> &Path {
        &self.build
    }

    /// Puts a bug in. It has to be pulled out before the next one.
    pub(super) fn plant(&self, bug: &Bug) -> Result<Planted, Failure> {
        let file = self.tree.join(&bug.file);
        let text = fs::read_to_string(&file).map_err(|error| format!("{}: {}: {error}", bug.name, bug.file))?;
        let planted = bug.planted(&text)?;
        fs::write(&file, planted)?;
        Ok(Planted { file, text })
    }

    fn clear(&self) -> Result<(), Failure> {
        match fs::remove_dir_all(&self.tree) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // What stays is removed by the next run.
        let _ = self.clear();
    }
}

/// A bug in the ground.
pub(super) struct Planted {
    file: PathBuf,
    text: String,
}

impl Planted {
    /// Takes it out again.
    pub(super) fn pull(self) -> Result<(), Failure> {
        Ok(fs::write(self.file, self.text)?)
    }
}
