//! `[serve.alarms]`: when it is time to tell somebody.

use std::ops::RangeInclusive;

use bygone_server::AlarmRules;
use schemars::JsonSchema;

use super::error::{Code, Findings, Problem};
use super::fields::{Fields, ReadTable};
use super::values::Located;

/// A policy that may miss a thousand runs is one that nobody waits for.
const INTERVALS: RangeInclusive<u32> = 1..=1_000;

/// What a person is told of, and when.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Alarms", deny_unknown_fields)]
pub(super) struct RawAlarms {
    /// How many times the time between two runs of a policy may pass without
    /// a run that is complete. Default: 3.
    #[schemars(range(min = 1, max = 1_000))]
    intervals: Option<Located<u64>>,
    /// Over how many runs in a row a backlog, or what is kept back, must grow.
    /// Default: 5.
    #[schemars(range(min = 2, max = 16))]
    runs: Option<Located<u64>>,
}

impl ReadTable for RawAlarms {
    const WHAT: &'static str = "`alarms`";
    const EXAMPLE: &'static str = "write `[serve.alarms]` with `intervals = 3` or `runs = 5` below it";

    fn read_fields(fields: &mut Fields<'_, '_, '_>) -> Self {
        Self { intervals: fields.optional("intervals"), runs: fields.optional("runs") }
    }
}

/// The rules that the file says, the others by default.
pub(super) fn resolve(raw: Option<RawAlarms>, findings: &mut Findings) -> AlarmRules {
    let mut rules = AlarmRules::default();
    let Some(raw) = raw else { return rules };
    if let Some(intervals) = within("intervals", INTERVALS, raw.intervals, findings) {
        rules.intervals = intervals;
    }
    // Nothing grows over one run, and no more of them are at hand.
    if let Some(runs) = within("runs", 2..=AlarmRules::RUNS_MAX, raw.runs, findings) {
        rules.runs = runs;
    }
    rules
}

fn within(key: &str, bounds: RangeInclusive<u32>, raw: Option<Located<u64>>, findings: &mut Findings) -> Option<u32> {
    let Located { value, span } = raw?;
    let number = u32::try_from(value).ok().filter(|number| bounds.contains(number));
    if number.is_none() {
        let (least, most) = bounds.into_inner();
        let problem =
            Problem::new(Code::BadValue, format!("`{key}` must be from {least} to {most}")).label("out of range").help(
                format!("write such a number, or leave `{key}` out for the default; an alarm cannot be switched off"),
            );
        findings.add(span, problem);
    }
    number
}
