//! Waiting for longer than a daemon lets anybody wait: asking again until the time is over.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::Clock;
use bygone_lease::Wait;

use super::daemon::millis;

/// The longest that a daemon waits for somebody.
const WAIT_MAX: Duration = Duration::from_secs(25);
/// One that answers sooner is not asked more often than this.
const PAUSE: Duration = Duration::from_millis(200);

/// How long somebody waits, altogether.
#[derive(Debug)]
pub(super) struct Patience {
    clock: Arc<dyn Clock>,
    /// By the clock that never jumps; none where he waits for ever.
    until: Option<Duration>,
}

impl Patience {
    pub(super) fn new(clock: &Arc<dyn Clock>, wait: Wait) -> Self {
        let time = match wait {
            Wait::None => Some(Duration::ZERO),
            Wait::For(time) => Some(time),
            Wait::Forever => None,
        };
        Self { clock: Arc::clone(clock), until: time.map(|time| clock.elapsed().saturating_add(time)) }
    }

    fn left(&self) -> Duration {
        self.until.map_or(Duration::MAX, |until| until.saturating_sub(self.clock.elapsed()))
    }

    /// What to ask for this time.
    pub(super) fn wait_ms(&self) -> Option<u64> {
        let wait = self.left().min(WAIT_MAX);
        (!wait.is_zero()).then(|| millis(wait))
    }

    /// Whether there is time to ask once more.
    pub(super) async fn goes_on(&mut self) -> bool {
        if self.left().is_zero() {
            return false;
        }
        self.clock.sleep(PAUSE.min(self.left())).await;
        true
    }
}

#[cfg(test)]
mod tests {
    use bygone_core::{ManualClock, SystemClock};

    use super::*;

    #[tokio::test]
    async fn what_is_longer_than_a_daemon_waits_is_asked_for_in_parts() {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        assert_eq!(Patience::new(&clock, Wait::None).wait_ms(), None);
        assert!(!Patience::new(&clock, Wait::None).goes_on().await);
        assert_eq!(Patience::new(&clock, Wait::Forever).wait_ms(), Some(25_000));
        assert!(Patience::new(&clock, Wait::Forever).goes_on().await);

        let manual = Arc::new(ManualClock::at(clock.now()));
        let clock: Arc<dyn Clock> = Arc::<ManualClock>::clone(&manual);
        let mut patience = Patience::new(&clock, Wait::For(Duration::from_secs(30)));
        assert_eq!(patience.wait_ms(), Some(25_000));
        manual.advance(Duration::from_secs(25));
        assert_eq!(patience.wait_ms(), Some(5_000));
        manual.advance(Duration::from_secs(5));
        assert_eq!(patience.wait_ms(), None);
        assert!(!patience.goes_on().await);
    }
}
