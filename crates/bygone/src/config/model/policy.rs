//! What is bygone, when that is looked for, and within which bounds.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

use bygone_core::{Duty, ScheduleError, Window};
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use miette::SourceSpan;

use super::{Leases, Prefix, Rows, Stage, Tree};

/// Which items of a source are past their time, and what becomes of them.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    /// Its name: no other policy has it.
    pub(crate) name: String,
    /// The name of its source, which is one that holds such items.
    pub(crate) source: String,
    /// What it sweeps.
    pub(crate) subject: Subject,
    /// The names of other policies that run before this one: none twice, and
    /// in the whole file no circle.
    pub(crate) after: Vec<String>,
    /// The bounds of a run.
    pub(crate) budget: Budget,
    /// When to refuse a run.
    pub(crate) brake: Brake,
    /// When the daemon runs it, if said.
    pub(crate) schedule: Option<Schedule>,
    /// How far each run is put off, at most: shorter than the time between two.
    pub(crate) jitter: SignedDuration,
    /// Within which hours the daemon runs it; without any, at all times.
    pub(crate) windows: Vec<Window>,
    /// How long items may stay past their time before somebody is told: at
    /// least a second.
    pub(crate) lag_max: Option<SignedDuration>,
    /// Where all this stands.
    pub(crate) spans: PolicySpans,
}

impl Policy {
    /// What it says of rows, if it sweeps rows.
    pub(crate) fn rows(&self) -> Option<&Rows> {
        match &self.subject {
            Subject::Rows(rows) => Some(rows),
            _ => None,
        }
    }

    /// How long an item stays after its deadline; `None` where age alone
    /// lets nothing go.
    pub(crate) fn keep(&self) -> Option<SignedDuration> {
        match &self.subject {
            Subject::Rows(rows) => Some(rows.keep),
            Subject::Tree(tree) => tree.keep,
            Subject::Prefix(prefix) => Some(prefix.keep),
            Subject::Stage(stage) => Some(stage.keep),
            // It is part of the deadlines that the store tells.
            Subject::Leases(_) => Some(SignedDuration::ZERO),
        }
    }
}

/// The items that a policy sweeps.
#[derive(Debug, Clone)]
pub(crate) enum Subject {
    /// Rows of a table.
    Rows(Box<Rows>),
    /// Files of a directory tree.
    Tree(Tree),
    /// Objects of a bucket.
    Prefix(Prefix),
    /// Files of a staging area.
    Stage(Stage),
    /// Leases, transactions and their decisions in a lease store.
    Leases(Leases),
}

impl Subject {
    /// What it says of a staging area, if it is one.
    pub(crate) fn stage(&self) -> Option<&Stage> {
        match self {
            Self::Stage(stage) => Some(stage),
            _ => None,
        }
    }
}

/// Where the parts of a policy stand in the file.
#[derive(Debug, Clone)]
pub(crate) struct PolicySpans {
    /// The value of `name`.
    pub(crate) name: SourceSpan,
    /// The value of `source`.
    pub(crate) source: SourceSpan,
    /// The values of the other keys that are there; where one is a table of
    /// its own, the header of the first.
    pub(crate) keys: BTreeMap<&'static str, SourceSpan>,
}

/// The bounds of a run. `None` is no bound.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Budget {
    /// The most items that one page examines: at least 1.
    pub(crate) page: Option<u64>,
    /// The time that a page should take: at least 1 ms.
    pub(crate) page_time: SignedDuration,
    /// The most items of a run: at least 1.
    pub(crate) items: Option<u64>,
    /// The most requests of a run: at least 1.
    pub(crate) requests: Option<u64>,
    /// The longest that a run takes: at least 1 ms.
    pub(crate) run_time: Option<SignedDuration>,
    /// The rest between two pages.
    pub(crate) pause: SignedDuration,
    /// The share of the time that pages may take while others are at work.
    pub(crate) duty: Duty,
    /// How many pages may be swept side by side.
    pub(crate) workers: NonZeroUsize,
}

/// When a run is refused because it would remove too much.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Brake {
    /// The part of a table that may go: more than 0, at most 1.
    pub(crate) fraction: f64,
    /// `fraction` is asked only of tables with more items than this.
    pub(crate) over_items: u64,
    /// The most items that may go, whatever the fraction.
    pub(crate) max_items: Option<u64>,
}

/// When the daemon runs a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Schedule {
    /// By a pattern of cron that some time matches.
    Cron {
        /// Five fields or six, as written.
        pattern: String,
        /// Where the clock hangs.
        zone: TimeZone,
    },
    /// So long after each other: at least 1 s.
    Every(SignedDuration),
}

impl Schedule {
    /// As the engine keeps it.
    pub(crate) fn timed(&self) -> Result<bygone_core::Schedule, ScheduleError> {
        match self {
            Self::Cron { pattern, zone } => bygone_core::Schedule::cron(pattern, zone.clone()),
            Self::Every(interval) => {
                bygone_core::Schedule::every(Duration::try_from(*interval).unwrap_or(Duration::ZERO))
            }
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cron { pattern, zone } if *zone == TimeZone::UTC => f.write_str(pattern),
            Self::Cron { pattern, zone } => write!(f, "{pattern} {}", zone.iana_name().unwrap_or("UTC")),
            Self::Every(time) => write!(f, "every {time:#}"),
        }
    }
}
