//! The program, on a free port and a database of a test's own.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// How long it may take to end. Far more than it needs.
const END_LIMIT: Duration = Duration::from_secs(60);

/// Its database.
pub(crate) const DATABASE: &str = "auth.db";
/// Where it logs to.
pub(crate) const LOG: &str = "log.txt";

/// A running server. It is killed when the test is done with it.
pub(crate) struct Server {
    pub(crate) issuer: String,
    child: Option<Child>,
    directory: Option<TempDir>,
}

/// What is left of a server that has ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) log: String,
    pub(crate) directory: TempDir,
}

impl Server {
    /// A server with a new database.
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// The same with more arguments.
    pub(crate) fn with(arguments: &[&str]) -> Self {
        Self::over(tempfile::tempdir().unwrap(), arguments)
    }

    /// A server over the database in a directory, which another may have left there.
    pub(crate) fn over(directory: TempDir, arguments: &[&str]) -> Self {
        let database = directory.path().join(DATABASE);
        Self::within(directory, &[&["--database", database.to_str().unwrap()], arguments].concat())
    }

    /// A server whose temporary files are in a directory, and that is there when it says so.
    pub(crate) fn within(directory: TempDir, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_auth-server"))
            .args(["--listen", "127.0.0.1:0"])
            .args(arguments)
            .env("TMPDIR", directory.path())
            .env("RUST_LOG", "debug")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(log_file(directory.path())).unwrap())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Some(issuer) = line.trim_end().strip_prefix("listening on ") else {
            let log = std::fs::read_to_string(log_file(directory.path())).unwrap();
            panic!("it said {line:?} and\n{log}");
        };
        Self { issuer: issuer.to_owned(), child: Some(child), directory: Some(directory) }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.issuer)
    }

    /// Asks it to end, and waits until it has.
    pub(crate) async fn end(mut self, signal: Signal) -> Ended {
        let mut child = self.child.take().unwrap();
        // It has not been waited for, so the id is still its own.
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).unwrap();
        kill_process(pid, signal).unwrap();
        let ended = tokio::task::spawn_blocking(move || child.wait().unwrap());
        let status = tokio::time::timeout(END_LIMIT, ended).await.expect("it does not end").unwrap();
        let directory = self.directory.take().unwrap();
        let log = std::fs::read_to_string(log_file(directory.path())).unwrap();
        Ended { code: status.code(), log, directory }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn log_file(directory: &Path) -> PathBuf {
    directory.join(LOG)
}
