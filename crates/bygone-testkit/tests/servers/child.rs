//! A process that owns a server and can be killed.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bygone_testkit::wait::Wait;
use bygone_testkit::{Process, Server, Service};

/// Begins the line by which the child names its server.
const MARK: &str = "server:";

/// A server of another process, as that process named it.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) process: Process,
    pub(crate) directory: PathBuf,
}

impl Seen {
    pub(crate) fn of<E: Service>(server: &Server<E>) -> Self {
        Self { process: server.process(), directory: server.directory().to_owned() }
    }

    /// Waits until neither the process nor the directory is there.
    pub(crate) fn assert_goes_away(&self) {
        let mut wait = Wait::up_to(Duration::from_secs(30));
        while self.process.is_alive() || self.directory.exists() {
            assert!(wait.again_blocking(), "still there: {self:?}");
        }
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix(MARK)?.trim().splitn(3, ' ');
        Some(Self {
            process: Process { pid: words.next()?.parse().ok()?, started: words.next()?.parse().ok()? },
            directory: words.next()?.into(),
        })
    }
}

/// The program that holds a server.
const HOLDER: &str = env!("CARGO_BIN_EXE_hold-server");

/// Starts a child that holds a server until its input ends.
pub(crate) fn spawn(role: &str) -> Child {
    Command::new(HOLDER).arg(role).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

/// Starts two children of one runner, a shell, which ends with them.
pub(crate) fn spawn_two_under_a_runner(role: &str) -> Child {
    Command::new("sh")
        .arg("-c")
        .arg(r#"exec 3<&0; "$0" "$@" <&3 & "$0" "$@" <&3 & wait"#)
        .args([HOLDER, role])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The servers that a child names, as many as asked for.
pub(crate) fn servers(child: &mut Child, count: usize) -> Vec<Seen> {
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let seen: Vec<_> = lines.filter_map(|line| Seen::parse(&line.unwrap())).take(count).collect();
    assert_eq!(seen.len(), count, "a child ended early: {seen:?}");
    seen
}
