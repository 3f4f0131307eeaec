//! Processes by an identity that is never used twice.
//!
//! The kit stops servers by their process id, sometimes long after they started and from another
//! process. The system gives the ids of the dead to the living, so an id alone might name an
//! innocent process. An id together with the moment its process started does not.

use std::fs;
use std::os::unix::process::parent_id;

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

/// One process, alive or not, told from any other that had or will have its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The process id.
    pub pid: u32,
    /// When it started, in clock ticks since the system did.
    pub started: u64,
}

impl Process {
    /// The process that has this id now. A zombie has ended, so it is none.
    pub fn of(pid: u32) -> Option<Self> {
        Stat::read(pid).map(|stat| stat.process)
    }

    /// Whether this very process still runs.
    pub fn is_alive(&self) -> bool {
        Self::of(self.pid) == Some(*self)
    }

    /// The process of the caller.
    ///
    /// # Panics
    /// Where the system has no `/proc`: the kit runs on Linux.
    pub fn current() -> Self {
        let pid = std::process::id();
        Self::of(pid).unwrap_or_else(|| panic!("/proc/{pid}/stat cannot be read"))
    }

    /// The process that runs the tests: `cargo` for `cargo test`, `cargo-nextest` for
    /// `cargo nextest run`, the shell for a test binary called by hand.
    ///
    /// A process whose runner died has become a child of process 1, which may outlive everything;
    /// such a process, and one whose parent cannot be seen, counts as its own runner.
    pub(crate) fn runner() -> Self {
        match parent_id() {
            0 | 1 => None,
            parent => Self::of(parent),
        }
        .unwrap_or_else(Self::current)
    }

    /// Sends a signal to this process, and to no other that has its id by now.
    pub(crate) fn signal(&self, signal: Signal) {
        if !self.is_alive() {
            return;
        }
        if let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
            // The one error left is that it ended just now, which is what signals here are for.
            let _ = kill_process(pid, signal);
        }
    }

    /// The processes that this one started and that still run.
    pub(crate) fn children(&self) -> Vec<Self> {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter_map(Stat::read)
            .filter(|stat| stat.parent == self.pid)
            .map(|stat| stat.process)
            .collect()
    }
}

/// The fields of `/proc/PID/stat` that the kit reads.
#[derive(Debug, PartialEq)]
struct Stat {
    process: Process,
    parent: u32,
}

impl Stat {
    fn read(pid: u32) -> Option<Self> {
        Self::parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The second field is the program's name in parentheses, which may itself hold blanks and
    /// parentheses: fields are counted from the last closing one.
    fn parse(pid: u32, line: &str) -> Option<Self> {
        let (_, fields) = line.rsplit_once(") ")?;
        let mut fields = fields.split_ascii_whitespace();
        let state = fields.next()?;
        if matches!(state, "Z" | "X" | "x") {
            return None;
        }
        let parent = fields.next()?.parse().ok()?;
        // The start is field 22 of the line; state and parent were fields 3 and 4.
        let started = fields.nth(17)?.parse().ok()?;
        Some(Self { process: Process { pid, started }, parent })
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn line(name: &str, state: &str) -> String {
        format!("7 ({name}) {state} 3 7 7 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 4711 99 100")
    }

    #[test]
    fn a_name_with_blanks_and_parentheses_does_not_shift_the_fields() {
        for name in ["cargo", "a b", "x) R 1 (y", ") "] {
            let expected = Stat { process: Process { pid: 7, started: 4711 }, parent: 3 };
            assert_eq!(Stat::parse(7, &line(name, "S")), Some(expected), "{name:?}");
        }
    }

    #[test]
    fn a_zombie_is_not_alive() {
        assert_eq!(Stat::parse(7, &line("postgres", "Z")), None);
        assert_eq!(Stat::parse(7, "nonsense"), None);
    }

    #[test]
    fn a_child_is_seen_signalled_and_gone() {
        let mut child = Command::new("sleep").arg("600").stdout(Stdio::null()).spawn().unwrap();
        let process = Process::of(child.id()).unwrap();
        assert!(Process::current().children().contains(&process));

        let namesake = Process { started: process.started + 1, ..process };
        assert!(!namesake.is_alive());
        namesake.signal(Signal::KILL);
        assert!(process.is_alive(), "another process with its id was meant");

        process.signal(Signal::KILL);
        child.wait().unwrap();
        assert!(!process.is_alive());
    }
}
