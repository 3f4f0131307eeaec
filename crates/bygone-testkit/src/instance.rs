//! One server on this machine: its directory, its process and its guardian.
//!
//! This is the part that is the same for every kind of server: make a place for it, run its
//! programs there under the right account, notice when it ends, and stop it by its process id.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::Duration;

use rustix::process::Signal;

use crate::account::Account;
use crate::error::KitError;
use crate::guardian;
use crate::process::Process;
use crate::wait::Wait;

/// How long a server may take to stop before it is killed.
const STOP_LIMIT: Duration = Duration::from_secs(10);
/// How much of the end of a log goes into an error.
const LOG_TAIL_BYTES: u64 = 4_000;

/// A program and its arguments.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// The program's path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables that it finds besides those of the tests.
    pub environment: Vec<(&'static str, OsString)>,
}

/// Who answers for an instance, and where it lies.
pub(crate) struct Tenancy<'a> {
    /// When this process is gone, the guardian stops the server.
    pub(crate) owner: Process,
    /// Where to make the instance's directory.
    pub(crate) root: &'a Path,
    /// Whether the root is the owner's too, and goes with it.
    pub(crate) whole_root: bool,
}

/// A server's directory with the process that runs in it, both gone after `Drop`.
#[derive(Debug)]
pub struct Instance {
    directory: PathBuf,
    account: Account,
    stop: Signal,
    guardian: Child,
    guards_root: bool,
    running: Option<Running>,
    kept: bool,
}

#[derive(Debug)]
struct Running {
    program: PathBuf,
    child: Child,
    process: Process,
}

impl Instance {
    /// Makes the directory and sets the guardian beside it; nothing runs yet.
    pub(crate) fn create(
        name: &str,
        accounts: &[&'static str],
        stop: Signal,
        tenancy: &Tenancy<'_>,
    ) -> Result<Self, KitError> {
        let account = Account::for_server(accounts)?;
        let directory = tempfile::Builder::new()
            .prefix(&format!("bygone-{name}-"))
            .tempdir_in(tenancy.root)
            .map_err(KitError::file("make a directory in", tenancy.root))?;
        account.own(directory.path())?;
        let around = tenancy.whole_root.then_some(tenancy.root);
        let guardian = guardian::watch(tenancy.owner, stop, directory.path(), around)?;
        Ok(Self {
            directory: directory.keep(),
            account,
            stop,
            guardian,
            guards_root: tenancy.whole_root,
            running: None,
            kept: false,
        })
    }

    /// The directory that holds everything of this server.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The directory of the server's data, which its own program makes.
    pub(crate) fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// Writes a file that only the server's account can read.
    pub(crate) fn write_private(&self, name: &str, contents: &str) -> Result<PathBuf, KitError> {
        let path = self.directory.join(name);
        write_private(&path, contents)?;
        self.account.own(&path)?;
        Ok(path)
    }

    /// Runs a program to its end; a failure is an error.
    pub(crate) async fn run(&mut self, invocation: &Invocation, limit: Duration) -> Result<(), KitError> {
        self.launch(invocation)?;
        let mut wait = Wait::up_to(limit);
        loop {
            match self.ended()? {
                Some(status) if status.success() => {
                    self.running = None;
                    return Ok(());
                }
                Some(status) => return Err(self.ended_error(status)),
                None => {}
            }
            if !wait.again().await {
                let what = invocation.program.display();
                return Err(self.slow(what.to_string(), limit));
            }
        }
    }

    /// Starts a program that goes on running.
    pub(crate) fn launch(&mut self, invocation: &Invocation) -> Result<(), KitError> {
        let log = self.log();
        let open = OpenOptions::new().create(true).append(true).open(&log);
        let output = open.map_err(KitError::file("write", &log))?;
        let errors = output.try_clone();
        let errors = errors.map_err(KitError::file("write", &log))?;
        let spawned = guardian::watched(&self.directory, self.account, &invocation.program)
            .args(&invocation.arguments)
            .envs(invocation.environment.iter().map(|(name, value)| (name, value)))
            .stdout(output)
            .stderr(errors)
            .spawn();
        let child = spawned.map_err(|source| KitError::Spawn { program: invocation.program.clone(), source })?;
        let pid = child.id();
        self.running = Some(Running {
            program: invocation.program.clone(),
            child,
            // One that has ended already keeps its id until it is waited for, and is not alive.
            process: Process::of(pid).unwrap_or(Process { pid, started: 0 }),
        });
        Ok(())
    }

    /// The process launched last, while it has not been stopped.
    pub(crate) fn process(&self) -> Option<Process> {
        self.running.as_ref().map(|running| running.process)
    }

    /// An error with its log if the program that should run has ended.
    pub(crate) fn check(&mut self) -> Result<(), KitError> {
        match self.ended()? {
            Some(status) => Err(self.ended_error(status)),
            None => Ok(()),
        }
    }

    fn ended(&mut self) -> Result<Option<ExitStatus>, KitError> {
        let Some(running) = &mut self.running else {
            return Ok(None);
        };
        running.child.try_wait().map_err(|source| KitError::Spawn { program: running.program.clone(), source })
    }

    fn ended_error(&mut self, status: ExitStatus) -> KitError {
        let running = self.running.take();
        KitError::Ended { program: running.map(|r| r.program).unwrap_or_default(), status, log: self.log_tail() }
    }

    /// The error for what did not happen in time.
    pub(crate) fn slow(&self, what: String, limit: Duration) -> KitError {
        KitError::Slow { what, limit, log: self.log_tail() }
    }

    /// Stops the server in its own way; if it does not heed that in time, kills it.
    pub(crate) fn stop(&mut self) {
        let Some(mut running) = self.running.take() else {
            return;
        };
        running.process.signal(self.stop);
        let mut wait = Wait::up_to(STOP_LIMIT);
        while matches!(running.child.try_wait(), Ok(None)) {
            if !wait.again_blocking() {
                kill_whole(&mut running);
            }
        }
    }

    /// Kills the server with all its processes at once, as a crash does.
    pub(crate) fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            kill_whole(&mut running);
        }
    }

    /// Leaves the running server to its guardian: it outlives this value and this process.
    pub(crate) fn keep(mut self) {
        self.kept = true;
    }

    fn log(&self) -> PathBuf {
        self.directory.join("log")
    }

    fn log_tail(&self) -> String {
        let read = || {
            let mut file = File::open(self.log())?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(LOG_TAIL_BYTES)))?;
            let mut tail = Vec::new();
            file.read_to_end(&mut tail)?;
            Ok::<_, std::io::Error>(String::from_utf8_lossy(&tail).into_owned())
        };
        read().unwrap_or_else(|error| format!("(no log: {error})"))
    }
}

/// Kills a server and the processes it started. A backend that outlived its parent could finish a
/// transaction after the "crash", and would keep the server from starting anew. The parent is
/// halted first, so that it starts no further one while they are counted.
fn kill_whole(running: &mut Running) {
    running.process.signal(Signal::STOP);
    let children = running.process.children();
    // Their death is what is waited for; an error means that it has come already.
    let _ = running.child.kill();
    let _ = running.child.wait();
    for child in &children {
        child.signal(Signal::KILL);
    }
    let mut wait = Wait::up_to(STOP_LIMIT);
    while children.iter().any(Process::is_alive) && wait.again_blocking() {}
}

/// The temporary directory by its full name: the kit's programs have working directories of their
/// own, and servers are told apart by the paths they report.
pub(crate) fn temp_root() -> Result<PathBuf, KitError> {
    let root = std::env::temp_dir();
    root.canonicalize().map_err(KitError::file("find", &root))
}

/// Writes a file that its owner alone can read.
pub(crate) fn write_private(path: &Path, contents: &str) -> Result<(), KitError> {
    OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(contents.as_bytes()))
        .map_err(KitError::file("write", path))
}

impl Drop for Instance {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        self.stop();
        // What fails here is left to the guardian, which tries longer; and so is the root.
        if fs::remove_dir_all(&self.directory).is_ok() && !self.guards_root {
            let _ = self.guardian.kill();
            let _ = self.guardian.wait();
        }
    }
}
