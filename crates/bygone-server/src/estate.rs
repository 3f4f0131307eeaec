//! What the daemon looks after, as it sees it: policies with their times, and a way to bind them for a sweep.
//!
//! The daemon knows no configuration file and no database. Whoever reads those hands it an [`Estate`], and another one when
//! the file has changed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::{Boundary, Gate, Job, Schedule, TargetError, Turn};

/// A policy, as far as the daemon needs to know it.
#[derive(Clone, Debug)]
pub struct PolicyCard {
    /// Its name.
    pub name: String,
    /// Its source: policies of one source run one after another.
    pub source: String,
    /// When it runs by itself; never, if there is none.
    pub schedule: Option<Schedule>,
    /// What must be open for it to run.
    pub gates: Vec<Arc<dyn Gate>>,
    /// How far apart complete runs may be at least, whatever the schedule says: one with a window may have to wait for it.
    pub interval_least: Duration,
    /// How long items may stay past their time before somebody is told.
    pub lag_max: Option<Duration>,
}

impl PolicyCard {
    /// A policy that never runs by itself, and that nothing holds back.
    pub fn new(name: impl Into<String>, source: impl Into<String>) -> Self {
        let (name, source, interval_least) = (name.into(), source.into(), Duration::ZERO);
        Self { name, source, schedule: None, gates: Vec::new(), interval_least, lag_max: None }
    }
}

/// Policies of a source, bound for one sweep.
pub struct Bound {
    /// The sweep's boundary, by the clocks of all concerned.
    pub boundary: Boundary,
    /// The policies, in the order in which they run; those that cannot are among them, with the reason.
    pub jobs: Vec<Job>,
}

/// What is to be swept.
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
}
