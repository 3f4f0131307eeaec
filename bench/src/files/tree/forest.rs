//! The files of the tree: made quickly, counted by other means than those that sweep them.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use bygone_core::{Clock, SystemClock};

use crate::failure::Failure;
use crate::files::ground::Ground;
use crate::noise::noise;

/// The largest file.
const BYTES_MAX: u64 = 1_024;
/// How long ago an old file was changed, at least; up to a day more.
const OLD: Duration = Duration::from_secs(24 * 60 * 60);

/// What is in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) directories: u64,
    pub(super) files: u64,
    /// Those of the files that are past their time.
    pub(super) old: u64,
    /// The sum of the numbers in the names of all files, so that one cannot stand for another.
    pub(super) sum: u64,
}

/// The tree.
pub(super) struct Forest<'a> {
    ground: &'a Ground,
    root: PathBuf,
    directories: u64,
    files_each: u64,
}

impl<'a> Forest<'a> {
    pub(super) fn new(ground: &'a Ground, number: u64, directories: u64, files_each: u64) -> Self {
        Self { ground, root: ground.path(&format!("tree-{number}")), directories, files_each }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Makes it.
    pub(super) fn plant(&self) -> Result<(), Failure> {
        let now = SystemTime::from(SystemClock::new().now());
        fs::create_dir(&self.root)?;
        self.ground.for_each(self.directories, |directory| {
            let path = self.directory(directory);
            fs::create_dir(&path)?;
            (0..self.files_each).try_for_each(|at| plant_file(&path, directory * self.files_each + at, now))
        })
    }

    /// Looks at every file, and so brings it to memory.
    pub(super) fn count(&self) -> Result<Count, Failure> {
        let young = SystemTime::from(SystemClock::new().now()) - OLD / 2;
        let [files, old, sum] = [const { AtomicU64::new(0) }; 3];
        self.ground.for_each(self.directories, |directory| {
            for entry in fs::read_dir(self.directory(directory))? {
                let entry = entry?;
                let is_old = entry.metadata()?.modified()? < young;
                let number = entry.file_name().to_str().and_then(|name| name.strip_suffix(".part")?.parse().ok());
                let number: u64 = number.ok_or("a file of another name")?;
                files.fetch_add(1, Ordering::Relaxed);
                old.fetch_add(u64::from(is_old), Ordering::Relaxed);
                sum.fetch_add(number, Ordering::Relaxed);
            }
            Ok(())
        })?;
        let directories = fs::read_dir(&self.root)?.count() as u64;
        Ok(Count { directories, files: files.into_inner(), old: old.into_inner(), sum: sum.into_inner() })
    }

    /// What there is when it was made.
    pub(super) fn planted(&self) -> Count {
        let files = self.directories * self.files_each;
        Count { directories: self.directories, files, old: files / 2, sum: (0..files).sum() }
    }

    /// What must be there when everything past its time is gone.
    pub(super) fn survivors(&self) -> Count {
        let files = self.directories * self.files_each;
        let sum = (0..files).filter(|number| !is_old(*number)).sum();
        Count { directories: self.directories, files: files / 2, old: 0, sum }
    }

    /// Removes all of it.
    pub(super) fn clear(&self) -> Result<(), Failure> {
        self.ground.for_each(self.directories, |directory| Ok(fs::remove_dir_all(self.directory(directory))?))?;
        Ok(fs::remove_dir(&self.root)?)
    }

    fn directory(&self, number: u64) -> PathBuf {
        self.root.join(format!("{number:05}"))
    }
}

/// Old and young lie side by side in every directory, by name as by inode.
fn is_old(number: u64) -> bool {
    number % 2 == 1
}

fn plant_file(directory: &Path, number: u64, now: SystemTime) -> Result<(), Failure> {
    let mut file = File::create_new(directory.join(format!("{number:08}.part")))?;
    let [chance, ..] = noise(number).to_le_bytes();
    // Half of the files are empty: locks, marks, aborted uploads.
    if chance % 2 == 0 {
        let bytes = 1 + u64::from(chance) * BYTES_MAX / 256;
        file.write_all(&vec![chance; usize::try_from(bytes)?])?;
    }
    if is_old(number) {
        file.set_modified(now - OLD - Duration::from_secs(u64::from(chance) * 300))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_tree_is_counted_as_it_was_made() {
        let ground = Ground::new((1, 1), Arc::default()).unwrap();
        let forest = Forest::new(&ground, 0, 3, 10);
        forest.plant().unwrap();
        assert_eq!(forest.count().unwrap(), forest.planted());
        assert_eq!(forest.planted(), Count { directories: 3, files: 30, old: 15, sum: 435 });
        for entry in fs::read_dir(forest.directory(0)).unwrap() {
            let path = entry.unwrap().path();
            let number: u64 = path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
            assert!(fs::metadata(&path).unwrap().len() <= BYTES_MAX);
            if is_old(number) {
                fs::remove_file(&path).unwrap();
            }
        }
        assert_ne!(forest.count().unwrap(), forest.survivors());
        for directory in [1, 2] {
            for at in 0..10 {
                let number = directory * 10 + at;
                if is_old(number) {
                    fs::remove_file(forest.directory(directory).join(format!("{number:08}.part"))).unwrap();
                }
            }
        }
        assert_eq!(forest.count().unwrap(), forest.survivors());
        forest.clear().unwrap();
        assert!(!forest.root().exists());
    }
}
