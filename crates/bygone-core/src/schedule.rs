//! When a policy's runs come.
//!
//! An activation follows from the time alone, never from the one before: a daemon that crashed, slept or was told of other
//! policies finds the same next run as one that never stopped, and two daemons find the same one. What passed while nobody
//! looked is passed; there is nothing to catch up with one by one.

use std::fmt;
use std::time::Duration;

use croner::Cron;
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// When a policy runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    rhythm: Rhythm,
    jitter: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rhythm {
    Cron { cron: Box<Cron>, zone: TimeZone },
    Every(Duration),
}

/// A schedule that cannot be kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// The text has too few parts, or too many.
    #[error("{0} fields")]
    Fields(usize),
    /// The text is no cron pattern.
    #[error("{0}")]
    Pattern(String),
    /// It has no activation: the thirtieth of February.
    #[error("no time ever matches it")]
    Never,
    /// An interval of nothing, or one too long to count with.
    #[error("an interval must be at least a millisecond, and at most a thousand years")]
    Interval,
}

/// Longer than any retention.
const INTERVAL_MAX: Duration = Duration::from_secs(1_000 * 366 * 24 * 3_600);

impl Schedule {
    /// By a cron pattern of five fields, or six with seconds first, in the local time of a zone.
    ///
    /// Where clocks are set forward, a time that is left out comes at the end of the gap. Where they are set back, a time
    /// that comes twice is taken once, and a rhythm (`*/5`) goes on through both hours.
    pub fn cron(pattern: &str, zone: TimeZone) -> Result<Self, ScheduleError> {
        let fields = pattern.split_whitespace().count();
        if !matches!(fields, 5 | 6) {
            return Err(ScheduleError::Fields(fields));
        }
        let parser = CronParser::builder().seconds(Seconds::Optional).build();
        let cron = parser.parse(pattern).map_err(|error| ScheduleError::Pattern(meaning(&error)))?;
        let schedule = Self { rhythm: Rhythm::Cron { cron: Box::new(cron), zone }, jitter: Duration::ZERO };
        // Any moment will do: what has no activation after this one has none at all.
        schedule.activation_after(Timestamp::UNIX_EPOCH, "").ok_or(ScheduleError::Never)?;
        Ok(schedule)
    }

    /// Again and again, so far apart.
    pub fn every(interval: Duration) -> Result<Self, ScheduleError> {
        if interval < Duration::from_millis(1) || interval > INTERVAL_MAX {
            return Err(ScheduleError::Interval);
        }
        Ok(Self { rhythm: Rhythm::Every(interval), jitter: Duration::ZERO })
    }

    /// Puts each run off by up to so much, always the same for the same policy and activation.
    #[must_use]
    pub fn with_jitter(mut self, jitter: Duration) -> Self {
        self.jitter = jitter;
        self
    }

    /// The first run of a policy after a moment; `None` when there is none before the end of time.
    pub fn next_after(&self, after: Timestamp, policy: &str) -> Option<Timestamp> {
        // An activation before that moment may have been put off to after it.
        let mut activation = self.activation_after(after.checked_sub(signed(self.jitter)).ok()?, policy)?;
        loop {
            let run = activation.checked_add(signed(self.put_off(activation, policy))).ok()?;
            if run > after {
                return Some(run);
            }
            activation = self.activation_after(activation, policy)?;
        }
    }

    /// The time between two runs from a moment on, for those who want to know when one is overdue.
    pub fn interval_at(&self, at: Timestamp, policy: &str) -> Option<Duration> {
        let first = self.activation_after(at, policy)?;
        let second = self.activation_after(first, policy)?;
        Duration::try_from(second.duration_since(first)).ok()
    }

    fn activation_after(&self, after: Timestamp, policy: &str) -> Option<Timestamp> {
        match &self.rhythm {
            Rhythm::Cron { cron, zone } => {
                let next = cron.find_next_occurrence(&after.to_zoned(zone.clone()), false).ok()?;
                Some(next.timestamp())
            }
            Rhythm::Every(interval) => {
                // Policies of one interval do not all begin at once: each has its own place in it.
                let interval = i128::try_from(interval.as_nanos()).ok()?;
                let phase = i128::from(spread(policy, 0)) % interval;
                let passed = (after.as_nanosecond() - phase).div_euclid(interval);
                Timestamp::from_nanosecond((passed + 1) * interval + phase).ok()
            }
        }
    }

    fn put_off(&self, activation: Timestamp, policy: &str) -> Duration {
        let most = u64::try_from(self.jitter.as_nanos()).unwrap_or(u64::MAX);
        let part = spread(policy, activation.as_second()).checked_rem(most).unwrap_or(0);
        Duration::from_nanos(part)
    }
}

/// As the configuration says it: a pattern with its zone, or an interval.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rhythm {
            Rhythm::Cron { cron, zone } => {
                write!(f, "{} {}", cron.as_str(), zone.iana_name().unwrap_or("UTC"))?;
            }
            Rhythm::Every(interval) => write!(f, "every {:#}", signed(*interval))?,
        }
        if self.jitter > Duration::ZERO {
            write!(f, ", up to {:#} later", signed(self.jitter))?;
        }
        Ok(())
    }
}

/// A number that looks like chance and is always the same: FNV-1a, stirred.
fn spread(policy: &str, of: i64) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in policy.bytes().chain(of.to_le_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

fn signed(time: Duration) -> SignedDuration {
    SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX)
}

/// What is wrong, without the words of the library that found it.
fn meaning(error: &CronError) -> String {
    match error {
        CronError::InvalidPattern(message)
        | CronError::IllegalCharacters(message)
        | CronError::ComponentError(message) => message.replace("CronPattern", "the pattern"),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn runs(schedule: &Schedule, from: &str, count: usize) -> Vec<String> {
        let mut after = at(from);
        let mut runs = Vec::new();
        for _ in 0..count {
            after = schedule.next_after(after, "p").unwrap();
            runs.push(after.to_string());
        }
        runs
    }

    fn stockholm(pattern: &str) -> Schedule {
        Schedule::cron(pattern, TimeZone::get("Europe/Stockholm").unwrap()).unwrap()
    }

    #[test]
    fn five_fields_are_minutes_and_six_are_seconds() {
        let minutes = Schedule::cron("5 */4 * * *", TimeZone::UTC).unwrap();
        assert_eq!(runs(&minutes, "2026-11-18T03:00:00Z", 2), ["2026-11-18T04:05:00Z", "2026-11-18T08:05:00Z"]);
        let seconds = Schedule::cron("30 5 */4 * * *", TimeZone::UTC).unwrap();
        assert_eq!(runs(&seconds, "2026-11-18T04:05:30Z", 1), ["2026-11-18T08:05:30Z"], "strictly after");
    }

    #[test]
    fn it_is_told_as_it_was_said() {
        let told = |schedule: Schedule| schedule.to_string();
        assert_eq!(told(Schedule::cron("5 */4 * * *", TimeZone::UTC).unwrap()), "5 */4 * * * UTC");
        assert_eq!(told(stockholm("0 30 2 * * *")), "0 30 2 * * * Europe/Stockholm");
        let hourly = Schedule::every(Duration::from_secs(5_400)).unwrap();
        assert_eq!(told(hourly.with_jitter(Duration::from_secs(90))), "every 1h 30m, up to 1m 30s later");
    }

    #[test]
    fn what_is_no_schedule_is_refused_with_a_reason() {
        for pattern in ["", "* * *", "61 * * * *", "* * * * * * * *", "a b c d e", "0 0 0 30 2 *", "@reboot"] {
            let error = Schedule::cron(pattern, TimeZone::UTC).unwrap_err().to_string();
            assert!(!error.is_empty() && !error.contains("Cron"), "{pattern}: {error}");
        }
    }

    #[test]
    fn an_interval_is_from_a_millisecond_to_a_thousand_years() {
        let (least, most) = (Duration::from_millis(1), Duration::from_hours(24) * 366 * 1_000);
        let moment = Duration::from_nanos(1);
        for good in [least, most] {
            assert!(Schedule::every(good).is_ok(), "{good:?}");
        }
        for bad in [Duration::ZERO, least.saturating_sub(moment), most + moment, Duration::MAX] {
            assert!(Schedule::every(bad).is_err(), "{bad:?}");
        }
    }

    /// Two daemons of different versions over one database find the same time.
    #[test]
    fn a_policy_keeps_its_place_from_version_to_version() {
        let daily = Schedule::every(Duration::from_hours(24)).unwrap();
        let next = |schedule: &Schedule, policy| schedule.next_after(at("2026-11-18T00:00:00Z"), policy).unwrap();
        let places = ["expired-tokens", "finished-sessions", ""].map(|policy| next(&daily, policy).to_string());
        let expected =
            ["2026-11-18T17:17:59.038252761Z", "2026-11-18T22:36:37.575583761Z", "2026-11-18T22:57:50.739341123Z"];
        assert_eq!(places, expected);
        let nightly = Schedule::cron("0 3 * * *", TimeZone::UTC).unwrap().with_jitter(Duration::from_hours(1));
        let places = ["expired-tokens", "finished-sessions"].map(|policy| next(&nightly, policy).to_string());
        assert_eq!(places, ["2026-11-18T03:37:11.806354121Z", "2026-11-18T03:44:54.305711011Z"]);
    }

    /// 2026-03-29: at 02:00 it is 03:00.
    #[test]
    fn a_time_that_is_left_out_comes_at_the_end_of_the_gap() {
        let nightly = stockholm("0 30 2 * * *");
        let expected = ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"];
        assert_eq!(runs(&nightly, "2026-03-28T00:00:00Z", 3), expected);
    }

    /// 2026-10-25: at 03:00 it is 02:00 again.
    #[test]
    fn a_time_that_comes_twice_is_taken_once_and_a_rhythm_goes_on() {
        let nightly = stockholm("0 30 2 * * *");
        assert_eq!(runs(&nightly, "2026-10-24T22:00:00Z", 2), ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]);
        let steady = stockholm("0 */30 * * * *");
        let expected = [
            "2026-10-25T00:00:00Z",
            "2026-10-25T00:30:00Z",
            "2026-10-25T01:00:00Z",
            "2026-10-25T01:30:00Z",
            "2026-10-25T02:00:00Z",
        ];
        assert_eq!(runs(&steady, "2026-10-24T23:30:00Z", 5), expected);
    }

    #[test]
    fn policies_of_one_interval_each_have_a_place_in_it() {
        let hourly = Schedule::every(Duration::from_secs(3_600)).unwrap();
        let now = at("2026-11-18T12:00:00Z");
        let next: Vec<_> = ["a", "b", "c", "d"].map(|policy| hourly.next_after(now, policy).unwrap()).to_vec();
        assert!(next.iter().all(|run| *run > now && run.duration_since(now) <= SignedDuration::from_hours(1)));
        assert!(next.iter().enumerate().all(|(at, run)| !next[..at].contains(run)), "{next:?}");
        assert_eq!(hourly.interval_at(now, "a"), Some(Duration::from_secs(3_600)));
    }

    #[test]
    fn jitter_puts_off_and_is_the_same_every_time() {
        let plain = Schedule::cron("0 0 * * * *", TimeZone::UTC).unwrap();
        let jittered = plain.clone().with_jitter(Duration::from_secs(600));
        let mut after = at("2026-11-18T00:00:00Z");
        let mut offs = Vec::new();
        for _ in 0..100 {
            let run = jittered.next_after(after, "p").unwrap();
            assert_eq!(jittered.next_after(after, "p"), Some(run));
            let activation = plain.next_after(run - SignedDuration::from_mins(11), "p").unwrap().min(run);
            let off = run.duration_since(activation);
            assert!((SignedDuration::ZERO..SignedDuration::from_mins(10)).contains(&off), "{off}");
            offs.push(off);
            after = run;
        }
        offs.sort();
        offs.dedup();
        assert!(offs.len() > 90, "they differ from one activation to the next");
    }

    proptest! {
        /// Whoever asks at any moment between two runs is told of the same one: no crash and no step of the clock makes
        /// a run that would not have been, or takes one away.
        #[test]
        fn the_next_run_follows_from_the_time_alone(
            seconds in 0_i64..4_000_000_000, jitter in 0_u64..7_200, interval in 1_u64..100_000, between in 0.0..1.0_f64,
        ) {
            let after = Timestamp::from_second(seconds).unwrap();
            let every = Schedule::every(Duration::from_secs(interval)).unwrap();
            let cron = Schedule::cron("17 3,9 * * *", TimeZone::UTC).unwrap();
            for schedule in [every, cron].map(|schedule| schedule.with_jitter(Duration::from_secs(jitter))) {
                let next = schedule.next_after(after, "p").unwrap();
                prop_assert!(next > after);
                let later = after + next.duration_since(after).mul_f64(between * 0.999_999);
                prop_assert_eq!(schedule.next_after(later, "p"), Some(next));
            }
        }
    }
}
