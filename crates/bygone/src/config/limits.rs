//! Budgets, brakes and other numbers with bounds, and their defaults.
//!
//! A policy's own value goes before the file's, key by key, and the file's
//! before the default, so that one key can be changed without repeating the
//! others.

use std::num::NonZeroUsize;

use bygone_core::Duty;
use jiff::SignedDuration;

use super::error::{Code, Findings, Problem};
use super::model::{Brake, Budget};
use super::raw::{RawBrake, RawBudget};
use super::values::{Located, Text};

const MILLISECOND: SignedDuration = SignedDuration::from_millis(1);
const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// The most workers of a policy.
const WORKERS_MAX: usize = 16;

/// The longest timeout: PostgreSQL counts milliseconds in 31 bits.
const TIMEOUT_MAX: SignedDuration = SignedDuration::from_hours(24 * 24);

/// What a budget takes where it does not say otherwise in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    Full,
    Polite,
}

impl Pace {
    const fn page_time(self) -> SignedDuration {
        match self {
            Self::Full => SignedDuration::from_millis(50),
            Self::Polite => SignedDuration::from_millis(4),
        }
    }

    fn duty(self) -> Duty {
        match self {
            Self::Full => Duty::FULL,
            Self::Polite => Duty::of(0.2).unwrap_or(Duty::FULL),
        }
    }
}

/// A budget as far as it is said, each value good.
#[derive(Debug, Default)]
pub(super) struct BudgetLayer {
    pace: Option<Pace>,
    page: Option<u64>,
    page_time: Option<SignedDuration>,
    items: Option<u64>,
    requests: Option<u64>,
    run_time: Option<SignedDuration>,
    pause: Option<SignedDuration>,
    duty: Option<Duty>,
    workers: Option<NonZeroUsize>,
}

impl BudgetLayer {
    pub(super) fn check(raw: Option<RawBudget>, findings: &mut Findings) -> Self {
        let Some(raw) = raw else {
            return Self::default();
        };
        Self {
            pace: pace(raw.pace.as_ref(), findings),
            page: at_least_one("page", raw.page, findings),
            page_time: positive("page_time", raw.page_time, findings),
            items: at_least_one("items", raw.items, findings),
            requests: at_least_one("requests", raw.requests, findings),
            run_time: positive("run_time", raw.run_time, findings),
            pause: raw.pause.map(|pause| pause.value),
            duty: duty(raw.duty, findings),
            workers: workers(raw.workers, findings),
        }
    }

    /// The budget of a policy that says `self` in a file that says `file`.
    pub(super) fn over(self, file: &Self) -> Budget {
        let pace = self.pace.or(file.pace).unwrap_or(Pace::Full);
        Budget {
            page: self.page.or(file.page),
            page_time: self.page_time.or(file.page_time).unwrap_or(pace.page_time()),
            items: self.items.or(file.items),
            requests: self.requests.or(file.requests),
            run_time: self.run_time.or(file.run_time),
            pause: self.pause.or(file.pause).unwrap_or(SignedDuration::ZERO),
            duty: self.duty.or(file.duty).unwrap_or(pace.duty()),
            workers: self.workers.or(file.workers).unwrap_or(NonZeroUsize::MIN),
        }
    }
}

/// A brake as far as it is said, each value good.
#[derive(Debug, Default)]
pub(super) struct BrakeLayer {
    fraction: Option<f64>,
    over_items: Option<u64>,
    max_items: Option<u64>,
}

impl BrakeLayer {
    pub(super) fn check(raw: Option<RawBrake>, findings: &mut Findings) -> Self {
        let Some(raw) = raw else {
            return Self::default();
        };
        Self {
            fraction: fraction(raw.fraction, findings),
            over_items: raw.over_items.map(|number| number.value),
            max_items: raw.max_items.map(|number| number.value),
        }
    }

    /// The brake of a policy that says `self` in a file that says `file`.
    pub(super) fn over(self, file: &Self) -> Brake {
        Brake {
            fraction: self.fraction.or(file.fraction).unwrap_or(0.5),
            over_items: self.over_items.or(file.over_items).unwrap_or(1000),
            max_items: self.max_items.or(file.max_items),
        }
    }
}

fn fraction(raw: Option<Located<f64>>, findings: &mut Findings) -> Option<f64> {
    let Located { value, span } = raw?;
    // Not-a-number is in no range, and so is refused with the rest.
    if value > 0.0 && value <= 1.0 {
        return Some(value);
    }
    let problem = Problem::new(Code::BadValue, "`fraction` must be more than 0 and at most 1")
        .label("out of range")
        .help("0.5 is half of the table; with 1.0 any part of it may go");
    findings.add(span, problem);
    None
}

fn pace(raw: Option<&Text>, findings: &mut Findings) -> Option<Pace> {
    let raw = raw?;
    match raw.value.as_str() {
        "full" => Some(Pace::Full),
        "polite" => Some(Pace::Polite),
        _ => {
            let problem = Problem::new(Code::BadValue, format!("there is no pace {:?}", raw.written))
                .label("not a pace")
                .help("write \"full\", or \"polite\" to give way to others who are at work in the database");
            findings.add(raw.span, problem);
            None
        }
    }
}

fn duty(raw: Option<Located<f64>>, findings: &mut Findings) -> Option<Duty> {
    let Located { value, span } = raw?;
    let duty = Duty::of(value);
    if duty.is_none() {
        let problem = Problem::new(Code::BadValue, "`duty` must be 0.01 to 1")
            .label("out of range")
            .help("0.2 lets pages take a fifth of the time while others are at work; with 1 there are no rests");
        findings.add(span, problem);
    }
    duty
}

fn workers(raw: Option<Located<u64>>, findings: &mut Findings) -> Option<NonZeroUsize> {
    let Located { value, span } = raw?;
    let workers =
        usize::try_from(value).ok().and_then(NonZeroUsize::new).filter(|workers| workers.get() <= WORKERS_MAX);
    if workers.is_none() {
        let problem = Problem::new(Code::BadValue, format!("`workers` must be 1 to {WORKERS_MAX}"))
            .label("out of range")
            .help("each worker is a connection and a process of the server: 2 make use of a second core");
        findings.add(span, problem);
    }
    workers
}

fn at_least_one(key: &str, raw: Option<Located<u64>>, findings: &mut Findings) -> Option<u64> {
    let Located { value, span } = raw?;
    if value > 0 {
        return Some(value);
    }
    let problem = Problem::new(Code::BadValue, format!("`{key}` must be at least 1"))
        .label("nothing could be done with 0")
        .help(format!("write 1 or more; to set no bound, leave `{key}` out"));
    findings.add(span, problem);
    None
}

/// A length that must be long enough to be counted in milliseconds.
pub(super) fn positive(
    key: &str,
    raw: Option<Located<SignedDuration>>,
    findings: &mut Findings,
) -> Option<SignedDuration> {
    at_least(key, (MILLISECOND, "1ms"), raw, findings)
}

/// The time between two runs, or another that is counted in seconds.
pub(super) fn interval(
    key: &str,
    raw: Option<Located<SignedDuration>>,
    findings: &mut Findings,
) -> Option<SignedDuration> {
    at_least(key, (SECOND, "1s"), raw, findings)
}

/// A timeout of a database. Zero would switch it off there.
pub(super) fn timeout(
    key: &str,
    raw: Option<Located<SignedDuration>>,
    findings: &mut Findings,
) -> Option<SignedDuration> {
    let span = raw.as_ref()?.span;
    let length = positive(key, raw, findings)?;
    if length <= TIMEOUT_MAX {
        return Some(length);
    }
    let problem = Problem::new(Code::BadValue, format!("`{key}` must be at most \"24d\""))
        .label("too long")
        .help("databases count timeouts in milliseconds, and no further");
    findings.add(span, problem);
    None
}

/// A length of time that must not be shorter than another.
pub(super) fn at_least(
    key: &str,
    (least, shown): (SignedDuration, &str),
    raw: Option<Located<SignedDuration>>,
    findings: &mut Findings,
) -> Option<SignedDuration> {
    let Located { value, span } = raw?;
    if value >= least {
        return Some(value);
    }
    let problem = Problem::new(Code::BadValue, format!("`{key}` must be at least \"{shown}\""))
        .label("too short")
        .help(format!("write a longer time, or leave `{key}` out for the default"));
    findings.add(span, problem);
    None
}
