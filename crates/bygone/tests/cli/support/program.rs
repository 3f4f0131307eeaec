//! The real program, run as a user runs it, and what came of it.

use std::io::Read as _;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use bygone_testkit::Process;
use bygone_testkit::wait::Wait;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// How long a run may take that is expected to end.
const END_LIMIT: Duration = Duration::from_mins(1);

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_bygone");

/// A call of the program with an environment that holds nothing of the caller's but where temporary files go.
pub(crate) fn bygone(arguments: &[&str]) -> Command {
    clean(PROGRAM, arguments)
}

/// The same for a copy of the program.
pub(crate) fn clean(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("TMPDIR", std::env::temp_dir()).args(arguments).stdin(Stdio::null());
    command
}

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct Run {
    /// The exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Run {
    /// Runs a command to its end.
    pub(crate) fn of(command: &mut Command) -> Self {
        command.output().expect("the program runs").into()
    }

    /// The same run, which must have ended with this code.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "exit code of {self:#?}");
        self
    }

    /// The same run, which must have told a person each of these things.
    #[track_caller]
    pub(crate) fn says(self, texts: &[&str]) -> Self {
        let said = flowing(&self.stderr);
        for text in texts {
            assert!(said.contains(text), "{text:?} is not said in:\n{}", self.stderr);
        }
        self
    }

    /// What it wrote to standard output, as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:#?}"))
    }

    /// The only policy of the report or plan that it wrote.
    #[track_caller]
    pub(crate) fn only_policy(&self) -> Value {
        let mut json = self.json();
        let policies = json["policies"].as_array_mut().unwrap_or_else(|| panic!("no policies in {self:#?}"));
        assert_eq!(policies.len(), 1, "{self:#?}");
        policies.remove(0)
    }

    /// Both outputs, for what must stand in neither.
    pub(crate) fn everything(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// A diagnostic as one line: without the bars and breaks that fit it to a width.
fn flowing(text: &str) -> String {
    text.split(|c: char| c.is_whitespace() || c == '│').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A run that goes on. It is killed when the test is done with it.
pub(crate) struct Running {
    child: Child,
}

impl Running {
    /// Starts a command whose outputs are kept.
    pub(crate) fn start(command: &mut Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        Self { child }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The largest that it has been so far; `None` once it has ended.
    pub(crate) fn high_water_kib(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    }

    /// Whether it still runs.
    pub(crate) fn is_alive(&self) -> bool {
        Process::of(self.pid()).is_some()
    }

    /// Sends it a signal. It has not been waited for, so the id is still its own.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(pid, signal).expect("the process is there");
    }

    /// Reads what it tells a person until `text` was told.
    pub(crate) fn until_it_says(&mut self, text: &str) -> String {
        let stderr = self.child.stderr.as_mut().expect("standard error is kept");
        let (mut said, mut byte) = (Vec::new(), [0]);
        while !String::from_utf8_lossy(&said).contains(text) {
            let read = stderr.read(&mut byte).expect("standard error can be read");
            assert!(read > 0, "it ended without saying {text:?}: {}", String::from_utf8_lossy(&said));
            said.push(byte[0]);
        }
        String::from_utf8_lossy(&said).into_owned()
    }

    /// Waits for its end. What it writes is far less than a pipe holds, so it need not be read meanwhile.
    pub(crate) fn end(mut self) -> Run {
        let mut wait = Wait::up_to(END_LIMIT);
        while self.is_alive() {
            assert!(wait.again_blocking(), "it does not end within {END_LIMIT:?}");
        }
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.child.stdout.take().expect("kept").read_to_string(&mut stdout).expect("it writes UTF-8");
        self.child.stderr.take().expect("kept").read_to_string(&mut stderr).expect("it writes UTF-8");
        let status = self.child.wait().expect("it can be waited for");
        Run { code: status.code(), stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Ended already, in most cases.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
