//! bygone through its engine, as the command line runs it: open, read both clocks, bind, survey, brake, pages, settle.
//! All of that is timed, since a person waits for all of it.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::{
    Boundary, Brake, Budget, CancellationToken, Clock, Consent, Job, Outcome, PolicyReport, Sweep, SystemClock, Target,
};
use bygone_sql::{
    ColumnRef, DatabaseNeighbours, Deadline, RowPolicy, RowTarget, SharedSource, Source, SourceOptions, SourceUrl,
};
use jiff::SignedDuration;

use super::case::Work;
use super::series::Run;
use crate::failure::Failure;
use crate::watch::{Seen, Watch};

/// Half of the table is expired, which the default brake would just about let through; this one surely does.
const BRAKE_FRACTION: f64 = 0.9;
/// How far the two clocks may be apart; they are the same one here.
const SKEW_MAX: SignedDuration = SignedDuration::from_secs(60);

/// The policy of a case.
fn policy(work: Work) -> RowPolicy {
    let finished = |table: &str| RowPolicy::new("finished", table, Deadline::column("finished_at"));
    let with = |tables: &[(&str, &str)]| tables.iter().map(|(t, c)| vec![ColumnRef::new(*t, *c)]).collect();
    match work {
        Work::Tokens => RowPolicy::new("expired-tokens", "tokens", Deadline::column("expires_at")),
        Work::Sessions => RowPolicy {
            with: with(&[("refresh_tokens", "session_id"), ("access_tokens", "session_id")]),
            ..finished("sessions")
        },
        Work::Browsers | Work::StuckBrowsers => RowPolicy {
            unless_referenced_by: vec![
                ColumnRef::new("sessions", "browser_id"),
                ColumnRef::new("compat_sessions", "browser_id"),
            ],
            with: with(&[("authentications", "browser_id")]),
            ..finished("browsers")
        },
    }
}

/// Opens the source, takes the boundary from both clocks and binds the policy.
async fn bind(url: &str, work: Work, clock: &dyn Clock) -> Result<(RowTarget, Boundary), Failure> {
    let mut source = Source::open(SourceOptions {
        name: "bench".to_owned(),
        url: SourceUrl::parse(url)?,
        schema: None,
        table_prefix: None,
        statement_timeout: None,
        lock_timeout: None,
        read_only: false,
    })
    .await?;
    let reading = source.read_clock(clock).await?;
    let boundary = Boundary::earliest(clock.now(), [reading.checked(SKEW_MAX)?]);
    let shared: SharedSource = source.shared();
    let target = RowTarget::bind(&shared, &policy(work)).await?;
    Ok((target, boundary))
}

/// How it would go about the data, in one line.
pub(crate) async fn plan(url: &str, work: Work) -> Result<String, Failure> {
    let (mut target, boundary) = bind(url, work, &SystemClock::new()).await?;
    let survey = target.survey(boundary).await?;
    let plan = target.plan(boundary, survey.bygone).ok_or("the target has no plan")?;
    let index = plan.index.as_deref().unwrap_or("no index");
    Ok(format!("walks by {} ({}; {index})", plan.walk.as_str(), plan.why))
}

/// A sweep that has ended.
struct Swept {
    time: Duration,
    /// When the target was bound.
    bound: Duration,
    seen: Seen,
    policy: PolicyReport,
}

async fn swept(url: &str, work: Work, budget: Budget, cancel: CancellationToken) -> Result<Swept, Failure> {
    let clock = Arc::new(SystemClock::new());
    let (target, boundary) = bind(url, work, &*clock).await?;
    let watch = Watch::new(Arc::clone(&clock));
    let bound = clock.elapsed();
    let brake = Brake { fraction: BRAKE_FRACTION, ..Brake::default() };
    let mut job = Job::new(Box::new(target), budget).with_consent(Consent::Brake(brake));
    // Asked only by a budget that gives way to them.
    if let Some(neighbours) = DatabaseNeighbours::of(SourceUrl::parse(url)?, Arc::<SystemClock>::clone(&clock)) {
        job = job.beside(neighbours);
    }
    let report = Sweep::new(Arc::<SystemClock>::clone(&clock), boundary)
        .observed_by(Arc::<Watch>::clone(&watch))
        .cancelled_by(cancel)
        .run(vec![job])
        .await;
    let time = clock.elapsed();
    let policy = report.policies.into_iter().next().ok_or("the report is empty")?;
    if !matches!(policy.outcome, Outcome::Complete | Outcome::Cancelled) {
        return Err(format!("the sweep ended as {}: {:?}", policy.outcome.as_str(), policy.error).into());
    }
    Ok(Swept { time, bound, seen: watch.take(), policy })
}

/// Sweeps expired tokens until none is left or somebody cancels, and answers how many went.
pub(crate) async fn sweep_until(url: &str, budget: Budget, cancel: CancellationToken) -> Result<u64, Failure> {
    Ok(swept(url, Work::Tokens, budget, cancel).await?.policy.tally.removed)
}

/// Sweeps until nothing is left, by so many workers.
pub(crate) async fn sweep(url: &str, work: Work, workers: NonZeroUsize) -> Result<Run, Failure> {
    let budget = Budget { workers, ..Budget::default() };
    let Swept { time, bound, seen, .. } = swept(url, work, budget, CancellationToken::new()).await?;
    let pages: Duration = seen.pages.iter().sum();
    let phases = format!(
        "bind {}, survey {}, {} pages {} of up to {} rows, settle {}{}",
        ms(bound),
        ms(seen.surveyed.saturating_sub(bound)),
        seen.pages.len(),
        ms(pages),
        seen.page_items_max,
        ms(time.saturating_sub(seen.surveyed + pages)),
        if seen.failed > 0 { format!(", {} failed pages", seen.failed) } else { String::new() },
    );
    Ok(Run { time, pages: seen.pages, phases: Some(phases) })
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
}
