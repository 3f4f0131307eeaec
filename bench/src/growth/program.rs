//! The program itself, as people run it: a process for each sweep, timed from its start to its end.
//!
//! How much memory it took is the kernel's own high-water mark, which only its own process has. It is looked at until the
//! process ends; what it grows by in the last few milliseconds is all that can be missed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use bygone_core::{Clock, SystemClock};
use serde::Deserialize;
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use crate::failure::Failure;
use crate::own_program;
use crate::stopwatch::Stopwatch;

const LOOK_PAUSE: Duration = Duration::from_millis(3);

/// Where the program is.
pub(super) struct Program(PathBuf);

/// What a sweep took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    pub(super) time: Duration,
    pub(super) peak_mib: f64,
    pub(super) removed: u64,
}

#[derive(Deserialize)]
struct Report {
    policies: Vec<Swept>,
}

#[derive(Deserialize)]
struct Swept {
    outcome: String,
    removed: u64,
}

impl Program {
    /// Builds it.
    pub(super) fn built() -> Result<Self, Failure> {
        own_program::build().map(Self)
    }

    /// Sweeps everything that a configuration has, to the end.
    pub(super) async fn sweep(&self, configuration: &Path) -> Result<Effort, Failure> {
        let watch = Stopwatch::start();
        let mut child = Command::new(&self.0)
            .arg("--config")
            .arg(configuration)
            .args(["--format", "json", "sweep"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()?;
        let status = PathBuf::from(format!("/proc/{}/status", child.id().ok_or("bygone ended before it began")?));
        let mut answer = child.stdout.take().ok_or("bygone has no output")?;
        let read = async {
            let mut text = String::new();
            answer.read_to_string(&mut text).await.map(|_| text)
        };
        let ended = async {
            let ended = child.wait().await;
            (ended, watch.time())
        };
        let mut peak_kib = 0;
        let ((ended, time), text) = tokio::select! {
            done = async { tokio::join!(ended, read) } => done,
            () = look(&status, &mut peak_kib) => return Err("it was looked at for ever".into()),
        };
        let (ended, text) = (ended?, text?);
        let report: Report = serde_json::from_str(&text).map_err(|error| format!("bygone ({ended}): {error}"))?;
        if let Some(other) = report.policies.iter().find(|policy| policy.outcome != "complete") {
            return Err(format!("a policy ended as {}", other.outcome).into());
        }
        let removed = report.policies.iter().map(|policy| policy.removed).sum();
        Ok(Effort { time, peak_mib: f64::from(peak_kib) / 1_024.0, removed })
    }
}

/// Follows the high-water mark. Never returns.
async fn look(status: &Path, peak_kib: &mut u32) {
    let clock = SystemClock::new();
    loop {
        // A process that has ended has no memory, and no mark.
        let seen = fs::read_to_string(status).ok().and_then(|text| high_water(&text));
        *peak_kib = seen.unwrap_or_default().max(*peak_kib);
        clock.sleep(LOOK_PAUSE).await;
    }
}

fn high_water(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_high_water_mark_is_read_from_what_the_kernel_says() {
        let own = fs::read_to_string("/proc/self/status").unwrap();
        assert!(high_water(&own).unwrap() > 1_000, "{own}");
        assert_eq!(high_water("Name:\tx\nVmHWM:\t   23456 kB\nVmRSS:\t 1 kB\n"), Some(23_456));
        assert_eq!(high_water("Name:\tx\nState:\tZ (zombie)\n"), None);
    }
}
