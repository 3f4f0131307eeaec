//! The disk that durable answers wait for.

use std::fs::File;
use std::os::unix::fs::FileExt;

use bygone_core::{Clock, SystemClock};
use rustix::fs::statfs;
use tempfile::TempDir;

use crate::failure::Failure;
use crate::statistics::percentile_ms;

/// A file system in memory has nothing to wait for.
const TMPFS_MAGIC: i64 = 0x0102_1994;
const PROBES: u64 = 200;

/// A directory in the temporary directory, where the servers have their data too. It goes away with its value.
pub(crate) fn directory() -> Result<TempDir, Failure> {
    let directory = TempDir::with_prefix("bygone-bench-")?;
    if statfs(directory.path())?.f_type == TMPFS_MAGIC {
        let place = directory.path().display();
        return Err(format!("{place} is in memory, where nothing is durable: point TMPDIR at a disk").into());
    }
    Ok(directory)
}

/// How long the disk takes to have 4 KiB behind the end of a file, in a line: nobody answers sooner.
pub(crate) fn describe(directory: &TempDir) -> Result<String, Failure> {
    let file = File::create(directory.path().join("probe"))?;
    let (clock, mut times) = (SystemClock::new(), Vec::new());
    for at in 0..PROBES {
        let before = clock.elapsed();
        file.write_all_at(&[1; 4_096], at * 4_096)?;
        file.sync_data()?;
        times.push(clock.elapsed().saturating_sub(before));
    }
    let percentile = |percent| percentile_ms(&times, percent).unwrap_or_default();
    Ok(format!("fdatasync of 4 KiB p50 {:.2} ms, p99 {:.2} ms", percentile(50), percentile(99)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_says_how_long_it_takes() {
        let line = describe(&TempDir::new().unwrap()).unwrap();
        assert!(line.starts_with("fdatasync of 4 KiB p50 "), "{line}");
    }
}
