//! The machine that a result was seen on, in one line: without it a figure means nothing a year later.

use std::fs;

use bygone_core::{Clock, SystemClock};

/// Today, in UTC.
pub(crate) fn date() -> String {
    SystemClock::new().now().strftime("%Y-%m-%d").to_string()
}

/// Cores, processor, memory, kernel, and the versions of what took part.
pub(crate) fn describe(versions: &[String]) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut parts = vec![format!("{cores} cores")];
    parts.extend(processor());
    parts.extend(memory());
    parts.extend(kernel());
    parts.extend_from_slice(versions);
    parts.join(" · ")
}

fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, name)| name.trim().to_owned())
}

/// Its version; what distributions put behind it says nothing of speed.
fn kernel() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    text.trim().split('-').next().map(|version| format!("Linux {version}"))
}

fn memory() -> Option<String> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(format!("{} GiB", (kib + 524_288) / 1_048_576))
}
