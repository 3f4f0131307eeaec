//! Schedules and windows from texts that nobody would write, and at moments at which nobody looks.
//!
//! `./fuzz` goes on for longer with the same.

use std::collections::BTreeSet;
use std::time::Duration;

use bolero::TypeGenerator;
use bygone_core::{Schedule, Window};
use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

const ZONES: [&str; 8] = [
    "UTC",
    "Europe/Stockholm",
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Asia/Kathmandu",
    "Africa/Casablanca",
    "Antarctica/Troll",
];

/// What stands in patterns, and what somebody might think stands there.
const WORDS: [&str; 40] = [
    "*",
    "*",
    "*",
    "*",
    "*/5",
    "*/0",
    "*/61",
    "0",
    "1",
    "2",
    "5",
    "23",
    "24",
    "29",
    "30",
    "31",
    "59",
    "60",
    "1-5",
    "5-1",
    "22-4",
    "0-59/7",
    "1,2,3",
    "1,",
    ",",
    "L",
    "LW",
    "15W",
    "31W",
    "5#5",
    "5L",
    "FRI#6",
    "JAN",
    "FEB",
    "feb-mar",
    "SUN",
    "MON-FRI",
    "?",
    "-1",
    "99999999999999999999",
];

/// Any moment of four centuries, most of them within ours.
#[derive(Clone, Copy, Debug, TypeGenerator)]
struct When {
    #[generator(-6_857_222_400_000i64..7_258_118_400_000)]
    millis: i64,
    is_ours: bool,
}

impl When {
    fn at(self) -> Timestamp {
        let millis = if self.is_ours { self.millis.rem_euclid(3_000_000_000_000) } else { self.millis };
        Timestamp::from_millisecond(millis).unwrap()
    }
}

#[derive(Clone, Debug, TypeGenerator)]
struct Said {
    #[generator(bolero::generator::produce::<Vec<(u8, Option<char>)>>().with().len(4usize..8))]
    fields: Vec<(u8, Option<char>)>,
    zone: u8,
    jitter_millis: u16,
    when: When,
}

impl Said {
    fn pattern(&self) -> String {
        let field = |(word, odd): &(u8, Option<char>)| match odd {
            Some(odd) if word % 16 == 0 => odd.to_string(),
            _ => WORDS[usize::from(*word) % WORDS.len()].to_owned(),
        };
        self.fields.iter().map(field).collect::<Vec<_>>().join(" ")
    }

    fn zone(&self) -> TimeZone {
        TimeZone::get(ZONES[usize::from(self.zone) % ZONES.len()]).unwrap()
    }
}

/// What a pattern is taken for comes strictly after the moment it is asked at, on and on, and is told as it was said.
#[test]
fn whatever_is_a_pattern_has_its_next_run_strictly_later() {
    bolero::check!().with_iterations(4_000).with_test_time(Duration::from_secs(5)).with_type::<Said>().for_each(
        |said| {
            let (pattern, zone) = (said.pattern(), said.zone());
            let Ok(schedule) = Schedule::cron(&pattern, zone.clone()) else { return };
            let told = schedule.to_string();
            let (again, named) = told.rsplit_once(' ').unwrap();
            assert_eq!(
                Schedule::cron(again, TimeZone::get(named).unwrap()).unwrap(),
                schedule,
                "{pattern:?} told as {told:?}"
            );
            let schedule = schedule.with_jitter(Duration::from_millis(said.jitter_millis.into()));
            let mut after = said.when.at();
            for _ in 0..3 {
                let Some(next) = schedule.next_after(after, "p") else { break };
                assert!(next > after, "{pattern:?} in {zone:?}: {next} is not after {after}");
                assert_eq!(
                    schedule.next_after(after, "p"),
                    Some(next),
                    "{pattern:?}: another answer to the same question"
                );
                after = next;
            }
        },
    );
}

/// The numbers of a field, read without any code of bygone's or of its library; `None` for what is beyond plain lists.
fn numbers(field: &str, from: i8, to: i8) -> Option<BTreeSet<i8>> {
    let part = |part: &str| -> Option<Vec<i8>> {
        let (range, step) = part.split_once('/').unwrap_or((part, "1"));
        let step: usize = step.parse().ok().filter(|step| *step > 0)?;
        let (first, last) = match range.split_once('-') {
            _ if range == "*" => (from, to),
            Some((first, last)) => (first.parse().ok()?, last.parse().ok()?),
            // A step behind a single number means other things to others.
            None if part.contains('/') => return None,
            None => (range.parse().ok()?, range.parse().ok()?),
        };
        (from <= first && first <= last && last <= to).then(|| (first..=last).step_by(step).collect())
    };
    field.split(',').map(part).collect::<Option<Vec<_>>>().map(|parts| parts.into_iter().flatten().collect())
}

/// In UTC a plain pattern is a matter of counting: the next run is the first minute that has all the numbers.
#[test]
fn plain_patterns_run_at_the_first_minute_that_has_their_numbers() {
    bolero::check!().with_iterations(1_500).with_test_time(Duration::from_secs(5)).with_type::<Said>().for_each(
        |said| {
            let pattern = said.pattern();
            let fields: Vec<&str> = pattern.split(' ').collect();
            let [minute, hour, "*", "*", "*"] = fields[..] else { return };
            let (Some(minutes), Some(hours)) = (numbers(minute, 0, 59), numbers(hour, 0, 23)) else { return };
            let schedule = Schedule::cron(&pattern, TimeZone::UTC).unwrap_or_else(|e| panic!("{pattern:?}: {e}"));
            let after = said.when.at();
            let whole = after.as_second().div_euclid(60) * 60;
            let is_due = |second: &i64| {
                let at = Timestamp::from_second(*second).unwrap().to_zoned(TimeZone::UTC);
                minutes.contains(&at.minute()) && hours.contains(&at.hour())
            };
            let first = (1..=24 * 60).map(|minute| whole + minute * 60).find(is_due).unwrap();
            assert_eq!(
                schedule.next_after(after, "p").map(Timestamp::as_second),
                Some(first),
                "{pattern:?} after {after}"
            );
        },
    );
}

/// Lengths that nobody would choose: the run comes within one of them, and no two runs are closer.
#[test]
fn whatever_interval_is_taken_is_kept() {
    bolero::check!()
        .with_iterations(3_000)
        .with_test_time(Duration::from_secs(3))
        .with_type::<(u64, u16, When)>()
        .for_each(|(nanos, shift, when)| {
            let interval = Duration::from_nanos(nanos >> (shift % 48));
            let Ok(every) = Schedule::every(interval) else {
                return assert!(interval < Duration::from_millis(1), "{interval:?} is refused");
            };
            let (after, length) = (when.at(), SignedDuration::try_from(interval).unwrap());
            let Some(next) = every.next_after(after, "p") else { return };
            assert!(next > after && next.duration_since(after) <= length, "{next} after {after} by {length}");
            assert_eq!(every.next_after(next, "p").map(|second| second.duration_since(next)), Some(length));
        });
}

/// A window has the moments whose time of day lies in it, by the clock on the wall there, and says so as it is written.
#[test]
fn whatever_window_is_made_holds_what_the_clock_on_the_wall_says() {
    bolero::check!()
        .with_iterations(4_000)
        .with_test_time(Duration::from_secs(3))
        .with_type::<(u16, u16, u8, When)>()
        .for_each(|(from, until, zone, when)| {
            let name = ZONES[usize::from(*zone) % ZONES.len()];
            let (from, until) = (from % 1440, until % 1440);
            let time = |minute: u16| {
                let (hour, minute) = (i8::try_from(minute / 60).unwrap(), i8::try_from(minute % 60).unwrap());
                Time::new(hour, minute, 0, 0).unwrap()
            };
            let Some(window) = Window::new(time(from), time(until), TimeZone::get(name).unwrap()) else {
                return assert_eq!(from, until);
            };
            let wall = when.at().in_tz(name).unwrap();
            let minute = u16::try_from(wall.hour()).unwrap() * 60 + u16::try_from(wall.minute()).unwrap();
            // Minutes from the beginning on, around the clock.
            let is_within = (minute + 1440 - from) % 1440 < (until + 1440 - from) % 1440;
            assert_eq!(window.contains(when.at()), is_within, "{window} at {wall}");
            assert_eq!(
                window.to_string(),
                format!("{}-{} {name}", time(from).strftime("%H:%M"), time(until).strftime("%H:%M"))
            );
        });
}
