//! A directory with a lease store in it, which the first command makes, and the program over it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use bygone_testkit::wait::Wait;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Run, bygone};

/// How long something may take that is expected to happen.
const LIMIT: Duration = Duration::from_mins(1);

/// A test's own directory.
pub(super) struct Shop {
    directory: TempDir,
}

impl Shop {
    pub(super) fn new() -> Self {
        Self { directory: tempfile::Builder::new().prefix("bygone-shop-").tempdir().unwrap() }
    }

    /// The store's URL.
    pub(super) fn url(&self) -> String {
        format!("file:{}", self.store().display())
    }

    /// The store's directory.
    pub(super) fn store(&self) -> PathBuf {
        self.path("store")
    }

    /// A place beside the store.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A call of the program that finds the store by itself.
    pub(super) fn bygone(&self, arguments: &[&str]) -> Command {
        let mut command = bygone(arguments);
        command.current_dir(self.directory.path()).env("BYGONE_STORE", self.url());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
    }

    /// Runs the program to its end.
    pub(super) fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&mut self.bygone(arguments))
    }

    /// Runs it with something on its standard input.
    pub(super) fn pipe(&self, arguments: &[&str], input: &str) -> Run {
        let mut command = self.bygone(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap().into()
    }

    /// Takes the lease of a key, and gives it as it was printed.
    pub(super) fn acquire(&self, key: &str, flags: &[&str]) -> String {
        let run = self.run(&[&["lease", "acquire", "--key", key], flags].concat()).ends(0);
        assert_eq!(run.stdout.lines().count(), 1, "a lease is one line: {run:?}");
        run.stdout
    }

    /// What is known of a key.
    pub(super) fn describe(&self, key: &str) -> Value {
        self.run(&["lease", "describe", "--key", key, "--json"]).ends(0).json()
    }

    /// The state of a key that everybody sees; `None` where there is none.
    pub(super) fn state(&self, key: &str) -> Option<String> {
        let run = self.run(&["lease", "get", "--key", key]);
        if run.code == Some(0) {
            return Some(run.stdout);
        }
        run.ends(1).says(&["has no state"]);
        None
    }

    /// The names of all items below a prefix.
    pub(super) fn keys(&self, prefix: &str) -> Vec<String> {
        let connection = rusqlite::Connection::open(self.store().join("leases.db")).unwrap();
        let mut statement = connection.prepare("SELECT key FROM item WHERE key GLOB ?1 || '*' ORDER BY key").unwrap();
        let keys = statement.query_map([prefix], |row| row.get(0)).unwrap();
        keys.map(Result::unwrap).collect()
    }

    /// Every item of the store, by a query that shares no code with the program.
    pub(super) fn items(&self) -> Vec<(String, Value)> {
        let file = self.store().join("leases.db");
        let connection = rusqlite::Connection::open(file).unwrap();
        let mut statement = connection.prepare("SELECT key, body FROM item ORDER BY key").unwrap();
        let item = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?));
        let items = statement.query_map([], item).unwrap().map(Result::unwrap);
        items.map(|(key, body)| (key, serde_json::from_slice(&body).unwrap())).collect()
    }
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let mut wait = Wait::up_to(LIMIT);
    while !is_so() {
        assert!(wait.again_blocking(), "{what}: not within {LIMIT:?}");
    }
}

/// Waits until a file is there with something in it, and gives that.
pub(crate) fn until_written(path: &Path) -> String {
    let mut text = String::new();
    until(&format!("{} is written", path.display()), || {
        text = std::fs::read_to_string(path).unwrap_or_default();
        text.ends_with('\n')
    });
    text.trim().to_owned()
}

/// A lease or a delivery as it was printed.
pub(super) fn parsed(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}
