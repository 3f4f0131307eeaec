//! The hours in which a run may be.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;

/// A part of each day, in the local time of a zone: from its beginning on, up to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    from: Time,
    until: Time,
    zone: TimeZone,
}

impl Window {
    /// From one time to another; over midnight where the end comes before the beginning. `None` where both are the same:
    /// that could mean all of the day or nothing of it.
    pub fn new(from: Time, until: Time, zone: TimeZone) -> Option<Self> {
        (from != until).then_some(Self { from, until, zone })
    }

    /// Whether a moment lies in it.
    pub fn contains(&self, at: Timestamp) -> bool {
        let time = at.to_zoned(self.zone.clone()).time();
        if self.from < self.until {
            self.from <= time && time < self.until
        } else {
            self.from <= time || time < self.until
        }
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zone = self.zone.iana_name().unwrap_or("UTC");
        write!(f, "{}-{} {zone}", self.from.strftime("%H:%M"), self.until.strftime("%H:%M"))
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::time;

    use super::*;

    fn window(from: Time, until: Time) -> Window {
        Window::new(from, until, TimeZone::get("Europe/Stockholm").unwrap()).unwrap()
    }

    fn contains(window: &Window, at: &str) -> bool {
        window.contains(at.parse().unwrap())
    }

    #[test]
    fn a_window_over_midnight_has_two_ends_of_the_day() {
        let night = window(time(22, 0, 0, 0), time(5, 0, 0, 0));
        // Stockholm is an hour ahead in winter.
        assert!(!contains(&night, "2026-11-18T20:59:59.999Z"));
        assert!(contains(&night, "2026-11-18T21:00:00Z"));
        assert!(contains(&night, "2026-11-19T03:59:59.999Z"));
        assert!(!contains(&night, "2026-11-19T04:00:00Z"));
        assert_eq!(night.to_string(), "22:00-05:00 Europe/Stockholm");
    }

    #[test]
    fn a_window_within_a_day_follows_the_clocks_of_its_zone() {
        let noon = window(time(12, 0, 0, 0), time(13, 30, 0, 0));
        assert!(contains(&noon, "2026-11-18T11:00:00Z") && !contains(&noon, "2026-11-18T12:30:00Z"));
        // Two hours ahead in summer.
        assert!(contains(&noon, "2026-07-18T10:00:00Z") && !contains(&noon, "2026-07-18T11:30:00Z"));
    }

    #[test]
    fn an_empty_window_is_none() {
        assert_eq!(Window::new(time(5, 0, 0, 0), time(5, 0, 0, 0), TimeZone::UTC), None);
    }
}
