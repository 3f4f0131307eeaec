//! Waiting for something to become true, with an end.
//!
//! Servers get ready and processes go away in their own time. A fixed sleep is either too short
//! or too long, so everything here is waited for by looking again and again, up to a limit. This
//! is the one place of the test kit that sleeps and reads a clock; tests that wait for another
//! process or session use it too.

use std::time::{Duration, Instant};

const PAUSE_FIRST: Duration = Duration::from_millis(2);
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// A bounded wait: ask, and while the answer is no, [`again`](Self::again).
///
/// ```
/// # use std::time::Duration;
/// # use bygone_testkit::wait::Wait;
/// let mut looks = 0;
/// let mut wait = Wait::up_to(Duration::from_secs(5));
/// while looks < 3 {
///     looks += 1;
///     assert!(wait.again_blocking(), "three looks took over five seconds");
/// }
/// ```
#[derive(Debug)]
pub struct Wait {
    limit: Duration,
    begun: Instant,
    pause: Duration,
}

impl Wait {
    /// A wait that begins now and ends after `limit`.
    #[expect(clippy::disallowed_methods, reason = "a server's start is real time, and this is the kit's one clock")]
    pub fn up_to(limit: Duration) -> Self {
        Self { limit, begun: Instant::now(), pause: PAUSE_FIRST }
    }

    /// How long this wait lasts at most.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Pauses before the next look. False, without a pause, once the limit has passed.
    #[expect(clippy::disallowed_methods, reason = "the pause between two looks at a real process")]
    pub async fn again(&mut self) -> bool {
        match self.next_pause() {
            Some(pause) => {
                tokio::time::sleep(pause).await;
                true
            }
            None => false,
        }
    }

    /// [`again`](Self::again) outside async code, which `Drop` needs.
    #[expect(clippy::disallowed_methods, reason = "the pause between two looks at a real process")]
    pub fn again_blocking(&mut self) -> bool {
        match self.next_pause() {
            Some(pause) => {
                std::thread::sleep(pause);
                true
            }
            None => false,
        }
    }

    /// Short pauses at first, for what is nearly there; longer ones later, to leave the
    /// processor to what is waited for.
    fn next_pause(&mut self) -> Option<Duration> {
        let left = self.limit.saturating_sub(self.begun.elapsed());
        if left.is_zero() {
            return None;
        }
        let pause = self.pause.min(left);
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        Some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends() {
        let mut wait = Wait::up_to(Duration::from_millis(20));
        let mut looks = 0;
        while wait.again_blocking() {
            looks += 1;
            assert!(looks < 1_000, "the wait does not end");
        }
        assert!(wait.begun.elapsed() >= wait.limit());
    }

    #[tokio::test]
    async fn a_wait_of_no_time_does_not_pause() {
        assert!(Wait::up_to(Duration::ZERO).next_pause().is_none());
        assert!(!Wait::up_to(Duration::ZERO).again().await);
    }
}
