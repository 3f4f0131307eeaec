//! A daemon over a staging area and a lease store, and somebody who asks it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Run, Running, bygone};

/// What is served, besides what a test adds.
const SERVED: &str = "
[[policy]]
name = \"staged\"
source = \"up\"
kind = \"stage\"

[[policy]]
name = \"ended\"
source = \"jobs\"
kind = \"leases\"
";

/// A daemon that runs, in a directory of its own.
pub(super) struct Host {
    directory: TempDir,
    running: Running,
    port: u16,
}

impl Host {
    pub(super) fn new() -> Self {
        Self::with("")
    }

    /// With further lines of its configuration.
    pub(super) fn with(lines: &str) -> Self {
        Self::prepared(|_| lines.to_owned())
    }

    /// With lines that are known once its directory is there.
    pub(super) fn prepared(lines: impl FnOnce(&Path) -> String) -> Self {
        let directory = tempfile::Builder::new().prefix("bygone-host-").tempdir().unwrap();
        let url = |name: &str| format!("file:{}", directory.path().join(name).display());
        let sources = format!("[source.up]\nurl = \"{}\"\n[source.jobs]\nurl = \"{}\"\n", url("area"), url("store"));
        let lines = lines(directory.path());
        std::fs::write(directory.path().join("bygone.toml"), format!("{sources}{SERVED}{lines}\n")).unwrap();
        let socket = format!("unix:{}", directory.path().join("api.sock").display());
        let arguments = ["serve", "--state", "state", "--listen", "127.0.0.1:0", "--listen", &socket];
        let mut running = Running::start(bygone(&arguments).current_dir(directory.path()));
        let said = running.until_it_says("api.sock\n");
        let port = said.rsplit("//127.0.0.1:").next().unwrap().split(',').next().unwrap();
        let port = port.parse().unwrap();
        Self { directory, running, port }
    }

    /// Both addresses of something.
    pub(super) fn addresses(&self, path: &str) -> [String; 2] {
        let socket = self.path("api.sock").display().to_string();
        let behind = if path.is_empty() { String::new() } else { format!(":{path}") };
        [format!("http://127.0.0.1:{}{path}", self.port), format!("unix:{socket}{behind}")]
    }

    pub(super) fn area(&self) -> [String; 2] {
        self.addresses("/stage/v1/up")
    }

    pub(super) fn store(&self) -> [String; 2] {
        self.addresses("/lease/v1/jobs")
    }

    /// The same by itself, without the daemon.
    pub(super) fn direct(&self, name: &str) -> String {
        format!("file:{}", self.path(name).display())
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// A call of the program that finds a store by itself.
    pub(super) fn bygone(&self, store: &str, arguments: &[&str]) -> Command {
        let mut command = bygone(arguments);
        command.current_dir(self.directory.path()).env("BYGONE_STORE", store);
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
    }

    pub(super) fn run(&self, store: &str, arguments: &[&str]) -> Run {
        Run::of(&mut self.bygone(store, arguments))
    }

    /// With something on its standard input.
    pub(super) fn pipe(&self, store: &str, arguments: &[&str], input: &[u8]) -> Run {
        let mut command = self.bygone(store, arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It may not want all of it.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap().into()
    }

    pub(super) fn json(&self, store: &str, arguments: &[&str]) -> Value {
        self.run(store, &[arguments, &["--format", "json"]].concat()).ends(0).json()
    }

    /// Ends the daemon, which must have nothing to complain of.
    pub(super) fn end(self) -> (TempDir, Run) {
        self.running.signal(Signal::TERM);
        (self.directory, self.running.end().ends(0))
    }
}
