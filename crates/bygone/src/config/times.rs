//! `schedule`, `every`, `jitter` and `window`: when the daemon runs a policy.

use std::time::Duration;

use bygone_core::{ScheduleError, Window};
use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use toml::Spanned;
use toml::de::DeValue;

use super::error::{Code, Findings, Problem};
use super::fields::{Read, Reader, read_elements, wrong_type};
use super::limits;
use super::model::Schedule;
use super::suggest::nearest;
use super::values::{Located, Text};

/// So many runs tell the shortest time between two of them: patterns of cron
/// come round sooner.
const RUNS_LOOKED_AT: usize = 64;

const WINDOW_HELP: &str = "write two times of day and, unless they are UTC, a zone: \"22:00-05:00 Europe/Stockholm\"; \
                           midnight is 00:00";

/// One window, or several.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Windows", untagged)]
pub(super) enum RawWindows {
    /// One window.
    One(#[schemars(length(min = 1))] Text),
    /// Several windows: any of them will do.
    Several(#[schemars(length(min = 1))] Located<Vec<Text>>),
}

impl Read for RawWindows {
    fn read(reader: &mut Reader<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Self> {
        match value.get_ref() {
            DeValue::String(_) => Text::read(reader, key, value).map(Self::One),
            DeValue::Array(elements) => {
                read_elements(reader, key, elements).map(|windows| Self::Several(Located::new(windows, value.span())))
            }
            other => {
                reader.report(value.span(), wrong_type(key, "a window or a list of windows", other, WINDOW_HELP));
                None
            }
        }
    }
}

/// The times at which runs begin.
pub(super) fn schedule(
    cron: Option<Text>,
    every: Option<Located<SignedDuration>>,
    findings: &mut Findings,
) -> Option<Schedule> {
    if let (Some(cron), Some(every)) = (&cron, &every) {
        let problem = Problem::new(Code::ConflictingKeys, "`schedule` and `every` exclude each other")
            .label("and an interval here")
            .help("keep one of them");
        findings.add_pair((cron.span, "a schedule here"), every.span, problem);
    }
    match cron {
        Some(cron) => cron_schedule(&cron, findings),
        None => limits::interval("every", every, findings).map(Schedule::Every),
    }
}

/// A pattern of cron, maybe with the name of a zone behind it.
fn cron_schedule(text: &Text, findings: &mut Findings) -> Option<Schedule> {
    let written = text.value.trim();
    let (head, last) = written.rsplit_once(char::is_whitespace).unwrap_or(("", written));
    let (pattern, zone) = match known_zone(last) {
        Some(zone) => (head.trim_end(), zone),
        None => (written, TimeZone::UTC),
    };
    let Err(error) = bygone_core::Schedule::cron(pattern, zone.clone()) else {
        return Some(Schedule::Cron { pattern: pattern.to_owned(), zone });
    };
    // What is a schedule but for a last word is one with a zone that nobody knows.
    if last.starts_with(char::is_alphabetic) && bygone_core::Schedule::cron(head, TimeZone::UTC).is_ok() {
        let start = text.value.trim_end().len() - last.len();
        findings.add(text.place_of(start..start + last.len()), unknown_zone("schedule", last));
        return None;
    }
    let message = match error {
        ScheduleError::Fields(_) => "`schedule` must have five fields, or six with seconds first",
        _ => "`schedule` is not a cron schedule",
    };
    let problem = Problem::new(Code::BadSchedule, message).label(error.to_string()).help(
        "\"0 5 */4 * * *\" is every four hours, five minutes past; a zone may follow, as in \
         \"0 30 2 * * * Europe/Stockholm\"; or write `every = \"4h\"`",
    );
    findings.add(text.span, problem);
    None
}

/// How far runs are put off, at most.
pub(super) fn jitter(
    raw: Option<Located<SignedDuration>>,
    schedule: Option<&Schedule>,
    findings: &mut Findings,
) -> SignedDuration {
    let Some(Located { value, span }) = raw else {
        return SignedDuration::ZERO;
    };
    let shortest = schedule.and_then(|schedule| shortest_interval(&schedule.timed().ok()?));
    if let Some(shortest) = shortest
        && Duration::try_from(value).is_ok_and(|jitter| jitter >= shortest)
    {
        let shortest = SignedDuration::try_from(shortest).unwrap_or(SignedDuration::MAX);
        let problem = Problem::new(Code::BadValue, "`jitter` must be shorter than the time between two runs")
            .label(format!("two runs may be {shortest:#} apart"))
            .help("write a shorter time: a run that is put off must not come after the next one");
        findings.add(span, problem);
    }
    value
}

fn shortest_interval(schedule: &bygone_core::Schedule) -> Option<Duration> {
    let mut at = Timestamp::UNIX_EPOCH;
    let mut shortest = None;
    for _ in 0..RUNS_LOOKED_AT {
        let Some(interval) = schedule.interval_at(at, "") else { break };
        shortest = Some(shortest.map_or(interval, |shortest: Duration| shortest.min(interval)));
        let Some(next) = schedule.next_after(at, "") else { break };
        at = next;
    }
    shortest
}

/// The hours in which runs may be; without any, always.
pub(super) fn windows(raw: Option<RawWindows>, findings: &mut Findings) -> Vec<Window> {
    let texts = match raw {
        None => return Vec::new(),
        Some(RawWindows::One(text)) => vec![text],
        Some(RawWindows::Several(list)) if list.value.is_empty() => {
            findings.add(list.span, bad_window("`window` names no window", "empty"));
            return Vec::new();
        }
        Some(RawWindows::Several(list)) => list.value,
    };
    texts.iter().filter_map(|text| window(text, findings)).collect()
}

fn window(text: &Text, findings: &mut Findings) -> Option<Window> {
    let written = text.value.trim();
    let (hours, zone) = written.split_once(char::is_whitespace).unwrap_or((written, "UTC"));
    let zone = zone.trim_start();
    let Some((from, until)) = hours.split_once('-').and_then(|(from, until)| Some((time(from)?, time(until)?))) else {
        findings.add(text.span, bad_window("`window` is not a part of the day", "not such a window"));
        return None;
    };
    let Some(known) = known_zone(zone) else {
        let start = text.value.trim_end().len() - zone.len();
        findings.add(text.place_of(start..start + zone.len()), unknown_zone("window", zone));
        return None;
    };
    let window = Window::new(from, until, known);
    if window.is_none() {
        let problem = Problem::new(Code::BadWindow, "`window` ends when it begins")
            .label("all of the day, or nothing of it")
            .help("leave `window` out to run at any time; or write two different times");
        findings.add(text.span, problem);
    }
    window
}

/// `22:00`, with all of its digits.
fn time(text: &str) -> Option<Time> {
    Time::strptime("%H:%M", text).ok().filter(|_| text.len() == "22:00".len())
}

fn bad_window(message: &str, label: &str) -> Problem {
    Problem::new(Code::BadWindow, message).label(label).help(WINDOW_HELP)
}

/// The zone of that name in the IANA database.
fn known_zone(name: &str) -> Option<TimeZone> {
    TimeZone::get(name).ok().filter(|zone| zone.iana_name().is_some())
}

/// Takes the name of a zone, in its own spelling: databases are stricter about
/// case.
pub(super) fn iana_zone(text: &Text, findings: &mut Findings) -> Option<String> {
    let zone = known_zone(&text.value);
    if zone.is_none() {
        findings.add(text.span, unknown_zone("zone", &text.value));
    }
    zone?.iana_name().map(str::to_owned)
}

fn unknown_zone(key: &str, name: &str) -> Problem {
    let known: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
    let label = match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {near:?}?"),
        None => "not known".to_owned(),
    };
    let help = if known.is_empty() {
        "this machine has no time zone database: install tzdata, or use \"UTC\""
    } else {
        "write a name of the IANA time zone database, such as \"Europe/Berlin\" or \"UTC\""
    };
    let message = match key {
        "zone" => "`zone` is not the name of a time zone".to_owned(),
        key => format!("`{key}` ends in something that is not the name of a time zone"),
    };
    Problem::new(Code::BadZone, message).label(label).help(help)
}
