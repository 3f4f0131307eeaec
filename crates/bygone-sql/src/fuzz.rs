//! Deadlines that nobody would write: each is read as late as it can be meant, or not at all.
//!
//! What reads them here is held against `jiff`'s own parsers and SQLite's functions, and beside `guard/sqlite_text.rs` against
//! the expression by which guards read the same column. `./fuzz` goes on for longer with the same.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use bolero::TypeGenerator;
use bygone_testkit::{Damage, Picks};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};
use rusqlite::{Connection, OptionalExtension};
use uuid::Uuid;

use crate::local_time::{date_cut, latest_instant, local_cut};
use crate::{text_time, time_id};

/// What instants in text are made of.
const WORDS: &[&str] = &[
    " ",
    "T",
    "Z",
    "z",
    "t",
    ":",
    ".",
    "-",
    "+",
    "UTC",
    " UTC",
    "  UTC",
    " +0000 UTC",
    " +0200 UTC",
    " CET",
    "+02:00",
    "-0530",
    "+14",
    "+25:59",
    "-25:59",
    "+00:00",
    "-00:00",
    "+02:60",
    "00",
    "24",
    "23:59:59",
    "60",
    "999999999",
    "9999999999",
    "0000000001",
    "9999",
    "0000",
    "0001",
    "-02-30",
    "2026-02-29",
    "\0",
    "\u{2212}",
    "２",
    "e",
    "\t",
    "[Europe/Stockholm]",
    "m=+0.1",
];

const SEEDS: &[&str] = &[
    "2026-11-15",
    "2026-11-15 12:00",
    "2026-11-15 12:00:00",
    "2026-11-15T12:00:00Z",
    "2026-11-15 12:00:00.123456 UTC",
    "2026-11-15T12:00:00.123456789+02:00",
    "2026-11-15 12:00:00 +0000 UTC",
    "2026-03-29 02:30:00",
    "2026-10-25 02:30:00",
    "9999-12-31 23:59:59",
    "0001-01-01 00:00:00+14",
];

const ZONES: [&str; 6] =
    ["UTC", "Europe/Stockholm", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu"];

/// A text that is nearly an instant.
#[derive(Clone, Debug, TypeGenerator)]
pub(crate) enum Written {
    Damaged(Damage),
    Behind(u8, Picks),
}

impl Written {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Damaged(damage) => damage.text(SEEDS, WORDS),
            Self::Behind(seed, picks) => format!("{}{}", SEEDS[usize::from(*seed) % SEEDS.len()], picks.of(WORDS)),
        }
    }
}

/// The instant that `jiff` reads in a text, for which it may have another idea of what can be left out.
fn by_jiff(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let is_local = |text: &str| text.parse::<Timestamp>().is_err();
    if !is_local(text) {
        return text.parse().ok();
    }
    let local: DateTime =
        text.parse().ok().filter(|_| text.len() > "2026-11-15".len() && !text.contains(['+', '[']))?;
    zone.to_ambiguous_zoned(local).later().ok().map(|zoned| zoned.timestamp())
}

/// The instant that SQLite reads in a text, to the millisecond.
fn by_sqlite(connection: &Connection, text: &str) -> Option<i64> {
    let sql = "SELECT CAST(round((julianday(?1) - 2440587.5) * 86400000) AS INTEGER)";
    connection.query_row(sql, [text], |row| row.get(0)).optional().ok().flatten().flatten()
}

/// The last year means the last instant that there is, whatever its day.
pub(crate) fn end_of_time(text: &str) -> bool {
    text.starts_with("9999")
}

/// What a text says by itself does not depend on the zone that the policy names, and in no reader's eyes it is later than
/// where we read it.
#[test]
fn no_text_is_read_earlier_than_it_can_be_meant() {
    let sqlite = Connection::open_in_memory().unwrap();
    let zones = ZONES.map(|name| TimeZone::get(name).unwrap());
    let parts = AssertUnwindSafe((&sqlite, &zones));
    bolero::check!().with_iterations(8_000).with_test_time(Duration::from_secs(6)).with_type::<Written>().for_each(
        |written| {
            let (sqlite, zones) = *parts;
            let text = written.text();
            let read = zones.clone().map(|zone| text_time::parse(&text, &zone));
            let behind = text.get(10..).unwrap_or_default();
            let says_where = behind.contains(['Z', 'z', '+', '-']) || behind.contains("UTC");
            if says_where {
                assert!(read.iter().all(|at| *at == read[0]), "{text:?} is {read:?}, by the zone of its policy");
            }
            for (at, zone) in read.iter().zip(zones) {
                let Some(at) = at else { continue };
                if let Some(other) = by_jiff(&text, zone) {
                    assert_eq!(*at, other, "{text:?} in {zone:?}");
                }
            }
            let Some(at) = read[0].filter(|_| !end_of_time(&text)) else { return };
            if text.trim().ends_with("UTC") {
                let said = text.find(':').and_then(|colon| text.get(..colon + 3)).unwrap().replace(' ', "T");
                let floor: Timestamp = format!("{said}:00Z").parse().unwrap();
                assert!(at >= floor, "{text:?} says UTC, and is read as {at}");
            }
            if let Some(millis) = by_sqlite(sqlite, &text) {
                assert!(at.as_microsecond() > (millis - 1) * 1000, "{text:?} is {at}, and {millis} ms to SQLite");
            }
        },
    );
}

/// Identifiers, read once more by others: `uuid`, and arithmetic.
#[test]
fn no_identifier_is_read_as_another_time_than_it_carries() {
    const SEEDS: &[&str] = &[
        "017F22E2-79B0-7CC3-98C4-DC0C0C07398F",
        "01ARYZ6S41TSV4RRFFQ69G5FAV",
        "7zzzzzzzzzzzzzzzzzzzzzzzzz",
        "00000000-0000-7000-8000-000000000000",
    ];
    const PARTS: &[&str] =
        &["-", "0", "7", "8", "z", "Z", "i", "L", "O", "u", "{", "}", "urn:uuid:", "é", " ", "ffffffff"];
    bolero::check!().with_iterations(6_000).with_test_time(Duration::from_secs(3)).with_type::<Damage>().for_each(
        |damage| {
            let text = damage.text(SEEDS, PARTS);
            if let Some(bytes) = time_id::parse_uuid(&text) {
                let known = Uuid::try_parse(&text).unwrap();
                assert_eq!(known.as_bytes(), &bytes, "{text:?}");
                if time_id::is_uuid7(&bytes) {
                    let (seconds, nanos) = known.get_timestamp().unwrap().to_unix();
                    let millis = i64::try_from(seconds).unwrap() * 1000 + i64::from(nanos / 1_000_000);
                    assert_eq!(time_id::millis(&bytes), Some(millis), "{text:?}");
                }
            }
            if let Some(bytes) = time_id::parse_ulid(&text) {
                let place = |c: char| "0123456789ABCDEFGHJKMNPQRSTVWXYZ".find(c.to_ascii_uppercase()).unwrap();
                let digit = |c: char| i64::try_from(place(c)).unwrap();
                let millis = text.chars().take(10).fold(0_i64, |sum, c| sum * 32 + digit(c));
                assert_eq!(time_id::millis(&bytes), Some(millis), "{text:?}");
            }
        },
    );
}

/// In every zone there is, at any moment of three centuries: what stands before the cut is over, however it is read, and so
/// is every day before its date.
#[test]
fn before_the_cut_everything_is_over_in_every_zone() {
    let zones: Vec<TimeZone> = jiff::tz::db().available().map(|name| TimeZone::get(name.as_str()).unwrap()).collect();
    assert!(zones.len() > 300, "this machine has a time zone database");
    let zones = AssertUnwindSafe(&zones);
    bolero::check!()
        .with_iterations(6_000)
        .with_test_time(Duration::from_secs(5))
        .with_type::<(u16, i64, i16, u16, bool)>()
        .for_each(|(zone, second, near, back, is_close)| {
            let zone = &zones[usize::from(*zone) % zones.len()];
            let anywhere = Timestamp::from_second(second.rem_euclid(9_467_000_000) - 5_364_662_400).unwrap();
            let change = zone.following(anywhere).next().map(|change| change.timestamp());
            let cutoff = change.filter(|_| *is_close).map_or(anywhere, |at| at + i64::from(*near % 1600).minutes());
            let cut = local_cut(cutoff, zone);
            for back in [1_i64, i64::from(back % 90) * 1_000_000_000, i64::from(*back) * 1_000_000_000] {
                let local = cut.checked_sub(SignedDuration::from_nanos(back.max(1))).unwrap();
                let latest = latest_instant(local, zone).unwrap();
                assert!(latest < cutoff, "{local} in {zone:?} may mean {latest}, which is not before {cutoff}");
            }
            let date = date_cut(cutoff, zone).unwrap();
            let over = latest_instant(date.to_datetime(jiff::civil::Time::midnight()), zone).unwrap();
            assert!(over < cutoff, "the day before {date} in {zone:?} ends at {over}, which is not before {cutoff}");
        });
}
