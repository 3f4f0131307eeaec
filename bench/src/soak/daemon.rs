//! The real daemon, one life after another.

use std::fs::OpenOptions;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bygone_testkit::wait::Wait;
use rustix::process::{Pid, Signal, kill_process};

use super::api;
use super::record::Record;
use super::site::Site;
use crate::failure::Failure;

/// How long it may take until it answers.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long it may take to end: longer than it gives itself.
const END_LIMIT: Duration = Duration::from_secs(90);

/// The daemon of a site. It is killed with its value.
pub(super) struct Daemon {
    program: PathBuf,
    site: Arc<Site>,
    record: Arc<Record>,
    child: Option<Child>,
}

impl Daemon {
    pub(super) async fn start(program: &Path, site: &Arc<Site>, record: &Arc<Record>) -> Result<Self, Failure> {
        let (site, record) = (Arc::clone(site), Arc::clone(record));
        let mut daemon = Self { program: program.to_owned(), site, record, child: None };
        daemon.begin().await?;
        Ok(daemon)
    }

    /// Starts it, and waits until it answers.
    pub(super) async fn begin(&mut self) -> Result<(), Failure> {
        let log = OpenOptions::new().create(true).append(true).open(self.site.log())?;
        let mut command = Command::new(&self.program);
        command.arg("serve").arg("--config").arg(self.site.config()).arg("--state").arg(self.site.state());
        // What a terminal sends to us is not meant for it.
        command.env_clear().env("NO_COLOR", "1").process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = self.child.insert(command.spawn()?);
        let pid = child.id();
        let mut wait = Wait::up_to(START_LIMIT);
        while api::probe(self.site.port, "/readyz").await.is_err() {
            if let Some(status) = self.child.as_mut().map(Child::try_wait).transpose()?.flatten() {
                return Err(format!("the daemon ended when it was started: {status}").into());
            }
            if !wait.again().await {
                return Err(format!("the daemon does not answer within {} s", START_LIMIT.as_secs()).into());
            }
        }
        self.record.lives(pid);
        Ok(())
    }

    pub(super) fn signal(&self, signal: Signal) -> Result<(), Failure> {
        let pid = self.child.as_ref().and_then(|child| i32::try_from(child.id()).ok()).and_then(Pid::from_raw);
        // It has not been waited for, so the id is still its own.
        Ok(kill_process(pid.ok_or("there is no daemon")?, signal)?)
    }

    /// Waits for its end.
    pub(super) async fn ended(&mut self) -> Result<ExitStatus, Failure> {
        self.record.dies();
        let child = self.child.as_mut().ok_or("there is no daemon")?;
        let mut wait = Wait::up_to(END_LIMIT);
        loop {
            if let Some(status) = child.try_wait()? {
                self.child = None;
                return Ok(status);
            }
            if !wait.again().await {
                return Err(format!("the daemon does not end within {} s", END_LIMIT.as_secs()).into());
            }
        }
    }

    /// Asks it to end, which it must do by itself and well.
    pub(super) async fn end(&mut self) -> Result<(), Failure> {
        self.record.dies();
        self.signal(Signal::TERM)?;
        let status = self.ended().await?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("the daemon was told to end, and ended with {status}").into())
        }
    }

    /// Whether it ended by itself.
    pub(super) fn has_died(&mut self) -> Option<ExitStatus> {
        self.child.as_mut().and_then(|child| child.try_wait().ok().flatten())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // A stopped process is killed, too.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
