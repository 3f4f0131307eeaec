//! The machine that a result was seen on, in one line: without it a figure means nothing a year later.

use std::fs;

use bygone_core::{Clock, SystemClock};

/// Date, cores, processor, memory, kernel, and the versions of what took part.
pub(crate) fn describe(versions: &[String]) -> String {
    let date = SystemClock::new().now().strftime("%Y-%m-%d").to_string();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut parts = vec![date, format!("{cores} cores")];
    parts.extend(processor());
    parts.extend(memory());
    parts.extend(fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|text| format!("Linux {}", text.trim())));
    parts.extend_from_slice(versions);
    parts.join(" · ")
}

fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, name)| name.trim().to_owned())
}

fn memory() -> Option<String> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(format!("{} GiB", (kib + 524_288) / 1_048_576))
}
