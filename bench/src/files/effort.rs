//! What a turn took: time on the wall, and time on the processors.
//!
//! On a machine that others use too the wall shows their work as well; the processors' time shows more of one's own. What
//! the kernel does in threads of its own, such as writing back, is in neither contender's processor time.

use std::fs;
use std::time::Duration;

use crate::failure::Failure;
use crate::stopwatch::Stopwatch;

/// The unit of `/proc/self/stat`: a hundredth of a second, on every Linux that Rust runs on.
const TICK: Duration = Duration::from_millis(10);
/// Where its fields of user and system time stand behind the name, ours and those of children that were waited for.
const CPU_FIELDS: std::ops::Range<usize> = 11..15;

/// What a turn took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// From the call to its answer.
    pub(crate) time: Duration,
    /// Of all threads and of all children, in user and system mode.
    pub(crate) cpu: Duration,
}

/// Does the work, and says what it took.
pub(crate) fn measured<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<(T, Effort), Failure> {
    let before = cpu()?;
    let watch = Stopwatch::start();
    let done = work()?;
    let time = watch.time();
    Ok((done, Effort { time, cpu: cpu()?.saturating_sub(before) }))
}

fn cpu() -> Result<Duration, Failure> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let ticks = ticks(&stat).ok_or("/proc/self/stat has another shape than expected")?;
    Ok(TICK * u32::try_from(ticks)?)
}

/// The name of the program may hold anything, so the fields are counted from behind its last bracket.
fn ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    fields.get(CPU_FIELDS)?.iter().map(|field| field.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_fields_of_a_process_with_an_odd_name() {
        let stat = "42 (a) b (c) R 1 2 3 4 5 6 7 8 9 10 700 30 5 1 20 0 3 0 999";
        assert_eq!(ticks(stat), Some(736));
        assert_eq!(ticks("42 (short) R 1"), None);
    }

    #[test]
    fn children_count_too() {
        let spin =
            || Ok(Command::new("sh").args(["-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"]).status()?);
        let (status, effort) = measured(spin).unwrap();
        assert!(status.success());
        assert!(effort.cpu >= TICK, "{effort:?}");
    }
}
