//! Sweeps the tables from within a host program: the engine of bygone, on a timer.
//!
//! No decision depends on it: every store takes what is past its horizon as absent. It keeps the tables small.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Boundary, Budget, CancellationToken, Clock, Consent, Job, Observer, Report, Sweep, TargetError};
use bygone_sql::{ColumnRef, Deadline, Format, Query, RowPolicy, RowTarget, SharedSource, Source, Value};
use jiff::SignedDuration;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::ddl::STATE;
use crate::schema::TABLES;
use crate::table::{End, HORIZON, Shape};
use crate::tokens::{Shared, Tokens};

/// When and how to sweep.
#[derive(Clone)]
pub struct SweeperConfig {
    /// How long to wait before the first sweep, and after each one. There is no default: a host says what it wants.
    pub interval: Option<SignedDuration>,
    /// The bounds of each table's part of a sweep.
    pub budget: Budget,
    /// Told of every page and every report.
    pub observer: Arc<dyn Observer>,
}

impl SweeperConfig {
    /// A sweep after every interval, within the engine's usual bounds, watched by nobody but the log.
    pub fn every(interval: SignedDuration) -> Self {
        Self { interval: Some(interval), ..Self::default() }
    }
}

impl Default for SweeperConfig {
    fn default() -> Self {
        Self { interval: None, budget: Budget::default(), observer: Arc::new(()) }
    }
}

impl fmt::Debug for SweeperConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SweeperConfig")
            .field("interval", &self.interval)
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}

/// Why a sweeper does not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SweeperError {
    /// Nobody said how often.
    #[error("the sweeper has no interval: set `interval`, or do not start it")]
    IntervalMissing,
    /// A time that never comes, or has.
    #[error("the sweeper's interval is {0:#}: it must be more than zero")]
    IntervalNotPositive(SignedDuration),
}

/// What one sweep did.
#[derive(Clone, Debug)]
pub struct Swept {
    /// Rows removed, by table, without the prefix; every table is there.
    pub removed: BTreeMap<&'static str, u64>,
    /// All of the report. A table that failed says so here, and did not stop the others.
    pub report: Report,
}

/// A sweeper at work. Dropped, it ends after the page it is at; [`stop`](Self::stop) also waits for that.
#[derive(Debug)]
pub struct Sweeper {
    work: Arc<Work>,
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

impl Sweeper {
    /// Starts sweeping after one interval. Needs a Tokio runtime around it.
    pub fn start(tokens: &Tokens, config: SweeperConfig) -> Result<Self, SweeperError> {
        let interval = config.interval.ok_or(SweeperError::IntervalMissing)?;
        let positive = Duration::try_from(interval).ok().filter(|time| !time.is_zero());
        let pause = positive.ok_or(SweeperError::IntervalNotPositive(interval))?;
        let cancel = CancellationToken::new();
        let work = Arc::new(Work {
            shared: Arc::clone(tokens.shared()),
            config,
            pause,
            cancel: cancel.clone(),
            source: Mutex::new(None),
        });
        let task = tokio::spawn(Arc::clone(&work).run());
        Ok(Self { work, cancel, task })
    }

    /// Sweeps now, whatever the timer says. Where a sweep is under way, after that one.
    pub async fn sweep_now(&self) -> Swept {
        self.work.sweep().await
    }

    /// Ends it: a sweep that is under way ends after its page.
    pub async fn stop(mut self) {
        self.cancel.cancel();
        // Whether it ended by itself or by a panic: it has ended.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

struct Work {
    shared: Arc<Shared>,
    config: SweeperConfig,
    pause: Duration,
    cancel: CancellationToken,
    /// Held for the whole of a sweep, so that no two overlap; the connection stays for the next one.
    source: Mutex<Option<SharedSource>>,
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Work {
    async fn run(self: Arc<Self>) {
        let clock = Arc::clone(&self.shared.clock);
        loop {
            tokio::select! {
                () = self.cancel.cancelled() => return,
                () = clock.sleep(self.pause) => {}
            }
            if self.is_our_turn().await {
                self.sweep().await;
            } else {
                tracing::debug!("another host has swept the tables a moment ago");
            }
        }
    }

    /// Where several hosts keep the same tables, one of them sweeps in each interval. An economy and no more: where the
    /// question cannot be answered, it sweeps.
    async fn is_our_turn(&self) -> bool {
        let (now, table) = (self.shared.now(), self.shared.naming.quoted(STATE));
        let recent = now.saturating_sub(i64::try_from(self.pause.as_micros() / 2).unwrap_or(i64::MAX));
        let query = Query::new(self.shared.client.engine(), format!("UPDATE {table} SET swept_at = "))
            .bind(Value::Int(now), None)
            .sql(" WHERE id = 1 AND (swept_at IS NULL OR swept_at <= ")
            .bind(Value::Int(recent), None)
            // A host whose clock was ahead must not stop the others until then.
            .sql(" OR swept_at > ")
            .bind(Value::Int(now), None)
            .sql(")");
        self.shared.client.execute(&query).await.map_or(true, |changed| changed > 0)
    }

    async fn sweep(&self) -> Swept {
        let mut source = self.source.lock().await;
        let clock = Arc::clone(&self.shared.clock);
        let opened = open(&self.shared, &mut source, &*clock).await;
        let (boundary, jobs) = match opened {
            Ok((source, boundary)) => (boundary, self.bound(&source).await),
            Err(error) => (Boundary::at(clock.now()), unbound(&error)),
        };
        let sweep = Sweep::new(clock, boundary).cancelled_by(self.cancel.clone());
        let report = sweep.observed_by(Arc::clone(&self.config.observer)).run(jobs).await;
        let swept = Swept { removed: removed(&self.shared, &report), report };
        tell(&swept);
        swept
    }

    async fn bound(&self, source: &SharedSource) -> Vec<Job> {
        let mut jobs = Vec::new();
        for policy in policies() {
            // What is stored here expires: that most of a table is past is no reason to stop.
            jobs.push(match RowTarget::bind(source, &policy).await {
                Ok(target) => Job::new(Box::new(target), self.config.budget.clone()).with_consent(Consent::Released),
                Err(error) => Job::unbound(policy.name, "tokens", error),
            });
        }
        jobs
    }
}

/// Every table's part of a sweep that cannot begin.
fn unbound(error: &TargetError) -> Vec<Job> {
    let error = || TargetError::new(error.kind(), error.full_message());
    policies().map(|policy| Job::unbound(policy.name, "tokens", error())).collect()
}

/// The connection, and the earlier of both clocks.
async fn open(
    shared: &Shared,
    source: &mut Option<SharedSource>,
    clock: &dyn Clock,
) -> Result<(SharedSource, Boundary), TargetError> {
    let open = match source {
        Some(open) => SharedSource::clone(open),
        None => source.insert(Source::open(shared.source_options()).await?.shared()).clone(),
    };
    let reading = open.lock().await.read_clock(clock).await?;
    Ok((open, Boundary::earliest(clock.now(), [reading.source])))
}

/// One policy for each table whose rows end by themselves.
pub(crate) fn policies() -> impl Iterator<Item = RowPolicy> {
    TABLES.iter().filter(|shape| shape.end == End::Horizon).map(|shape| {
        let deadline = Deadline::in_format(HORIZON, Format::EpochMicros);
        RowPolicy { with: children(shape), ..RowPolicy::new(shape.name, shape.name, deadline) }
    })
}

fn children(parent: &Shape) -> Vec<Vec<ColumnRef>> {
    let of_parent = |shape: &&Shape| match shape.end {
        End::With { column, parent: name } if name == parent.name => Some(vec![ColumnRef::new(shape.name, column)]),
        _ => None,
    };
    TABLES.iter().filter_map(of_parent).collect()
}

/// What a report counts, by table.
fn removed(shared: &Shared, report: &Report) -> BTreeMap<&'static str, u64> {
    let tallies = || report.policies.iter().map(|policy| &policy.tally);
    let count = |shape: &&'static Shape| {
        let rows: u64 = match shape.end {
            End::Horizon => report.policies.iter().filter(|p| p.policy == shape.name).map(|p| p.tally.removed).sum(),
            End::With { .. } => tallies().filter_map(|t| t.children.get(&shared.naming.full(shape.name))).sum(),
        };
        (shape.name, rows)
    };
    TABLES.iter().map(count).collect()
}

/// Something was removed or went wrong: worth a line. Nothing to do: only for those who look closely.
fn tell(swept: &Swept) {
    let rows: u64 = swept.removed.values().sum();
    let failed: Vec<&str> =
        swept.report.policies.iter().filter(|p| p.error.is_some()).map(|p| p.policy.as_str()).collect();
    let (sweep, outcome) = (swept.report.sweep, swept.report.outcome.as_str());
    if !failed.is_empty() {
        tracing::warn!(%sweep, outcome, rows, ?failed, "tables swept");
    } else if rows > 0 {
        tracing::info!(%sweep, outcome, rows, "tables swept");
    } else {
        tracing::debug!(%sweep, outcome, rows, "tables swept");
    }
}
