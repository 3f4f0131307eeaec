//! What is to be said of a run: plain functions over what was seen, so that they can be tried on runs that never were.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::fault::{self, Disturbance, Fault};
use super::history::Run;
use super::pace::Pace;
use super::part::Part;
use super::record::{Lag, Sample, Seen, Told};
use crate::report::Comparison;
use crate::statistics::median;

/// A daemon may become so much larger in its life, besides a tenth: what an allocator keeps at hand.
const MEMORY_ROOM_KIB: f64 = 4_096.0;
/// The same for its handles: what requests and pages under way have open just then.
const HANDLES_ROOM: f64 = 6.0;
const GROWTH_MAX: f64 = 1.1;
/// An entry of the history may become so much larger than it was in the first third.
const ENTRY_GROWTH_MAX: f64 = 1.3;
/// Nothing is later than so many intervals and a moment, but for the time in which somebody held the sweeper up.
const LAG_INTERVALS: u32 = 3;
const LAG_ROOM: Duration = Duration::from_secs(5);
/// Fewer measurements say nothing of growth.
const SAMPLES_MIN: usize = 9;
/// The most reasons that are told of one verdict.
const REASONS_MAX: usize = 5;

/// One verdict: ours must not exceed the limit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Verdict {
    case: String,
    what: &'static str,
    unit: &'static str,
    ours: f64,
    limit: f64,
    reasons: Vec<String>,
}

impl Verdict {
    /// None of these may be there.
    pub(super) fn none(case: impl Into<String>, what: &'static str, unit: &'static str, found: Vec<String>) -> Self {
        Self { case: case.into(), what, unit, ours: number(found.len()), limit: 0.0, reasons: found }
    }

    fn within(case: impl Into<String>, what: &'static str, unit: &'static str, ours: f64, limit: f64) -> Self {
        Self { case: case.into(), what, unit, ours, limit, reasons: Vec::new() }
    }

    pub(super) fn is_met(&self) -> bool {
        self.ours <= self.limit
    }

    /// Why it is not met, for people.
    pub(super) fn reasons(&self) -> Vec<String> {
        if self.is_met() {
            return Vec::new();
        }
        let Self { case, what, unit, ours, limit, reasons } = self;
        let mut told = vec![format!("{case}, {what}: {ours:.1} {unit}, and {limit:.1} at most would be right")];
        told.extend(reasons.iter().take(REASONS_MAX).map(|reason| format!("  {reason}")));
        if reasons.len() > REASONS_MAX {
            told.push(format!("  and {} more", reasons.len() - REASONS_MAX));
        }
        told
    }

    pub(super) fn comparison(&self) -> Comparison {
        Comparison::at_most(super::BENCH, &self.case, self.what, self.unit, self.ours, self.limit)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a run, to be compared with small bounds")]
fn number(count: usize) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, reason = "bytes and items, of which ratios are made")]
pub(super) fn amount(count: u64) -> f64 {
    count as f64
}

/// Medians of the first and the last third of a series: a peak is none of growth, and neither is a sawtooth.
pub(super) fn thirds(series: &[f64]) -> Option<(f64, f64)> {
    let third = series.len() / 3;
    (series.len() >= SAMPLES_MIN).then(|| (median(&series[..third]), median(&series[series.len() - third..])))
}

/// Of the daemon that lived longest, what was measured after it had warmed up.
pub(super) fn longest_life(samples: &[Sample], warm_up: Duration) -> Vec<Sample> {
    let mut lives = BTreeMap::<usize, Vec<Sample>>::new();
    for sample in samples {
        lives.entry(sample.life).or_default().push(*sample);
    }
    let longest = lives.into_values().max_by_key(Vec::len).unwrap_or_default();
    let begin = longest.first().map_or(Duration::ZERO, |first| first.at) + warm_up;
    longest.into_iter().filter(|sample| sample.at >= begin).collect()
}

/// Memory and handles of the daemon that lived longest; nothing if none lived for long enough.
pub(super) fn growth(samples: &[Sample], warm_up: Duration) -> Vec<Verdict> {
    let life = longest_life(samples, warm_up);
    let memory: Vec<f64> = life.iter().map(|sample| amount(sample.memory_kib)).collect();
    let handles: Vec<f64> = life.iter().map(|sample| amount(sample.handles)).collect();
    let what = "a tenth more than in the first third";
    let memory = thirds(&memory)
        .map(|(first, last)| Verdict::within("memory", what, "KiB", last, first.mul_add(GROWTH_MAX, MEMORY_ROOM_KIB)));
    let handles = thirds(&handles).map(|(first, last)| {
        Verdict::within("handles", what, "handles", last, first.mul_add(GROWTH_MAX, HANDLES_ROOM))
    });
    memory.into_iter().chain(handles).collect()
}

/// The file of the history grows by the sweeps that it tells of, and by nothing else.
pub(super) fn ledger(seen: &Seen) -> Option<Verdict> {
    let told = seen.spaces.iter().filter(|space| space.sweeps > 0);
    let per_sweep: Vec<f64> = told.map(|space| amount(space.ledger) / amount(space.sweeps)).collect();
    thirds(&per_sweep).map(|(first, last)| {
        Verdict::within(
            "ledger",
            "bytes a sweep in the first third",
            "B",
            last.round(),
            (first * ENTRY_GROWTH_MAX).round(),
        )
    })
}

/// How late items were at most, by the books, but for the time in which somebody held the sweeper up.
pub(super) fn lag(part: Part, lags: &[Lag], disturbances: &[Disturbance], pace: Pace) -> Verdict {
    let own = |lag: &Lag| {
        let since = lag.at.saturating_sub(lag.oldest);
        lag.oldest.saturating_sub(fault::standstill(disturbances, part, since, lag.at))
    };
    let most = lags.iter().filter(|lag| lag.part == part).map(own).max().unwrap_or_default();
    lag_verdict(format!("lag/{}", part.name()), "by the books", part, most, pace)
}

/// The same as the daemon tells it: that is how late items were after its last run, up to an interval ago.
pub(super) fn told_lag(part: Part, told: &[Told], disturbances: &[Disturbance], pace: Pace) -> Verdict {
    let own = |told: &Told| {
        let since = told.at.saturating_sub(told.lag).saturating_sub(part.every(pace));
        told.lag.saturating_sub(fault::standstill(disturbances, part, since, told.at))
    };
    let most = told.iter().filter(|told| told.policy == part.policy()).map(own).max().unwrap_or_default();
    lag_verdict(format!("lag/{}", part.name()), "as the daemon tells it", part, most, pace)
}

fn lag_verdict(case: String, what: &'static str, part: Part, most: Duration, pace: Pace) -> Verdict {
    let limit = part.every(pace) * LAG_INTERVALS + LAG_ROOM;
    Verdict::within(case, what, "s", most.as_secs_f64(), limit.as_secs_f64())
}

/// Runs that failed or were refused although nothing happened to their source, and daemons that ended without being told.
pub(super) fn failures(runs: &[Run], disturbances: &[Disturbance]) -> Verdict {
    let part = |policy: &str| Part::ALL.into_iter().find(|part| part.policy() == policy);
    let is_explained = |run: &Run| {
        let ended = run.ended.unwrap_or(run.began);
        part(&run.policy).is_some_and(|part| {
            disturbances.iter().any(|disturbance| disturbance.explains_failure(part, run.began, ended))
        })
    };
    let failed = runs.iter().filter(|run| matches!(run.outcome.as_deref(), Some("failed" | "refused")));
    let found = failed.filter(|run| !is_explained(run)).map(|run| {
        let error = run.error.as_deref().unwrap_or("without a word");
        format!("{} at {:.0} s: {error}", run.policy, run.began.as_secs_f64())
    });
    Verdict::none("sweeps", "failed without a fault", "runs", found.collect())
}

/// Only a daemon that was killed leaves sweeps interrupted, and one of each source at most.
pub(super) fn interruptions(runs: &[Run], disturbances: &[Disturbance]) -> Verdict {
    let is_killed = |run: &&Run| {
        let kills = disturbances.iter().filter(|disturbance| disturbance.fault == Fault::Kill);
        let ended = run.ended.unwrap_or(Duration::MAX);
        kills.into_iter().any(|kill| run.began <= kill.to && kill.from <= ended)
    };
    let open = runs.iter().filter(|run| match run.outcome.as_deref() {
        None => true,
        Some("interrupted") => !is_killed(run),
        Some(_) => false,
    });
    let found = open.map(|run| format!("{} at {:.0} s", run.policy, run.began.as_secs_f64()));
    Verdict::none("sweeps", "without an end, or interrupted by nothing", "runs", found.collect())
}

/// The history has each sweep once: by the listing, by time, and by what was removed.
pub(super) fn history(runs: &[Run], listed: &[String], gone: &BTreeMap<&'static str, u64>) -> Verdict {
    let mut found = Vec::new();
    let mut once = BTreeSet::new();
    found.extend(
        listed.iter().filter(|sweep| !once.insert(sweep.as_str())).map(|sweep| format!("{sweep} is listed twice")),
    );
    let known: BTreeSet<&str> = runs.iter().map(|run| run.sweep.as_str()).collect();
    found.extend(once.difference(&known).map(|sweep| format!("{sweep} is listed, and not in the file")));
    let mut last = BTreeMap::<&str, &Run>::new();
    for run in runs {
        if let Some(before) = last.insert(&run.policy, run)
            && before.ended.is_some_and(|ended| run.began < ended)
        {
            found.push(format!("{} ran twice at {:.1} s", run.policy, run.began.as_secs_f64()));
        }
    }
    for (policy, gone) in gone {
        let removed: u64 = runs.iter().filter(|run| run.policy == *policy).map(|run| run.removed).sum();
        if removed > *gone {
            found.push(format!("{policy} tells of {removed} items, and {gone} have gone"));
        }
    }
    Verdict::none("history", "told twice", "times", found)
}

/// Trouble of those who write, look or ask that no fault explains.
pub(super) fn troubles(seen: &Seen) -> Verdict {
    let is_explained =
        |from, to, who| seen.disturbances.iter().any(|disturbance| disturbance.explains_trouble(who, from, to));
    let found = seen.troubles.iter().filter(|trouble| !is_explained(trouble.from, trouble.to, trouble.who));
    let found =
        found.map(|trouble| format!("{:?} at {:.0} s: {}", trouble.who, trouble.from.as_secs_f64(), trouble.what));
    Verdict::none("neighbours", "trouble without a fault", "times", found.collect())
}

/// What nobody looked at has proven nothing.
pub(super) fn unwatched(seen: &Seen) -> Verdict {
    let is_looked_at = |part: &Part| seen.lags.iter().any(|lag| lag.part == *part);
    let is_told = |part: &Part| seen.told.iter().any(|told| told.policy == part.policy());
    let found = Part::ALL.into_iter().filter(|part| !is_looked_at(part) || !is_told(part));
    Verdict::none("watch", "not looked at, or not told of", "parts", found.map(|part| part.name().to_owned()).collect())
}

/// Nothing of a part went before its time.
pub(super) fn early(part: Part, seen: &Seen) -> Verdict {
    let early = seen.early.iter().filter(|early| early.part == part);
    let found = early.map(|early| format!("{} until {}, missed at {}", early.id, early.until, early.missed));
    Verdict::none(format!("early/{}", part.name()), "gone before its time", "items", found.collect())
}

/// What is left of a part at the end that should have gone.
pub(super) fn left(part: Part, overdue: u64, strangers: u64) -> Verdict {
    let reason = format!("{overdue} past their time, {strangers} that had gone before");
    let left = amount(overdue + strangers);
    Verdict {
        reasons: vec![reason],
        ..Verdict::within(format!("gone/{}", part.name()), "left past its time", "items", left, 0.0)
    }
}

#[cfg(test)]
mod tests;
