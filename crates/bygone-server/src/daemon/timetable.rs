//! Which policies are due.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::estate::PolicyCard;

/// Knows for each policy up to when its activations have been seen to.
///
/// However many have come since, a policy is due once: whoever slept through a day does not sweep a day's worth of times.
#[derive(Debug, Default)]
pub(super) struct Timetable {
    seen: BTreeMap<String, Timestamp>,
}

impl Timetable {
    /// What has come up to a moment is seen to: a run began then.
    pub(super) fn see(&mut self, policy: &str, until: Timestamp) {
        self.seen.insert(policy.to_owned(), until);
    }

    /// The policies whose time has come. They are seen to from here on.
    pub(super) fn take_due(&mut self, policies: &[&PolicyCard], now: Timestamp) -> Vec<String> {
        let due = policies.iter().filter(|policy| self.next(policy, now).is_some_and(|next| next <= now));
        let due: Vec<String> = due.map(|policy| policy.name.clone()).collect();
        for policy in policies {
            self.see(&policy.name, now);
        }
        due
    }

    /// When a policy is due: in the past, if it was not seen to.
    pub(super) fn next(&self, policy: &PolicyCard, now: Timestamp) -> Option<Timestamp> {
        // A clock that was set back must not silence a policy until it has caught up.
        let since = self.seen.get(&policy.name).map_or(now, |seen| (*seen).min(now));
        policy.schedule.as_ref()?.next_after(since, &policy.name)
    }

    /// The first of several.
    pub(super) fn first(&self, policies: &[&PolicyCard], now: Timestamp) -> Option<Timestamp> {
        policies.iter().filter_map(|policy| self.next(policy, now)).min()
    }
}

#[cfg(test)]
mod tests {
    use bygone_core::Schedule;
    use jiff::tz::TimeZone;

    use super::*;

    fn card(name: &str, cron: &str) -> PolicyCard {
        let schedule = Some(Schedule::cron(cron, TimeZone::UTC).unwrap());
        PolicyCard { schedule, ..PolicyCard::new(name, "s") }
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_policy_is_due_when_its_time_has_come_and_then_no_more() {
        let hourly = card("p", "0 * * * *");
        let mut timetable = Timetable::default();
        assert_eq!(timetable.take_due(&[&hourly], at("2026-11-18T00:59:59Z")), [""; 0], "nothing is due at the start");
        assert_eq!(timetable.first(&[&hourly], at("2026-11-18T00:59:59Z")), Some(at("2026-11-18T01:00:00Z")));
        assert_eq!(timetable.take_due(&[&hourly], at("2026-11-18T01:00:00Z")), ["p"]);
        assert_eq!(timetable.take_due(&[&hourly], at("2026-11-18T01:00:00.001Z")), [""; 0]);
    }

    #[test]
    fn who_slept_through_a_day_runs_once() {
        let (hourly, quarterly) = (card("h", "0 * * * *"), card("q", "*/15 * * * *"));
        let mut timetable = Timetable::default();
        timetable.take_due(&[&hourly, &quarterly], at("2026-11-18T00:30:00Z"));
        assert_eq!(timetable.take_due(&[&hourly, &quarterly], at("2026-11-19T00:30:00Z")), ["h", "q"]);
        assert_eq!(timetable.take_due(&[&hourly, &quarterly], at("2026-11-19T00:30:01Z")), [""; 0]);
    }

    #[test]
    fn a_clock_that_is_set_back_silences_nobody() {
        let hourly = card("p", "0 * * * *");
        let mut timetable = Timetable::default();
        timetable.take_due(&[&hourly], at("2030-01-01T00:00:00Z"));
        assert_eq!(timetable.take_due(&[&hourly], at("2026-11-18T00:10:00Z")), [""; 0]);
        assert_eq!(timetable.first(&[&hourly], at("2026-11-18T00:10:00Z")), Some(at("2026-11-18T01:00:00Z")));
        assert_eq!(timetable.take_due(&[&hourly], at("2026-11-18T01:00:00Z")), ["p"]);
    }

    #[test]
    fn what_was_missed_before_the_start_is_made_up_for_once() {
        let hourly = card("p", "0 * * * *");
        let mut timetable = Timetable::default();
        timetable.see("p", at("2026-11-17T22:00:00Z"));
        assert_eq!(timetable.take_due(&[&hourly], at("2026-11-18T00:30:00Z")), ["p"]);
        assert_eq!(timetable.take_due(&[&hourly], at("2026-11-18T00:59:00Z")), [""; 0]);
    }
}
