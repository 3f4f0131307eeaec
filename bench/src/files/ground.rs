//! Where the data lies: a directory of our own that goes away with us, on a disk that has room for it.

use std::env;
use std::fs::File;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use bygone_core::{Clock, SystemClock};
use rustix::fs::{Advice, fadvise, statvfs, syncfs};
use tempfile::TempDir;
use tokio::runtime::Handle;

use crate::failure::Failure;

const GIB: u64 = 1 << 30;
/// For so long ext4 does not give a freed inode out again.
const FREED_REST: Duration = Duration::from_secs(61);
/// How long an interrupt may have to wait.
const PATIENCE: Duration = Duration::from_secs(1);

/// The directory of a case. It is removed at the end, however the case ends.
pub(crate) struct Ground {
    directory: TempDir,
    stop: Arc<AtomicBool>,
}

impl Ground {
    /// Makes it below `TMPDIR`; without one below `target/` or the current directory, so that it is the disk that one
    /// stands on and no file system in memory.
    pub(crate) fn new((bytes, inodes): (u64, u64), stop: Arc<AtomicBool>) -> Result<Self, Failure> {
        let parent = parent()?;
        let state = statvfs(&parent)?;
        let free = state.f_bavail.saturating_mul(state.f_frsize);
        if free < bytes {
            let (needed, free, parent) = (bytes.div_ceil(GIB), free / GIB, parent.display());
            return Err(format!(
                "{needed} GiB are needed in {parent}, and {free} GiB are free: point TMPDIR at a larger disk"
            )
            .into());
        }
        // A file system that does not count its inodes says zero.
        if state.f_files > 0 && state.f_favail < inodes {
            let (free, parent) = (state.f_favail, parent.display());
            return Err(format!(
                "{inodes} inodes are needed in {parent}, and {free} are free: point TMPDIR at another disk"
            )
            .into());
        }
        Ok(Self { directory: TempDir::with_prefix_in("bygone-bench-", parent)?, stop })
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Waits until the disk has everything, so that nobody pays for what came before.
    pub(crate) fn come_to_rest(&self) -> Result<(), Failure> {
        syncfs(File::open(self.directory.path())?)?;
        Ok(())
    }

    /// Waits until inodes that were freed are as good as any others. Call it from a thread that may block.
    pub(crate) fn let_inodes_rest(&self) -> Result<(), Failure> {
        self.come_to_rest()?;
        let clock = SystemClock::new();
        while clock.elapsed() < FREED_REST {
            self.go_on()?;
            Handle::current().block_on(clock.sleep(PATIENCE));
        }
        Ok(())
    }

    /// An error once somebody has asked for the end.
    pub(crate) fn go_on(&self) -> Result<(), Failure> {
        if self.stop.load(Ordering::Acquire) { Err("interrupted".into()) } else { Ok(()) }
    }

    /// Does something for each number below `count`, on all processors.
    pub(crate) fn for_each(&self, count: u64, act: impl Fn(u64) -> Result<(), Failure> + Sync) -> Result<(), Failure> {
        let next = AtomicU64::new(0);
        let work = || {
            loop {
                self.go_on()?;
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= count {
                    return Ok(());
                }
                act(at)?;
            }
        };
        let workers = thread::available_parallelism().map_or(1, NonZero::get);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
            threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
        })
    }
}

fn parent() -> Result<PathBuf, Failure> {
    if env::var_os("TMPDIR").is_some() {
        return Ok(env::temp_dir());
    }
    let here = env::current_dir()?;
    let target = here.join("target");
    Ok(if target.is_dir() { target } else { here })
}

/// Drops the file from memory, so that the next reader has it from the disk. It must be on the disk already.
pub(crate) fn forget(path: &Path) -> Result<(), Failure> {
    fadvise(File::open(path)?, 0, None, Advice::DontNeed)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Mutex;

    use super::*;

    fn ground(room: (u64, u64)) -> Result<Ground, Failure> {
        Ground::new(room, Arc::default())
    }

    #[test]
    fn each_is_done_once_and_nothing_stays_behind() {
        let ground = ground((1, 1)).unwrap();
        let seen = Mutex::new(Vec::new());
        ground
            .for_each(1_000, |at| {
                seen.lock().unwrap().push(at);
                Ok(())
            })
            .unwrap();
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable();
        assert_eq!(seen, (0..1_000).collect::<Vec<_>>());
        let place = ground.path("file");
        fs::write(&place, "x").unwrap();
        drop(ground);
        assert!(!place.exists());
    }

    #[test]
    fn too_little_room_is_told_with_the_remedy() {
        let refused = ground((u64::MAX, 1)).err().unwrap().to_string();
        assert!(refused.contains("TMPDIR"), "{refused}");
    }

    #[test]
    fn an_interrupt_ends_the_work() {
        let stop = Arc::new(AtomicBool::new(true));
        let ground = Ground::new((1, 1), stop).unwrap();
        assert!(ground.for_each(1, |_| Ok(())).is_err());
    }
}
