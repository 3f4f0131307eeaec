//! Timestamps without a zone, read in a zone, never early.
//!
//! Twice a year a local time happens twice or not at all. A row that says 02:30 in such an hour is taken to mean
//! the *later* of the instants it could mean. So that an index still serves, the comparison is not made row by
//! row: the cutoff is turned into a local time before which every reading of every local time lies before it.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};

/// The latest instant that a local time can mean. The last days of the year 9999, which people write for "never", lie
/// beyond the last instant that there is, and mean that one.
pub(crate) fn latest_instant(local: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    let known = zone.to_ambiguous_zoned(local).later().ok().map(|zoned| zoned.timestamp());
    known.or_else(|| (local.year() == 9999).then_some(Timestamp::MAX))
}

/// The local time `cut` such that each local time before it means an instant before `cutoff`, however it is read.
pub(crate) fn local_cut(cutoff: Timestamp, zone: &TimeZone) -> DateTime {
    let mut offset = zone.to_offset(cutoff);
    // A change of offset matters as far from itself as it is large: an hour before and after, for summer time.
    let day = SignedDuration::from_hours(26);
    let from = cutoff.checked_sub(day).unwrap_or(Timestamp::MIN);
    for change in zone.following(from).take_while(|change| change.timestamp().duration_since(cutoff) <= day) {
        let at = change.timestamp();
        // Changes are at whole seconds, and before 1970 a part of one counts as the next.
        let before = at.checked_sub(1.second()).map_or(offset, |moment| zone.to_offset(moment));
        let size = change.offset().duration_until(before).abs();
        if at.duration_since(cutoff).abs() <= size {
            offset = offset.min(before).min(change.offset());
        }
    }
    offset.to_datetime(cutoff)
}

/// The date before which every whole day is over by `cutoff`. A date is a deadline that lasts through its day: it
/// is passed when the next day has begun, strictly.
pub(crate) fn date_cut(cutoff: Timestamp, zone: &TimeZone) -> Option<Date> {
    let cut = local_cut(cutoff, zone);
    if cut.time() > Time::midnight() { Some(cut.date()) } else { cut.date().yesterday().ok() }
}

/// The deadline of a date: the beginning of the next day.
pub(crate) fn end_of_day(date: Date, zone: &TimeZone) -> Option<Timestamp> {
    date.tomorrow().map_or(Some(Timestamp::MAX), |next| latest_instant(next.to_datetime(Time::midnight()), zone))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn zone(name: &str) -> TimeZone {
        TimeZone::get(name).unwrap()
    }

    fn cut(cutoff: &str, name: &str) -> String {
        local_cut(cutoff.parse().unwrap(), &zone(name)).to_string()
    }

    #[test]
    fn plain_days_are_exact() {
        assert_eq!(cut("2026-06-15T12:00:00Z", "UTC"), "2026-06-15T12:00:00");
        assert_eq!(cut("2026-06-15T12:00:00Z", "Europe/Stockholm"), "2026-06-15T14:00:00");
        assert_eq!(cut("2026-12-15T12:00:00Z", "Europe/Stockholm"), "2026-12-15T13:00:00");
        assert_eq!(cut("2026-10-25T03:00:00Z", "Europe/Stockholm"), "2026-10-25T04:00:00");
    }

    #[test]
    fn the_doubled_hour_means_its_second_pass() {
        // Clocks go from 03:00 back to 02:00 at 01:00 UTC. In the first pass nothing of that hour is over yet.
        assert_eq!(cut("2026-10-25T00:30:00Z", "Europe/Stockholm"), "2026-10-25T01:30:00");
        assert_eq!(cut("2026-10-25T01:30:00Z", "Europe/Stockholm"), "2026-10-25T02:30:00");
    }

    /// At local midnight clocks went from 16 minutes and 8 seconds behind to UTC.
    #[test]
    fn a_change_before_1970_counts_too() {
        assert_eq!(cut("1912-01-01T00:16:08Z", "Africa/Abidjan"), "1912-01-01T00:00:00");
    }

    #[test]
    fn a_date_lasts_through_its_day() {
        let date = |cutoff: &str, name: &str| date_cut(cutoff.parse().unwrap(), &zone(name)).unwrap().to_string();
        assert_eq!(date("2026-11-15T00:00:00Z", "UTC"), "2026-11-14", "the 14th ends on the boundary: kept");
        assert_eq!(date("2026-11-15T00:00:00.000001Z", "UTC"), "2026-11-15", "the 14th is over");
        assert_eq!(date("2026-11-14T23:30:00Z", "Europe/Stockholm"), "2026-11-15");
    }

    proptest! {
        /// Never early, and never late by more than the change itself, at any minute of forty years in zones with
        /// summer time, odd offsets and days that were skipped whole; half of the time close to a change.
        #[test]
        fn no_local_time_before_the_cut_is_alive(
            minute in 0i64..(40 * 366 * 24 * 60),
            back_minutes in 0i64..(60 * 24 * 3),
            near in prop::option::of(-180i64..180),
            name in prop::sample::select(vec![
                "UTC", "Europe/Stockholm", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu",
                "Pacific/Apia", "America/Sao_Paulo",
            ]),
        ) {
            let zone = zone(name);
            let anywhere = Timestamp::from_second(946_684_800 + minute * 60).unwrap();
            let close = near.and_then(|minutes| Some(zone.following(anywhere).next()?.timestamp() + minutes.minutes()));
            let cutoff = close.unwrap_or(anywhere);
            // The hours before the cut are where a change matters.
            let back_minutes = if near.is_some() { back_minutes % 180 } else { back_minutes };
            let cut = local_cut(cutoff, &zone);
            let local = cut.checked_sub(back_minutes.minutes()).unwrap();
            if back_minutes > 0 {
                prop_assert!(latest_instant(local, &zone).unwrap() < cutoff, "{local} at {cutoff}");
            }
            let late = latest_instant(cut, &zone).unwrap().duration_since(cutoff);
            prop_assert!(late >= SignedDuration::ZERO || late.abs() <= SignedDuration::from_hours(24), "{late}");
        }
    }
}
