//! What happens to the daemon and to what it works with, and what each of it explains.

use std::time::Duration;

use serde::Serialize;

use super::part::{Part, Source};
use super::record::Who;

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) enum Fault {
    /// The daemon is killed, and started again.
    Kill,
    /// It is told to end, and started again.
    Restart,
    /// It stands still for a while.
    Freeze,
    /// Its connections to PostgreSQL are terminated.
    Cut,
    /// PostgreSQL crashes, and is started again.
    Crash,
    /// The hold file lies there for a while.
    Hold,
    /// Everything is paused for a while, by the API.
    Pause,
    /// The configuration changes.
    Reload,
    /// The configuration is wrong for a while.
    Misspell,
}

impl Fault {
    /// All of them, as often as they are to happen beside each other.
    pub(super) const DECK: [Self; 12] = [
        Self::Kill,
        Self::Kill,
        Self::Restart,
        Self::Freeze,
        Self::Freeze,
        Self::Cut,
        Self::Cut,
        Self::Crash,
        Self::Hold,
        Self::Pause,
        Self::Reload,
        Self::Misspell,
    ];

    /// Its name in the picture and in results.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill -9",
            Self::Restart => "SIGTERM",
            Self::Freeze => "SIGSTOP",
            Self::Cut => "connections cut",
            Self::Crash => "PostgreSQL crash",
            Self::Hold => "hold file",
            Self::Pause => "pause",
            Self::Reload => "reload",
            Self::Misspell => "wrong file",
        }
    }

    /// Whether another daemon lives after it.
    pub(super) fn ends_the_daemon(self) -> bool {
        matches!(self, Self::Kill | Self::Restart)
    }

    /// How long after it somebody may still be kept from sweeping this source; `None` if it keeps nobody.
    fn holds_up(self, source: Source) -> Option<Duration> {
        let soon = Duration::from_secs(2);
        match self {
            // The turn of whoever died in it lasts for 30 s more.
            Self::Kill if source == Source::Jobs => Some(Duration::from_secs(31)),
            Self::Kill | Self::Restart | Self::Freeze | Self::Hold | Self::Pause => Some(soon),
            Self::Cut | Self::Crash => (source == Source::Shop).then_some(soon),
            Self::Reload | Self::Misspell => None,
        }
    }

    /// Whether it is a reason for a sweep of this source to fail.
    fn fails(self, source: Source) -> bool {
        match self {
            Self::Cut | Self::Crash => source == Source::Shop,
            _ => false,
        }
    }

    /// Whether it is a reason for somebody's trouble.
    fn troubles(self, who: Who) -> bool {
        match (self, who) {
            // A process that stands still with a lock keeps others waiting for longer than they may.
            (Self::Kill | Self::Restart, Who::Asker) | (Self::Freeze, _) => true,
            (Self::Cut | Self::Crash, Who::Writer(part) | Who::Looker(part)) => part.source() == Source::Shop,
            _ => false,
        }
    }
}

/// A fault, from its beginning until it was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Disturbance {
    pub(super) fault: Fault,
    pub(super) from: Duration,
    pub(super) to: Duration,
}

/// Who notices an end a moment later than it was.
const ECHO: Duration = Duration::from_secs(2);

impl Disturbance {
    fn meets(&self, from: Duration, to: Duration) -> bool {
        self.from <= to + ECHO && from <= self.to + ECHO
    }

    /// Whether it is a reason for a sweep of this part that failed between these moments.
    pub(super) fn explains_failure(&self, part: Part, from: Duration, to: Duration) -> bool {
        self.fault.fails(part.source()) && self.meets(from, to)
    }

    /// Whether it is a reason for trouble between these moments.
    pub(super) fn explains_trouble(&self, who: Who, from: Duration, to: Duration) -> bool {
        self.fault.troubles(who) && self.meets(from, to)
    }

    /// When it kept this part from being swept.
    pub(super) fn standstill(&self, part: Part) -> Option<(Duration, Duration)> {
        self.fault.holds_up(part.source()).map(|echo| (self.from, self.to + echo))
    }
}

/// How much of the time between two moments a part could not be swept.
pub(super) fn standstill(disturbances: &[Disturbance], part: Part, from: Duration, to: Duration) -> Duration {
    let mut spans: Vec<_> = disturbances.iter().filter_map(|disturbance| disturbance.standstill(part)).collect();
    spans.sort_unstable();
    let (mut sum, mut counted) = (Duration::ZERO, from);
    for (begin, end) in spans {
        let (begin, end) = (begin.max(counted), end.min(to));
        if begin < end {
            sum += end.saturating_sub(begin);
            counted = end;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn disturbance(fault: Fault, from: u64, to: u64) -> Disturbance {
        Disturbance { fault, from: secs(from), to: secs(to) }
    }

    #[test]
    fn standstills_that_meet_are_counted_once() {
        let all =
            [disturbance(Fault::Freeze, 10, 20), disturbance(Fault::Hold, 15, 28), disturbance(Fault::Reload, 40, 50)];
        assert_eq!(standstill(&all, Part::Codes, secs(0), secs(100)), secs(20));
        assert_eq!(standstill(&all, Part::Codes, secs(12), secs(25)), secs(13));
        assert_eq!(standstill(&all, Part::Codes, secs(60), secs(100)), secs(0));
    }

    #[test]
    fn a_fault_explains_what_it_meets_and_nothing_else() {
        let cut = disturbance(Fault::Cut, 10, 11);
        assert!(cut.explains_failure(Part::Tokens, secs(9), secs(10)));
        assert!(!cut.explains_failure(Part::Codes, secs(9), secs(10)), "SQLite has no connections to cut");
        assert!(!cut.explains_failure(Part::Tokens, secs(20), secs(21)), "it was over by then");
        assert!(cut.explains_trouble(Who::Writer(Part::Logins), secs(10), secs(10)));
        assert!(!cut.explains_trouble(Who::Asker, secs(10), secs(10)));
    }
}
