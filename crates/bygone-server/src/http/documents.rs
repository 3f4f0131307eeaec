//! What the API tells of policies and sweeps.

use std::collections::BTreeMap;

use bygone_core::{Tally, format_instant};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::sources::GateDocument;
use crate::daemon::{RunningPolicy, RunningSweep};
use crate::ledger::{DayCount, Past, PastRun, Standing};
use crate::watch::Alarm;

/// All policies.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PolicyList {
    /// Whether everything is paused.
    pub(super) paused: bool,
    /// Those that are switched on, in the order of the configuration.
    pub(super) policies: Vec<PolicyDocument>,
}

/// A policy, as it stands.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PolicyDocument {
    /// Its name.
    pub(super) name: String,
    /// Its source.
    pub(super) source: String,
    /// When it runs by itself, as the configuration says; null if never.
    pub(super) schedule: Option<String>,
    /// When that is next.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(super) next_run: Option<Timestamp>,
    /// Why it is held, if it is.
    pub(super) held: Option<&'static str>,
    /// The sweep that it runs in now.
    pub(super) running: Option<Uuid>,
    /// When a run of it was last complete.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(super) completed: Option<Timestamp>,
    /// Its last run that ended.
    pub(super) last: Option<LastRun>,
}

/// The last run of a policy.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LastRun {
    /// Its sweep.
    pub(super) sweep: Uuid,
    /// When it ended.
    #[schema(value_type = String, format = DateTime)]
    pub(super) ended: Timestamp,
    /// Why it ended; `interrupted` where its daemon was gone before.
    pub(super) outcome: Option<String>,
    /// Items removed.
    pub(super) removed: u64,
    /// Items kept back.
    pub(super) kept_back: u64,
    /// How long the oldest bygone item that it left had been so.
    pub(super) lag_seconds: Option<u64>,
    /// What it left that was bygone, where that was counted.
    pub(super) backlog: Option<u64>,
}

impl LastRun {
    pub(super) fn of(standing: Standing) -> Option<Self> {
        let Standing { sweep, ended, outcome, removed, kept_back, lag_seconds, backlog, .. } = standing;
        Some(Self { sweep: sweep?, ended: ended?, outcome, removed, kept_back, lag_seconds, backlog })
    }
}

/// Something that a person should look at.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AlarmDocument {
    /// What is wrong: `not_completed`, `backlog_growing`, `lag`, `kept_back_growing`, `clock_skew` or `brake`.
    kind: &'static str,
    /// With which policy.
    policy: String,
    /// Since when, as far as the last runs tell.
    #[schema(value_type = String, format = DateTime)]
    since: Timestamp,
    /// In words.
    message: String,
}

impl From<Alarm> for AlarmDocument {
    fn from(Alarm { kind, policy, since, message }: Alarm) -> Self {
        Self { kind: kind.as_str(), policy, since, message }
    }
}

/// A policy with its past.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PolicyDetail {
    #[serde(flatten)]
    pub(super) policy: PolicyDocument,
    /// What it does, in words for people.
    pub(super) meaning: String,
    /// The gates that keep it from running now, of its own and of its source; null where that could not be told in time.
    pub(super) closed_gates: Option<Vec<GateDocument>>,
    /// What it did on the last thirty days; those without anything are left out.
    pub(super) days: Vec<DayDocument>,
}

/// A day.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct DayDocument {
    /// The day, in UTC.
    #[schema(format = Date)]
    pub(super) day: String,
    /// Items removed and cleared.
    pub(super) done: u64,
}

impl From<DayCount> for DayDocument {
    fn from(DayCount { day, done }: DayCount) -> Self {
        Self { day, done }
    }
}

/// Whether everything is paused.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PauseDocument {
    /// Whether it is.
    pub(super) paused: bool,
}

/// Sweeps, the newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SweepList {
    pub(super) sweeps: Vec<SweepSummary>,
    /// Where the next page begins: give it as `before`. Null on the last page.
    pub(super) next_before: Option<Uuid>,
}

/// A sweep in a list.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SweepSummary {
    /// Its name.
    pub(super) sweep: Uuid,
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    pub(super) began: Timestamp,
    /// When it ended; null while it runs.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(super) ended: Option<Timestamp>,
    /// What it was begun by: `schedule` or `request`.
    pub(super) cause: String,
    /// How it ended.
    pub(super) outcome: Option<String>,
    /// What it has removed, so far at least.
    pub(super) removed: u64,
    /// Its policies.
    pub(super) policies: Vec<String>,
}

impl From<SweepSummary> for Past {
    fn from(summary: SweepSummary) -> Self {
        let SweepSummary { sweep, began, ended, cause, outcome, removed, policies } = summary;
        Self { sweep, began, ended, cause, outcome, removed, policies }
    }
}

impl From<Past> for SweepSummary {
    fn from(Past { sweep, began, ended, cause, outcome, removed, policies }: Past) -> Self {
        Self { sweep, began, ended, cause, outcome, removed, policies }
    }
}

/// A sweep that has begun.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SweepStarted {
    /// Its name: GET /api/v1/sweeps/{id} tells of it.
    pub(super) sweep: Uuid,
}

/// A sweep: its report, with when and why it ran. While it runs, what its pages have done so far.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SweepDocument {
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    pub(super) began: Timestamp,
    /// When it ended; null while it runs.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(super) ended: Option<Timestamp>,
    /// What it was begun by: `schedule` or `request`.
    pub(super) cause: String,
    #[serde(flatten)]
    pub(super) report: ReportDocument,
}

/// A report.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(super) struct ReportDocument {
    /// The sweep's name.
    pub(super) sweep: Uuid,
    /// The boundary that every policy compared with; null where that is no longer known.
    #[schema(format = DateTime)]
    pub(super) boundary: Option<String>,
    /// `complete`, `partial`, `failed` or `refused`; `interrupted` where its daemon was gone before; null while it runs.
    pub(super) outcome: Option<String>,
    /// Its policies.
    pub(super) policies: Vec<RunDocument>,
}

/// A policy's part of a sweep.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
pub(super) struct RunDocument {
    /// The policy.
    pub(super) policy: String,
    /// Its source; known from the end on.
    pub(super) source: Option<String>,
    /// Why its run ended; null while it has not.
    pub(super) outcome: Option<String>,
    /// Items looked at.
    pub(super) examined: Option<u64>,
    /// Items gone.
    pub(super) removed: u64,
    /// Items emptied of what the policy names, but not gone.
    pub(super) cleared: u64,
    /// Items left, by reason; null where that is no longer known.
    pub(super) kept_back: Option<KeptBackDocument>,
    /// Items removed along with theirs, by table.
    pub(super) children: BTreeMap<String, u64>,
    /// Bytes freed, where the source knows.
    pub(super) bytes: Option<u64>,
    /// Pages committed.
    pub(super) pages: Option<u64>,
    /// Requests made to the source; known from the end on.
    pub(super) requests: Option<u64>,
    /// How long it took; known from the end on.
    pub(super) elapsed_ms: Option<u64>,
    /// How long the oldest bygone item still there has been so; known from the end on.
    pub(super) lag_seconds: Option<u64>,
    /// The gate that stopped it, and why; left out where none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) stopped_by: Option<String>,
    /// What went wrong.
    pub(super) error: Option<String>,
    /// What to do about it.
    pub(super) help: Option<String>,
    /// What a person should know about these numbers.
    pub(super) warnings: Vec<String>,
}

/// Items kept back, by reason.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(super) struct KeptBackDocument {
    /// Something that lives points at them.
    pub(super) referenced: u64,
    /// Somebody else held them.
    pub(super) locked: u64,
    /// Their deadline is absent or cannot be read.
    pub(super) unreadable: u64,
    /// The source refused to let go of them.
    pub(super) conflict: u64,
}

impl SweepDocument {
    /// One that has ended, with its report as the ledger has it.
    pub(super) fn ended(past: Past, report: &str) -> Result<Self, serde_json::Error> {
        Ok(Self { began: past.began, ended: past.ended, cause: past.cause, report: serde_json::from_str(report)? })
    }

    /// One that runs.
    pub(super) fn running(past: Past, running: RunningSweep) -> Self {
        let policies = running.policies.into_iter().map(RunDocument::running).collect();
        let (sweep, boundary) = (running.sweep, Some(format_instant(running.boundary)));
        let report = ReportDocument { sweep, boundary, outcome: None, policies };
        Self { began: past.began, ended: None, cause: past.cause, report }
    }

    /// One that left no report.
    pub(super) fn interrupted(past: Past, runs: Vec<PastRun>) -> Self {
        let policies = runs.into_iter().map(RunDocument::interrupted).collect();
        let report = ReportDocument { sweep: past.sweep, boundary: None, outcome: past.outcome, policies };
        Self { began: past.began, ended: past.ended, cause: past.cause, report }
    }

    /// How it ended, once it has.
    pub(super) fn outcome(&self) -> Option<&str> {
        self.report.outcome.as_deref()
    }
}

impl RunDocument {
    fn running(RunningPolicy { policy, so_far, pages, outcome, .. }: RunningPolicy) -> Self {
        let Tally { examined, removed, cleared, kept_back, children, bytes } = so_far;
        let kept_back = KeptBackDocument {
            referenced: kept_back.referenced,
            locked: kept_back.locked,
            unreadable: kept_back.unreadable,
            conflict: kept_back.conflict,
        };
        Self {
            policy,
            outcome: outcome.map(str::to_owned),
            examined: Some(examined),
            removed,
            cleared,
            kept_back: Some(kept_back),
            children,
            bytes,
            pages: Some(pages),
            ..Self::default()
        }
    }

    fn interrupted(PastRun { policy, outcome, removed, cleared }: PastRun) -> Self {
        Self { policy, outcome, removed, cleared, ..Self::default() }
    }
}
