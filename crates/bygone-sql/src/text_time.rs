//! Instants in text, as SQLite's users write them.
//!
//! SQLite has no type for time. `CURRENT_TIMESTAMP`, Python, Go, Rails and JavaScript each leave a slightly other
//! text. The reader is strict: what it does not know is unreadable, and such a row is kept.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

use crate::local_time::{end_of_day, latest_instant};

/// What may stand before ` UTC`.
pub(crate) const ZERO_OFFSETS: [&str; 6] = ["+0000", "+00:00", "+00", "-0000", "-00:00", "-00"];

/// Reads `YYYY-MM-DD`, or that with `HH:MM[:SS[.fraction]]` behind a space or `T`, and then nothing, `Z`, ` UTC`
/// or an offset `±HH[:MM]`. Without an offset it is in `zone`. A date alone lasts through its day.
pub(crate) fn parse(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let (date, rest) = parse_date(text)?;
    if rest.is_empty() {
        return end_of_day(date, zone);
    }
    let rest = rest.strip_prefix([' ', 'T'])?;
    let (time, nanos, rest) = parse_time(rest)?;
    let local = DateTime::from_parts(date, time);
    let instant = match parse_offset(rest)? {
        Some(offset_seconds) => {
            let utc = latest_instant(local, &TimeZone::UTC)?;
            utc.checked_sub(jiff::SignedDuration::from_secs(offset_seconds)).ok()?
        }
        None => latest_instant(local, zone)?,
    };
    Some(instant.checked_add(jiff::SignedDuration::from_nanos(nanos)).unwrap_or(Timestamp::MAX))
}

fn parse_date(text: &str) -> Option<(Date, &str)> {
    let (year, rest) = digits(text, 4)?;
    let (month, rest) = digits(rest.strip_prefix('-')?, 2)?;
    let (day, rest) = digits(rest.strip_prefix('-')?, 2)?;
    let date = Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()?;
    Some((date, rest))
}

/// The time in whole seconds, and the rest of it in nanoseconds.
fn parse_time(text: &str) -> Option<(Time, i64, &str)> {
    let (hour, rest) = digits(text, 2)?;
    let (minute, rest) = digits(rest.strip_prefix(':')?, 2)?;
    let (second, rest) = match rest.strip_prefix(':') {
        Some(rest) => digits(rest, 2)?,
        None => (0, rest),
    };
    let time = Time::new(hour.try_into().ok()?, minute.try_into().ok()?, second.try_into().ok()?, 0).ok()?;
    match rest.strip_prefix('.') {
        None => Some((time, 0, rest)),
        Some(rest) => {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let (fraction, rest) = rest.split_at(end);
            Some((time, nanoseconds(fraction)?, rest))
        }
    }
}

/// A fraction of a second. Digits beyond the ninth round up: the later instant is the safe one.
fn nanoseconds(fraction: &str) -> Option<i64> {
    if fraction.is_empty() {
        return None;
    }
    let (head, tail) = fraction.split_at(fraction.len().min(9));
    let nanos: i64 = format!("{head:0<9}").parse().ok()?;
    Some(nanos + i64::from(tail.bytes().any(|digit| digit != b'0')))
}

/// `Some(None)` for no offset at all; `None` for something that is not one.
#[expect(clippy::option_option, reason = "unreadable and absent are two things")]
fn parse_offset(text: &str) -> Option<Option<i64>> {
    let text = text.strip_prefix(' ').unwrap_or(text);
    // Go writes both: "+0000 UTC". Where they contradict each other it is read as neither.
    if let Some(offset) = text.strip_suffix(" UTC") {
        return ZERO_OFFSETS.contains(&offset).then_some(Some(0));
    }
    let sign = match text.as_bytes().first() {
        None => return Some(None),
        Some(b'+') => 1,
        Some(b'-') => -1,
        Some(_) => return matches!(text, "Z" | "z" | "UTC").then_some(Some(0)),
    };
    let (hours, rest) = digits(&text[1..], 2)?;
    let (minutes, rest) = match rest.strip_prefix(':').unwrap_or(rest) {
        "" => (0, ""),
        rest => digits(rest, 2)?,
    };
    (rest.is_empty() && hours <= 25 && minutes < 60).then_some(Some(sign * (hours * 3600 + minutes * 60)))
}

fn digits(text: &str, count: usize) -> Option<(i64, &str)> {
    let head = text.get(..count)?;
    let tail = text.get(count..)?;
    head.bytes().all(|b| b.is_ascii_digit()).then_some(())?;
    Some((head.parse().ok()?, tail))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Option<String> {
        parse(text, &TimeZone::UTC).map(|at| at.to_string())
    }

    #[test]
    fn formats_that_users_have() {
        for (text, expected) in [
            ("2026-11-15 12:00:00", "2026-11-15T12:00:00Z"),
            ("2026-11-15T12:00:00", "2026-11-15T12:00:00Z"),
            ("2026-11-15 12:00", "2026-11-15T12:00:00Z"),
            ("2026-11-15 12:00:00.5", "2026-11-15T12:00:00.5Z"),
            ("2026-11-15 12:00:00.123456", "2026-11-15T12:00:00.123456Z"),
            ("2026-11-15T12:00:00.123456789Z", "2026-11-15T12:00:00.123456789Z"),
            ("2026-11-15T12:00:00.1234567891Z", "2026-11-15T12:00:00.12345679Z"),
            ("2026-11-15T12:00:00.999999999999Z", "2026-11-15T12:00:01Z"),
            ("2026-11-15T12:00:00Z", "2026-11-15T12:00:00Z"),
            ("2026-11-15 12:00:00 UTC", "2026-11-15T12:00:00Z"),
            ("2026-11-15 12:00:00+02:00", "2026-11-15T10:00:00Z"),
            ("2026-11-15 12:00:00-0530", "2026-11-15T17:30:00Z"),
            ("2026-11-15 12:00:00+02", "2026-11-15T10:00:00Z"),
            ("2026-11-15 12:00:00 +0000 UTC", "2026-11-15T12:00:00Z"),
            ("2026-11-15", "2026-11-16T00:00:00Z"),
            ("9999-12-31 23:59:59.999999", "9999-12-30T22:00:00.999999999Z"),
            ("9999-12-31", "9999-12-30T22:00:00.999999999Z"),
        ] {
            assert_eq!(read(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn everything_else_is_unreadable() {
        for text in [
            "",
            " ",
            "never",
            "0",
            "2026",
            "2026-11",
            "2026-13-01",
            "2026-02-30",
            "2026-11-15 25:00:00",
            "2026-11-15 12:60:00",
            "2026-11-15 12:00:61",
            "2026-11-15 12",
            "2026-11-15 12:00:00.",
            "15.11.2026",
            "2026-11-15 12:00:00 CET",
            "2026-11-15 12:00:00+",
            "2026-11-15 12:00:00+99:00",
            "2026-11-15 12:00:00Zx",
            " 2026-11-15",
            "2026-11-15 ",
            "２０２６-11-15",
            "+002026-11-15",
            "2026-11-15 12:00:00+02:00:00",
            "2026-11-15 12:00:00  UTC",
            "2026-11-15 12:00:00 +0200 UTC",
            "2026-11-15 12:00:00Z UTC",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn utc_is_utc_whatever_the_zone_of_the_policy() {
        let stockholm = TimeZone::get("Europe/Stockholm").unwrap();
        for text in ["2026-11-15 12:00:00 UTC", "2026-11-15 12:00:00 +0000 UTC", "2026-11-15 12:00:00-00 UTC"] {
            assert_eq!(
                parse(text, &stockholm).map(|at| at.to_string()).as_deref(),
                Some("2026-11-15T12:00:00Z"),
                "{text}"
            );
        }
        assert_eq!(parse("2026-11-15 12:00:00  UTC", &stockholm), None, "it is no local time");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}") {
            let _ = parse(&text, &TimeZone::UTC);
        }

        #[test]
        fn what_jiff_writes_is_read_back(second in -62_135_596_800i64..253_402_207_200, nanos in 0i32..1_000_000_000) {
            let at = Timestamp::new(second, nanos).unwrap_or(Timestamp::UNIX_EPOCH);
            prop_assert_eq!(parse(&at.to_string(), &TimeZone::UTC), Some(at));
        }
    }
}
