//! `[serve.history]`: how long the history of sweeps is kept, and the policy that this makes.
//!
//! The history is rows of a database like any other, so it is swept by the engine: by a policy over the ledger that no file
//! says, with a name and a source that no file may take.

use std::collections::BTreeMap;

use bygone_server::{AlarmRules, Ledger};
use jiff::SignedDuration;
use miette::SourceSpan;
use schemars::JsonSchema;

use super::error::Findings;
use super::fields::{Fields, ReadTable};
use super::limits::{self, BrakeLayer, BudgetLayer};
use super::model::{
    Action, Brake, Budget, Chain, ColumnRef, Config, Deadline, DeadlineColumn, Format, Gates, History, Nulls, Place,
    Policy, PolicySpans, Rows, Schedule, Source, Subject,
};
use super::url::Secret;
use super::values::Located;

/// The name of the policy, and of its source.
pub(crate) const HISTORY: &str = "bygone-history";

/// A daemon that forgets what it did within the hour shows nobody what it did.
const KEEP_LEAST: (SignedDuration, &str) = (SignedDuration::from_hours(1), "1h");
const KEEP: SignedDuration = SignedDuration::from_hours(90 * 24);
/// Its own runs stand in the history, too: few enough that those of others are not lost among them.
const EVERY: SignedDuration = SignedDuration::from_hours(6);
const JITTER: SignedDuration = SignedDuration::from_mins(30);
/// Between two pages the daemon writes down what it does.
const PAUSE: SignedDuration = SignedDuration::from_millis(10);

/// How long the history is kept.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "History", deny_unknown_fields)]
pub(super) struct RawHistory {
    /// How long a sweep is told of after its end: "1h" or more. However old
    /// they are, the last runs of each policy stay. Default: "90d".
    keep: Option<Located<SignedDuration>>,
}

impl ReadTable for RawHistory {
    const WHAT: &'static str = "`history`";
    const EXAMPLE: &'static str = "write `[serve.history]` with `keep = \"90d\"` below it";

    fn read_fields(fields: &mut Fields<'_, '_, '_>) -> Self {
        Self { keep: fields.optional("keep") }
    }
}

impl Default for History {
    fn default() -> Self {
        Self { keep: KEEP, span: None }
    }
}

/// What the file says of the history.
pub(super) fn resolve(raw: Option<RawHistory>, findings: &mut Findings) -> History {
    let raw = raw.and_then(|raw| raw.keep);
    let span = raw.as_ref().map(|keep| keep.span);
    limits::at_least("keep", KEEP_LEAST, raw, findings).map_or_else(History::default, |keep| History { keep, span })
}

impl Config {
    /// The same with the policy of the history, which is in this file.
    pub(crate) fn with_history(mut self, ledger: &str) -> Self {
        let History { keep, span } = self.serve.history;
        // Where nothing is said, its place is the file.
        let span = span.unwrap_or_else(|| (0, 0).into());
        self.sources.insert(HISTORY.to_owned(), source(ledger, span));
        self.policies.push(policy(keep, span));
        self
    }
}

impl History {
    /// What the policy does, in words.
    pub(crate) fn meaning(self) -> String {
        format!(
            "Sweeps that ended over {:#} ago are forgotten, but for the last {} runs of each policy and the last that was \
             complete.",
            self.keep,
            AlarmRules::RUNS_MAX
        )
    }
}

fn source(ledger: &str, span: SourceSpan) -> Source {
    Source {
        name: HISTORY.to_owned(),
        url: Secret::of_file(ledger),
        place: Place::Database,
        schema: None,
        table_prefix: None,
        statement_timeout: None,
        lock_timeout: None,
        gates: Gates::default(),
        url_span: span,
    }
}

fn policy(keep: SignedDuration, span: SourceSpan) -> Policy {
    let budget = BudgetLayer::default().over(&BudgetLayer::default());
    // What is in the ledger is the daemon's own, and what it needs stays: a `keep` that was shortened is no accident.
    let brake = Brake { fraction: 1.0, ..BrakeLayer::default().over(&BrakeLayer::default()) };
    Policy {
        name: HISTORY.to_owned(),
        source: HISTORY.to_owned(),
        subject: Subject::Rows(Box::new(rows(keep, span))),
        after: Vec::new(),
        budget: Budget { pause: PAUSE, ..budget },
        brake,
        schedule: Some(Schedule::Every(EVERY)),
        jitter: JITTER,
        windows: Vec::new(),
        lag_max: None,
        spans: PolicySpans { name: span, source: span, keys: BTreeMap::from([("keep", span)]) },
    }
}

fn rows(keep: SignedDuration, span: SourceSpan) -> Rows {
    let column = DeadlineColumn { column: Ledger::ENDED.to_owned(), format: Format::EpochMillis, span };
    let [table, points_here] = Ledger::RUNS.map(str::to_owned);
    Rows {
        table: Ledger::SWEEPS.to_owned(),
        deadline: Some(Deadline { columns: vec![column], nulls: Nulls::Ignore }),
        keep,
        newest: None,
        where_: Some(Ledger::dispensable()),
        unless: Vec::new(),
        only_if: Vec::new(),
        unless_referenced_by: Vec::new(),
        with: vec![Chain { links: vec![ColumnRef { table, column: points_here, span }], span }],
        action: Action::Remove,
        key: Some(vec![Ledger::KEY.to_owned()]),
        zone: None,
    }
}
