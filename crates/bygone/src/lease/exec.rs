//! `bygone lease exec`: a command that runs while a lease is held.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::ExitStatus;
use std::time::Duration;

use bygone_core::Clock;
use bygone_lease::{Acquire, Lease, Released};
use bygone_server::leases::LeaseDocument;
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use tokio::process::{Child, Command};

use super::keeper::{Lost, until_lost};
use crate::cli::lease::Exec;
use crate::exit::Exit;
use crate::output;
use crate::problem::Problem;
use crate::signals::Relayed;
use crate::store::Opened;

/// How long giving the lease back may take: by itself it ends, too.
const RELEASE_TIME: Duration = Duration::from_secs(10);
/// How often to look whether the rest of a process group has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Takes the lease, runs the command, gives the lease back; ends as the command does.
pub(super) async fn run(opened: &Opened, request: &Acquire, flags: &Exec, clock: &dyn Clock) -> Result<Exit, Problem> {
    // Before the lease is taken: whoever is told to stop meanwhile must not start anything.
    let mut signals =
        Relayed::listen().map_err(|error| Problem::failed(format!("cannot listen to signals: {error}")))?;
    let lease = tokio::select! {
        lease = opened.store.acquire(request) => lease?,
        signal = signals.next() => return Ok(ended_by(signal)),
    };
    let outcome = match Job::start(opened, &lease, &flags.command) {
        Ok(mut job) => {
            let lost = until_lost(&*opened.store, &lease, flags.ask.ttl, clock);
            job.see_through(lost, &mut signals, flags.grace, clock).await
        }
        Err(problem) => Err(problem),
    };
    match outcome {
        Ok(Ended::ByItself(status)) => {
            let lost = release(opened, &lease, clock).await;
            Ok(lost.unwrap_or_else(|| Exit::of_command(status)))
        }
        // There is nothing to give back.
        Ok(Ended::LeaseLost(lost)) => {
            output::talk(format!("the lease of `{}` is lost, and the command was ended: {lost}", lease.key));
            Ok(Exit::LeaseLost)
        }
        Err(problem) => {
            release(opened, &lease, clock).await;
            Err(problem)
        }
    }
}

/// How a command came to its end.
enum Ended {
    ByItself(ExitStatus),
    LeaseLost(Lost),
}

/// The command while it runs.
struct Job {
    child: Child,
    pid: Pid,
    /// Whether it has a process group of its own, all of which is told what it is told.
    has_group: bool,
}

impl Job {
    fn start(opened: &Opened, lease: &Lease, command: &[OsString]) -> Result<Self, Problem> {
        let Some((program, arguments)) = command.split_first() else {
            return Err(Problem::usage("there is no command", "write it behind `--`"));
        };
        let cannot = |error: &dyn std::fmt::Display| {
            Problem::failed(format!("cannot run {}: {error}", program.to_string_lossy()))
        };
        // Only the group in the foreground may read from a terminal, and Ctrl-C goes to all of it by itself.
        let has_group = !io::stdin().is_terminal();
        let document = serde_json::to_string(&LeaseDocument::from(lease)).map_err(|error| cannot(&error))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("BYGONE_FENCING_TOKEN", lease.fencing_token.to_string())
            .env("BYGONE_LEASE_KEY", lease.key.as_str())
            .env("BYGONE_LEASE_ID", lease.id.to_string())
            .env("BYGONE_LEASE", document)
            .env("BYGONE_STORE", &opened.url);
        if has_group {
            command.process_group(0);
        }
        let child = command.spawn().map_err(|error| cannot(&error))?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| cannot(&"it has no process id"))?;
        Ok(Self { child, pid, has_group })
    }

    /// Waits for its end, and brings it about where the lease is lost.
    async fn see_through(
        &mut self,
        lost: impl Future<Output = Lost>,
        signals: &mut Relayed,
        grace: Duration,
        clock: &dyn Clock,
    ) -> Result<Ended, Problem> {
        tokio::pin!(lost);
        loop {
            tokio::select! {
                status = self.child.wait() => return Ok(Ended::ByItself(waited(status)?)),
                lost = &mut lost => {
                    self.end(signals, grace, clock).await?;
                    return Ok(Ended::LeaseLost(lost));
                }
                signal = signals.next() => self.relay(signal),
            }
        }
    }

    /// Ends the command: kindly, and after a while not.
    async fn end(&mut self, signals: &mut Relayed, grace: Duration, clock: &dyn Clock) -> Result<(), Problem> {
        self.send(Signal::TERM);
        let deadline = clock.elapsed() + grace;
        loop {
            tokio::select! {
                status = self.child.wait() => {
                    waited(status)?;
                    break;
                }
                () = clock.sleep(deadline.saturating_sub(clock.elapsed())) => {
                    self.send(Signal::KILL);
                    waited(self.child.wait().await)?;
                    break;
                }
                signal = signals.next() => self.relay(signal),
            }
        }
        // What the command has started goes on without the lease just as little.
        while self.has_group && test_kill_process_group(self.pid).is_ok() {
            if clock.elapsed() >= deadline {
                self.send(Signal::KILL);
                break;
            }
            clock.sleep(LOOK).await;
        }
        Ok(())
    }

    /// Passes on what we were told. In the foreground the terminal has told everybody of its own signals.
    fn relay(&self, signal: Signal) {
        if self.has_group || !matches!(signal, Signal::INT | Signal::QUIT) {
            self.send(signal);
        }
    }

    /// One that has ended meanwhile is none the worse for it.
    fn send(&self, signal: Signal) {
        let sent = if self.has_group { kill_process_group(self.pid, signal) } else { kill_process(self.pid, signal) };
        if let Err(error) = sent {
            tracing::debug!(%error, ?signal, "the command could not be signalled");
        }
    }
}

/// Gives the lease back. Answers with what to end in where it turns out that it was somebody else's.
async fn release(opened: &Opened, lease: &Lease, clock: &dyn Clock) -> Option<Exit> {
    let released = tokio::select! {
        released = opened.store.release(lease) => released.map_err(|error| error.to_string()),
        () = clock.sleep(RELEASE_TIME) => Err("the store does not answer".to_owned()),
    };
    match released {
        Ok(Released::Now) => None,
        Ok(Released::Already) => {
            output::talk(format!("the lease of `{}` was over before the command was", lease.key));
            Some(Exit::LeaseLost)
        }
        Err(why) => {
            output::talk(format!("the lease of `{}` could not be given back, and ends by itself: {why}", lease.key));
            None
        }
    }
}

fn waited(status: io::Result<ExitStatus>) -> Result<ExitStatus, Problem> {
    status.map_err(|error| Problem::failed(format!("cannot wait for the command: {error}")))
}

fn ended_by(signal: Signal) -> Exit {
    Exit::Command(u8::try_from(128 + signal.as_raw()).unwrap_or(1))
}
