//! The ledger: the history of sweeps, in an embedded file.
//!
//! A sweep stands in it from its beginning on, with what its pages did so far, and with its report from its end on. So one
//! whose daemon was killed is told of, too: the next daemon calls it interrupted.
//!
//! Old entries go by a policy like any other: `ended_ms` is their deadline, and `retention.rs` says which stay all the same.

mod file;
mod holds;
mod retention;
mod runs;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bygone_core::{Clock, PolicyReport, Report, Tally};
use jiff::Timestamp;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use self::runs::{Run, Trouble};
use crate::daemon::Holds;

/// Why the history cannot be kept or told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The file cannot be used as it is.
    #[error("the ledger {} cannot be used: {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A statement failed.
    #[error("the ledger does not answer")]
    Failed(#[source] rusqlite::Error),
    /// The report cannot be written down.
    #[error("the report cannot be written")]
    Report(#[source] serde_json::Error),
    /// The thread that asked the file is gone.
    #[error("asking the ledger was broken off")]
    BrokenOff,
}

/// What a sweep was begun by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The time of one of its policies came.
    Schedule,
    /// Somebody asked for it.
    Request,
}

impl Cause {
    /// The word in the ledger.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Request => "request",
        }
    }
}

/// Which sweeps to tell of: the newest first.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Only those that began before this one.
    pub before: Option<Uuid>,
    /// Only those with this policy in them.
    pub policy: Option<String>,
    /// At most so many.
    pub limit: u32,
}

/// A sweep in the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// Its name.
    pub sweep: Uuid,
    /// When it began.
    pub began: Timestamp,
    /// When it ended; `None` while it runs.
    pub ended: Option<Timestamp>,
    /// What it was begun by.
    pub cause: String,
    /// How it ended; `interrupted` where its daemon was gone before.
    pub outcome: Option<String>,
    /// What it has removed, so far at least.
    pub removed: u64,
    /// Its policies.
    pub policies: Vec<String>,
}

/// A policy's run in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastRun {
    /// The policy.
    pub policy: String,
    /// How it ended, once it has.
    pub outcome: Option<String>,
    /// Items removed.
    pub removed: u64,
    /// Items cleared.
    pub cleared: u64,
}

/// How a policy stands, by its last runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The sweep of its last run that ended.
    pub sweep: Option<Uuid>,
    /// When that was.
    pub ended: Option<Timestamp>,
    /// How it ended.
    pub outcome: Option<String>,
    /// What it removed.
    pub removed: u64,
    /// What it kept back.
    pub kept_back: u64,
    /// How far behind it left the policy.
    pub lag_seconds: Option<u64>,
    /// What it left that was bygone, where that was counted.
    pub backlog: Option<u64>,
    /// When a run was last complete.
    pub completed: Option<Timestamp>,
}

/// What was done on a day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DayCount {
    /// The day, in UTC: `2026-11-18`.
    pub day: String,
    /// Items removed and cleared.
    pub done: u64,
}

/// The end of a sweep, as it is written down.
struct Entry {
    sweep: Uuid,
    outcome: &'static str,
    report: String,
    runs: Vec<PolicyReport>,
    backlogs: BTreeMap<String, u64>,
}

/// The history of sweeps.
#[derive(Clone, Debug)]
pub struct Ledger {
    conn: Arc<Mutex<Connection>>,
    clock: Arc<dyn Clock>,
}

impl Ledger {
    /// Opens the history in a file, and makes the file where there is none. What an earlier daemon left open is closed.
    pub async fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, LedgerError> {
        let (path, now) = (path.to_owned(), clock.now());
        let opened = blocking(move || {
            let mut conn = file::open(&path)?;
            let closed = file::close_interrupted(&mut conn, now).map_err(LedgerError::Failed)?;
            if closed > 0 {
                tracing::warn!(sweeps = closed, "sweeps of an earlier daemon were interrupted");
            }
            Ok(conn)
        });
        Ok(Self { conn: Arc::new(Mutex::new(opened.await?)), clock })
    }

    /// Opens a history to read it, beside the daemon that writes it or without one; `None` where there is none. Nothing is
    /// written, so a sweep that was broken off is still told as one that runs.
    pub async fn look(path: &Path, clock: Arc<dyn Clock>) -> Result<Option<Self>, LedgerError> {
        let path = path.to_owned();
        let opened = blocking(move || file::look(&path)).await?;
        Ok(opened.map(|conn| Self { conn: Arc::new(Mutex::new(conn)), clock }))
    }

    /// A sweep of these policies begins.
    pub async fn begin(&self, sweep: Uuid, cause: Cause, policies: Vec<String>) -> Result<(), LedgerError> {
        let now = self.clock.now();
        self.with(move |conn| file::begin(conn, sweep, now, cause, &policies)).await
    }

    /// What a policy's pages of a sweep have done so far, all together.
    pub async fn progress(&self, sweep: Uuid, policy: String, so_far: Tally) -> Result<(), LedgerError> {
        self.with(move |conn| file::progress(conn, sweep, &policy, &so_far)).await
    }

    /// A sweep has ended, and its policies have left so much undone, where that is known. Of one that has ended already
    /// nothing is changed, and the answer is false.
    pub async fn end(
        &self,
        report: &Report,
        backlogs: impl IntoIterator<Item = (String, u64)>,
    ) -> Result<bool, LedgerError> {
        let entry = Entry {
            sweep: report.sweep,
            outcome: report.outcome.as_str(),
            report: serde_json::to_string(report).map_err(LedgerError::Report)?,
            runs: report.policies.clone(),
            backlogs: backlogs.into_iter().collect(),
        };
        let now = self.clock.now();
        self.with(move |conn| file::end(conn, &entry, now)).await
    }

    /// One sweep; `None` where there is none of that name.
    pub async fn sweep(&self, sweep: Uuid) -> Result<Option<Past>, LedgerError> {
        self.with(move |conn| file::sweep(conn, sweep)).await
    }

    /// The runs of a sweep, with what is known of them without its report.
    pub async fn runs(&self, sweep: Uuid) -> Result<Vec<PastRun>, LedgerError> {
        self.with(move |conn| file::runs(conn, sweep)).await
    }

    /// Sweeps, the newest first.
    pub async fn list(&self, wanted: Wanted) -> Result<Vec<Past>, LedgerError> {
        self.with(move |conn| file::list(conn, &wanted)).await
    }

    /// The report of a sweep, as JSON; `None` where there is none, or not yet.
    pub async fn report(&self, sweep: Uuid) -> Result<Option<String>, LedgerError> {
        self.with(move |conn| file::report(conn, sweep)).await
    }

    /// How a policy stands.
    pub async fn standing(&self, policy: &str) -> Result<Standing, LedgerError> {
        let policy = policy.to_owned();
        self.with(move |conn| file::standing(conn, &policy)).await
    }

    /// How several policies stand, in their order.
    pub async fn standings(&self, policies: Vec<String>) -> Result<Vec<Standing>, LedgerError> {
        self.with(move |conn| policies.iter().map(|policy| file::standing(conn, policy)).collect()).await
    }

    /// The last runs of a policy that ended, the newest first; and when one was last complete.
    pub async fn lately(&self, policy: &str, limit: u32) -> Result<(Vec<Run>, Option<Timestamp>), LedgerError> {
        let policy = policy.to_owned();
        self.with(move |conn| runs::lately(conn, &policy, limit)).await
    }

    /// What is held; `None` stands for everything.
    pub(crate) async fn holds(&self) -> Result<Vec<Option<String>>, LedgerError> {
        self.with(|conn| holds::all(conn)).await
    }

    /// Why policies are held, in their order, where they are.
    pub async fn why_held(&self, policies: &[String]) -> Result<Vec<Option<&'static str>>, LedgerError> {
        let holds = Holds::of(self.holds().await?);
        Ok(policies.iter().map(|policy| holds.why(policy)).collect())
    }

    /// Holds a policy, or everything, or lets it go.
    pub(crate) async fn hold(&self, policy: Option<&str>, is_held: bool) -> Result<(), LedgerError> {
        let (policy, now) = (policy.map(str::to_owned), self.clock.now());
        self.with(move |conn| holds::set(conn, policy.as_deref(), is_held, now)).await
    }

    /// What a policy removed on each day since a moment; days without anything are left out.
    pub async fn days(&self, policy: &str, since: Timestamp) -> Result<Vec<DayCount>, LedgerError> {
        let policy = policy.to_owned();
        self.with(move |conn| file::days(conn, &policy, since)).await
    }

    /// The same of several policies, in their order.
    pub async fn days_of_all(
        &self,
        policies: Vec<String>,
        since: Timestamp,
    ) -> Result<Vec<Vec<DayCount>>, LedgerError> {
        self.with(move |conn| policies.iter().map(|policy| file::days(conn, policy, since)).collect()).await
    }

    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, LedgerError> {
        let conn = Arc::clone(&self.conn);
        blocking(move || {
            let mut conn = conn.lock().unwrap_or_else(PoisonError::into_inner);
            work(&mut conn).map_err(LedgerError::Failed)
        })
        .await
    }
}

/// The file may have to wait for the disk: not where tasks run.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, LedgerError> + Send + 'static,
) -> Result<T, LedgerError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(LedgerError::BrokenOff))
}
