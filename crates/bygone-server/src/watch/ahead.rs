//! When policies run next, at hand: whoever scrapes a thousand policies does not have a thousand patterns of cron followed
//! anew, when the answer stays the same until that run.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bygone_core::Schedule;
use jiff::Timestamp;

use crate::estate::PolicyCard;

/// The next run of a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Next {
    /// When it is; `None` where it never runs by itself.
    pub(crate) run: Option<Timestamp>,
    /// The time from there to the one behind it, as it is now.
    pub(crate) interval: Option<Duration>,
}

/// The next runs of all policies.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    known: Mutex<BTreeMap<String, Known>>,
}

/// What holds from a moment on until the run that it tells of, as long as the policy has that schedule.
#[derive(Debug)]
struct Known {
    since: Timestamp,
    schedule: Schedule,
    next: Next,
}

impl Ahead {
    /// The next run of a policy after a moment.
    pub(crate) fn of(&self, card: &PolicyCard, now: Timestamp) -> Next {
        let Some(schedule) = &card.schedule else { return Next::default() };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Known { since, schedule: of, next }) = known.get(&card.name)
            && *since <= now
            && next.run.is_some_and(|run| now < run)
            && of == schedule
        {
            return *next;
        }
        let next = Next { run: schedule.next_after(now, &card.name), interval: schedule.interval_at(now, &card.name) };
        known.insert(card.name.clone(), Known { since: now, schedule: schedule.clone(), next });
        next
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_at_hand_is_what_the_schedule_says_whatever_the_clock_does() {
        let ahead = Ahead::default();
        let schedule = Schedule::cron("0 30 9-17 * * MON-FRI", TimeZone::UTC).unwrap();
        let card = PolicyCard { schedule: Some(schedule.clone()), ..PolicyCard::new("p", "s") };
        // Forth, on to a run, over a weekend, and back again.
        for now in [
            "2026-11-18T08:00:00Z",
            "2026-11-18T09:29:59Z",
            "2026-11-18T09:30:00Z",
            "2026-11-20T17:30:00Z",
            "2026-11-21T12:00:00Z",
            "2026-11-18T08:00:00Z",
        ] {
            let next = ahead.of(&card, at(now));
            assert_eq!(next.run, schedule.next_after(at(now), "p"), "{now}");
            assert_eq!(next.interval, schedule.interval_at(at(now), "p"), "{now}");
        }
        assert_eq!(ahead.of(&PolicyCard::new("q", "s"), at("2026-11-18T08:00:00Z")), Next::default());
    }

    #[test]
    fn other_times_are_heeded_at_once() {
        let ahead = Ahead::default();
        let hourly = |minute: u8| {
            let schedule = Schedule::cron(&format!("{minute} * * * *"), TimeZone::UTC).unwrap();
            PolicyCard { schedule: Some(schedule), ..PolicyCard::new("p", "s") }
        };
        let now = at("2026-11-18T08:00:00Z");
        assert_eq!(ahead.of(&hourly(30), now).run, Some(at("2026-11-18T08:30:00Z")));
        assert_eq!(ahead.of(&hourly(10), now).run, Some(at("2026-11-18T08:10:00Z")));
    }
}
