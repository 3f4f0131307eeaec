//! What the daemon looks after, as it sees it: policies with their times, and a way to bind them for a sweep.
//!
//! The daemon knows no configuration file and no database. Whoever reads those hands it an [`Estate`], and another one when
//! the file has changed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::{Boundary, Gate, Job, Schedule, TargetError, Turn};
use bygone_files::stage::{Metrics, Stage, StageError};
use bygone_lease::LeaseStore;
use jiff::SignedDuration;

use crate::inspection::{Explanation, Inspection, SourceKind};

/// A policy, as far as the daemon needs to know it.
#[derive(Clone, Debug)]
pub struct PolicyCard {
    /// Its name.
    pub name: String,
    /// What it does, in words for people; empty where nobody said.
    pub meaning: String,
    /// Its source: policies of one source run one after another.
    pub source: String,
    /// When it runs by itself; never, if there is none.
    pub schedule: Option<Schedule>,
    /// What must be open for it to run.
    pub gates: Vec<Arc<dyn Gate>>,
    /// Whether it sweeps a lease store: what only such sweeps count is told for it.
    pub is_of_leases: bool,
    /// How far apart complete runs may be at least, whatever the schedule says: one with a window may have to wait for it.
    pub interval_least: Duration,
    /// How long items may stay past their time before somebody is told.
    pub lag_max: Option<Duration>,
}

impl PolicyCard {
    /// A policy that never runs by itself, and that nothing holds back.
    pub fn new(name: impl Into<String>, source: impl Into<String>) -> Self {
        let (name, source, interval_least) = (name.into(), source.into(), Duration::ZERO);
        let (meaning, gates) = (String::new(), Vec::new());
        Self { name, meaning, source, schedule: None, gates, is_of_leases: false, interval_least, lag_max: None }
    }
}

/// A source, as far as the daemon needs to know it.
#[derive(Clone, Debug)]
pub struct SourceCard {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: SourceKind,
    /// What must be open for anything of it to be swept.
    pub gates: Vec<Arc<dyn Gate>>,
}

/// Policies of a source, bound for one sweep.
pub struct Bound {
    /// The sweep's boundary, by the clocks of all concerned.
    pub boundary: Boundary,
    /// The policies, in the order in which they run; those that cannot are among them, with the reason.
    pub jobs: Vec<Job>,
}

/// What becomes of a lease store, or a staging area, that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// It is made.
    Make,
    /// It is told: whoever asks for something in it has most likely misspelt it.
    Refuse,
}

/// Why there is no lease store to be had.
#[derive(Debug)]
pub enum NoLeases {
    /// No source of that name has leases.
    NoSuchSource,
    /// Nobody has made the store yet.
    NotMade,
    /// It could not be opened. The next one to ask tries again.
    Failed(TargetError),
}

/// An open staging area of a source.
#[derive(Clone, Debug)]
pub struct StageArea {
    /// The area.
    pub stage: Stage,
    /// How long files stay after their deadline, as the policy over it says.
    pub keep: SignedDuration,
}

/// How much is staged in a source.
#[derive(Clone, Debug)]
pub struct Staged {
    /// The source.
    pub source: String,
    /// How much.
    pub metrics: Metrics,
}

/// What is to be swept, and what is served.
#[async_trait]
pub trait Estate: fmt::Debug + Send + Sync {
    /// All policies that are switched on.
    fn policies(&self) -> &[PolicyCard];

    /// Takes the turn to sweep a source; `None` when somebody else has it.
    async fn take_turn(&self, source: &str) -> Result<Option<Arc<dyn Turn>>, TargetError>;

    /// Binds policies of one source. What cannot be bound is told by its job.
    async fn bind(&self, source: &str, policies: &[String]) -> Bound;

    /// What a sweep of a policy would do now: the document of `bygone plan --format json`. Writes nothing.
    async fn plan(&self, policy: &str) -> Result<serde_json::Value, TargetError>;

    /// All sources, also those without a policy. An estate that does not say so shows none.
    fn sources(&self) -> &[SourceCard] {
        &[]
    }

    /// Looks at a source: bounded, and without writing anything.
    async fn inspect(&self, _source: &str) -> Result<Inspection, TargetError> {
        Ok(Inspection::default())
    }

    /// How a policy would go about its work. Counts nothing, and writes nothing.
    async fn explain(&self, _policy: &str) -> Result<Explanation, TargetError> {
        Ok(Explanation::default())
    }

    /// Whether a source is a lease store. None is, unless an estate says so.
    fn has_leases(&self, _source: &str) -> bool {
        false
    }

    /// The lease store of a source. It is opened once, and all who ask share it.
    async fn leases(&self, _source: &str, _absent: Absent) -> Result<LeaseStore, NoLeases> {
        Err(NoLeases::NoSuchSource)
    }

    /// The staging area of a source, opened by the first who asks for it; `None` where the source has none.
    async fn stage_area(&self, _source: &str, _absent: Absent) -> Result<Option<StageArea>, StageError> {
        Ok(None)
    }

    /// How much is staged, by source. Areas that do not answer at once are left out: nobody who scrapes waits for them.
    async fn staged(&self) -> Vec<Staged> {
        Vec::new()
    }
}
