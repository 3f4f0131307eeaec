//! What a person should look at: a policy that does not get done, or does not do what it should.
//!
//! An alarm is a state and no event: it is there as long as its cause is, and nobody has to acknowledge it.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::lately::{RUNS_KEPT, Recent};
use crate::estate::PolicyCard;
use crate::ledger::{Run, Trouble};

/// When it is time to tell somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlarmRules {
    /// How many intervals may pass without a complete run.
    pub intervals: u32,
    /// Over how many runs something must grow, at most as many as are kept at hand.
    pub runs: u32,
}

impl AlarmRules {
    /// The most runs over which something can be seen to grow.
    pub const RUNS_MAX: u32 = RUNS_KEPT;
}

impl Default for AlarmRules {
    fn default() -> Self {
        Self { intervals: 3, runs: 5 }
    }
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AlarmKind {
    /// No run was complete for too long.
    NotCompleted,
    /// More is left behind with each run.
    BacklogGrowing,
    /// What is past its time stays for longer than it may.
    Lag,
    /// More is kept back with each run.
    KeptBackGrowing,
    /// Two clocks are too far apart.
    ClockSkew,
    /// The survey stands against the brake.
    Brake,
}

impl AlarmKind {
    /// All there are.
    pub const ALL: [Self; 6] =
        [Self::NotCompleted, Self::BacklogGrowing, Self::Lag, Self::KeptBackGrowing, Self::ClockSkew, Self::Brake];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotCompleted => "not_completed",
            Self::BacklogGrowing => "backlog_growing",
            Self::Lag => "lag",
            Self::KeptBackGrowing => "kept_back_growing",
            Self::ClockSkew => "clock_skew",
            Self::Brake => "brake",
        }
    }
}

/// Something that a person should look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Alarm {
    /// What is wrong.
    pub kind: AlarmKind,
    /// With which policy.
    pub policy: String,
    /// Since when, as far as the last runs tell.
    pub since: Timestamp,
    /// In words.
    pub message: String,
}

/// What is wrong with a policy that runs so often by itself, and is looked after since a moment.
pub(crate) fn alarms_of(
    card: &PolicyCard,
    interval: Option<Duration>,
    recent: &Recent,
    rules: AlarmRules,
    (watched_since, now): (Timestamp, Timestamp),
) -> Vec<Alarm> {
    let alarm = |(kind, since, message)| Alarm { kind, policy: card.name.clone(), since, message };
    let last = recent.runs.front();
    let found = [
        interval
            .and_then(|interval| not_completed(interval.max(card.interval_least), recent, rules, watched_since, now)),
        growing(recent, rules, |run| run.backlog).map(|(since, from, to)| {
            let message = format!("the backlog grew over the last {} runs, from {from} to {to} items", rules.runs);
            (AlarmKind::BacklogGrowing, since, message)
        }),
        last.and_then(|last| lagging(card, last)),
        growing(recent, rules, |run| Some(run.kept_back)).map(|(since, from, to)| {
            let message = format!("more was kept back with each of the last {} runs, from {from} to {to}", rules.runs);
            (AlarmKind::KeptBackGrowing, since, message)
        }),
        troubled(recent, Trouble::ClockSkew).map(|(since, why)| (AlarmKind::ClockSkew, since, why)),
        troubled(recent, Trouble::Brake).map(|(since, why)| (AlarmKind::Brake, since, why)),
    ];
    found.into_iter().flatten().map(alarm).collect()
}

type Found = (AlarmKind, Timestamp, String);

fn not_completed(
    interval: Duration,
    recent: &Recent,
    rules: AlarmRules,
    watched_since: Timestamp,
    now: Timestamp,
) -> Option<Found> {
    // One that was never complete counts from when somebody began to look: before, nobody could have run it.
    let first_seen = recent.runs.back().map_or(watched_since, |run| run.ended.min(watched_since));
    let since = recent.completed.unwrap_or(first_seen);
    let allowed = SignedDuration::try_from(interval.checked_mul(rules.intervals)?).ok()?;
    let late_since = since.checked_add(allowed).ok()?;
    if late_since >= now {
        return None;
    }
    let last = match recent.runs.front() {
        Some(Run { outcome, error: Some(error), .. }) => format!("; the last one ended as {outcome}: {error}"),
        Some(Run { outcome, .. }) => format!("; the last one ended as {outcome}"),
        None => "; it did not run".to_owned(),
    };
    let (count, interval) = (rules.intervals, rounded(interval));
    let message = match recent.completed {
        Some(_) => format!("no run was complete for over {count} times {interval:#}{last}"),
        None => format!("no run was ever complete, and {count} times {interval:#} have passed{last}"),
    };
    Some((AlarmKind::NotCompleted, late_since, message))
}

fn lagging(card: &PolicyCard, last: &Run) -> Option<Found> {
    let (most, lag) = (card.lag_max?, last.lag_seconds?);
    if lag <= most.as_secs() {
        return None;
    }
    let lag = SignedDuration::from_secs(i64::try_from(lag).unwrap_or(i64::MAX));
    let message = format!("the oldest item has been past its time for {lag:#}, over {:#}", rounded(most));
    Some((AlarmKind::Lag, last.ended, message))
}

/// Since when a number has grown with each run, and from what to what.
fn growing(recent: &Recent, rules: AlarmRules, number: impl Fn(&Run) -> Option<u64>) -> Option<(Timestamp, u64, u64)> {
    let count = usize::try_from(rules.runs).unwrap_or(usize::MAX);
    let lately: Vec<&Run> = recent.runs.iter().take(count).collect();
    let numbers: Vec<u64> = lately.iter().map(|run| number(run)).collect::<Option<_>>()?;
    let grows = numbers.len() == count && count > 1 && numbers.windows(2).all(|pair| pair[0] > pair[1]);
    let (newest, oldest) = (numbers.first()?, numbers.last()?);
    grows.then(|| (lately[count - 1].ended, *oldest, *newest))
}

/// Since when every run ended for the same reason, and what it was.
fn troubled(recent: &Recent, trouble: Trouble) -> Option<(Timestamp, String)> {
    let runs: Vec<&Run> = recent.runs.iter().take_while(|run| run.trouble == Some(trouble)).collect();
    let (newest, oldest) = (runs.first()?, runs.last()?);
    Some((oldest.ended, newest.error.clone().unwrap_or_default()))
}

fn rounded(length: Duration) -> SignedDuration {
    SignedDuration::from_secs(i64::try_from(length.as_secs()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use bygone_core::Schedule;
    use uuid::Uuid;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn hourly() -> PolicyCard {
        let mut card = PolicyCard::new("p", "s");
        card.schedule = Some(Schedule::every(Duration::from_secs(3600)).unwrap());
        card
    }

    fn run(hour: u32, outcome: &str, backlog: u64, kept_back: u64) -> Run {
        Run {
            sweep: Uuid::nil(),
            ended: at(&format!("2026-11-18T{hour:02}:00:00Z")),
            outcome: outcome.to_owned(),
            removed: 0,
            kept_back,
            lag_seconds: Some(backlog),
            backlog: Some(backlog),
            error: None,
            trouble: None,
        }
    }

    /// The runs come oldest first.
    fn recent(runs: Vec<Run>) -> Recent {
        let completed = runs.iter().filter(|run| run.outcome == "complete").map(|run| run.ended).max();
        Recent { runs: runs.into_iter().rev().collect(), completed }
    }

    fn kinds(card: &PolicyCard, recent: &Recent, now: &str) -> Vec<AlarmKind> {
        let watched_since = at("2026-11-18T00:00:00Z");
        let interval = card.schedule.as_ref().and_then(|schedule| schedule.interval_at(at(now), &card.name));
        let alarms = alarms_of(card, interval, recent, AlarmRules::default(), (watched_since, at(now)));
        alarms.into_iter().map(|alarm| alarm.kind).collect()
    }

    #[test]
    fn a_policy_that_is_not_completed_for_three_intervals_is_told_of_and_not_before() {
        let recent = recent(vec![run(1, "complete", 0, 0), run(2, "budget_items", 0, 0), run(3, "failed", 0, 0)]);
        assert_eq!(kinds(&hourly(), &recent, "2026-11-18T04:00:00Z"), []);
        assert_eq!(kinds(&hourly(), &recent, "2026-11-18T04:00:01Z"), [AlarmKind::NotCompleted]);
        let patient = PolicyCard { interval_least: Duration::from_secs(24 * 3600), ..hourly() };
        assert_eq!(kinds(&patient, &recent, "2026-11-18T04:00:01Z"), [], "it may run once a day only");
        assert_eq!(kinds(&PolicyCard::new("p", "s"), &recent, "2027-11-18T04:00:01Z"), [], "it never runs by itself");
    }

    #[test]
    fn one_that_never_ran_is_told_of_by_when_somebody_began_to_look() {
        assert_eq!(kinds(&hourly(), &Recent::default(), "2026-11-18T03:00:00Z"), []);
        assert_eq!(kinds(&hourly(), &Recent::default(), "2026-11-18T03:00:01Z"), [AlarmKind::NotCompleted]);
    }

    #[test]
    fn what_grows_with_each_of_five_runs_is_told_of() {
        let runs = |backlogs: &[u64]| {
            let each = |(hour, backlog): (u32, &u64)| run(hour, "complete", *backlog, 0);
            recent((0..).zip(backlogs).map(each).collect())
        };
        let now = "2026-11-18T06:00:00Z";
        assert_eq!(kinds(&hourly(), &runs(&[1, 2, 3, 4, 5]), now), [AlarmKind::BacklogGrowing]);
        assert_eq!(kinds(&hourly(), &runs(&[9, 1, 2, 3, 4, 5]), now), [AlarmKind::BacklogGrowing]);
        assert_eq!(kinds(&hourly(), &runs(&[1, 2, 3, 3, 5]), now), []);
        assert_eq!(kinds(&hourly(), &runs(&[2, 3, 4, 5]), now), [], "four are too few");
        let kept = recent((0..5).map(|hour| run(hour, "complete", 0, u64::from(hour))).collect());
        assert_eq!(kinds(&hourly(), &kept, now), [AlarmKind::KeptBackGrowing]);
    }

    #[test]
    fn lag_is_told_of_where_somebody_said_how_much_is_too_much() {
        let recent = recent(vec![run(5, "complete", 61, 0)]);
        let now = "2026-11-18T06:00:00Z";
        assert_eq!(kinds(&hourly(), &recent, now), []);
        let within = |seconds| PolicyCard { lag_max: Some(Duration::from_secs(seconds)), ..hourly() };
        assert_eq!(kinds(&within(61), &recent, now), []);
        assert_eq!(kinds(&within(60), &recent, now), [AlarmKind::Lag]);
    }

    #[test]
    fn what_only_a_person_can_mend_is_told_of_from_the_first_run_on() {
        let braked =
            |hour| Run { trouble: Some(Trouble::Brake), error: Some("too many".into()), ..run(hour, "refused", 0, 0) };
        let card = PolicyCard { interval_least: Duration::from_secs(24 * 3600), ..hourly() };
        let recent = recent(vec![run(1, "complete", 0, 0), braked(2), braked(3)]);
        let alarms = alarms_of(
            &card,
            None,
            &recent,
            AlarmRules::default(),
            (at("2026-11-18T00:00:00Z"), at("2026-11-18T04:00:00Z")),
        );
        assert_eq!(alarms.len(), 1);
        assert_eq!((alarms[0].kind, alarms[0].since), (AlarmKind::Brake, at("2026-11-18T02:00:00Z")));
        assert_eq!(alarms[0].message, "too many");
    }
}
