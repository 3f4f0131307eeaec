//! How long everything takes: an hour has room for lifetimes of half a minute, a quick run has not.

use std::time::Duration;

/// The times of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Writers write and faults happen.
    pub(super) storm: Duration,
    /// Nobody does anything but the daemon, until everything due must be gone.
    pub(super) quiet: Duration,
    /// Between two runs of the policies that run often, and of the others.
    pub(super) every: [Duration; 2],
    /// How long items stay after their deadline, where the policy says so.
    pub(super) keep: Duration,
    /// The longest life of what is to go in this run.
    pub(super) life_max: Duration,
    /// The shortest and the longest time between two faults.
    pub(super) gap: [Duration; 2],
    /// The longest time that something is held, paused or stopped.
    pub(super) standstill_max: Duration,
    /// Of a daemon's life nothing is judged before.
    pub(super) warm_up: Duration,
}

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

impl Pace {
    /// A run of so long, all in all.
    pub(super) fn of_minutes(minutes: u64) -> Self {
        Self {
            storm: secs(60 * minutes.max(2) - 60),
            quiet: secs(60),
            every: [secs(5), secs(10)],
            keep: secs(5),
            life_max: secs(20),
            gap: [secs(6), secs(30)],
            standstill_max: secs(12),
            warm_up: secs(60),
        }
    }

    /// A run within a minute.
    pub(super) fn quick() -> Self {
        Self {
            storm: secs(26),
            quiet: secs(16),
            every: [secs(2), secs(3)],
            keep: secs(1),
            life_max: secs(5),
            gap: [secs(1), secs(2)],
            standstill_max: secs(2),
            warm_up: secs(3),
        }
    }

    /// In this part of the storm the daemon is not restarted, so that one of them lives for long.
    pub(super) fn is_calm(self, since_begin: Duration) -> bool {
        let part = since_begin.as_secs_f64() / self.storm.as_secs_f64();
        (0.35..0.92).contains(&part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_last_is_due_well_before_the_end() {
        for pace in [Pace::of_minutes(2), Pace::of_minutes(60), Pace::quick()] {
            assert!(pace.life_max + pace.keep + 2 * pace.every[1] < pace.quiet, "{pace:?}");
        }
    }

    #[test]
    fn one_daemon_lives_for_over_half_of_the_time() {
        let pace = Pace::of_minutes(60);
        let calm = (0..pace.storm.as_secs()).filter(|at| pace.is_calm(secs(*at))).count();
        assert!(calm > 30 * 60, "{calm}");
    }
}
