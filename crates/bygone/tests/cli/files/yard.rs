//! A directory with files of many ages, and the `bygone.toml` over it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use crate::support::{Run, bygone};

/// A day.
pub(super) const DAY: u64 = 86_400;

/// A test's own directory: `yard` is swept, everything else is not.
pub(super) struct Yard {
    directory: TempDir,
}

impl Yard {
    /// An empty yard with one policy over it, of which these are the lines.
    pub(super) fn with_policy(lines: &str) -> Self {
        let yard = Self { directory: tempfile::Builder::new().prefix("bygone-yard-").tempdir().unwrap() };
        fs::create_dir(yard.root()).unwrap();
        yard.configure(&policy("old", lines));
        yard
    }

    /// Writes the configuration: the yard as a source, and what is said of it.
    pub(super) fn configure(&self, policies: &str) {
        let text = format!("[source.yard]\nurl = \"file:{}\"\n\n{policies}", self.root().display());
        fs::write(self.path("bygone.toml"), text).unwrap();
    }

    /// What is swept.
    pub(super) fn root(&self) -> PathBuf {
        self.path("yard")
    }

    /// A place beside the configuration.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Makes a file of so many bytes that was written so many seconds ago.
    pub(super) fn file(&self, name: &str, bytes: usize, age: u64) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, vec![b'x'; bytes]).unwrap();
        set_age(&path, age);
    }

    /// Every file and directory of the yard, with its size.
    pub(super) fn listing(&self) -> BTreeMap<String, u64> {
        let mut found = BTreeMap::new();
        list(&self.root(), &self.root(), &mut found);
        found
    }

    /// The names of every file and directory of the yard.
    pub(super) fn names(&self) -> Vec<String> {
        self.listing().into_keys().collect()
    }

    /// A call of the program beside the configuration.
    pub(super) fn bygone(&self, arguments: &[&str]) -> Command {
        let mut command = bygone(arguments);
        command.current_dir(self.directory.path());
        command
    }

    /// Runs the program to its end.
    pub(super) fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&mut self.bygone(arguments))
    }
}

/// A policy over a yard.
pub(super) fn policy(name: &str, lines: &str) -> String {
    format!("[[policy]]\nname = \"{name}\"\nsource = \"yard\"\n{lines}\n")
}

/// Makes a file look as if it had been written so many seconds ago.
#[expect(clippy::disallowed_methods, reason = "files are dated against the clock that the program reads")]
pub(super) fn set_age(path: &Path, age: u64) {
    let written = SystemTime::now() - Duration::from_secs(age);
    File::open(path).unwrap().set_modified(written).unwrap();
}

fn list(root: &Path, directory: &Path, found: &mut BTreeMap<String, u64>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        found.insert(name, if meta.is_dir() { 0 } else { meta.len() });
        if meta.is_dir() {
            list(root, &path, found);
        }
    }
}
