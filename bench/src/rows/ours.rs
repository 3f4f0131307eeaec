//! bygone through its engine, as the command line runs it: open, read both clocks, bind, survey, brake, pages, settle.
//! All of that is timed, since a person waits for all of it.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Boundary, Brake, Budget, Clock, Consent, Job, Outcome, Sweep, SystemClock, Target};
use bygone_sql::{ColumnRef, Deadline, RowPolicy, RowTarget, SharedSource, Source, SourceOptions, SourceUrl};
use jiff::SignedDuration;

use super::case::Work;
use super::series::Run;
use crate::failure::Failure;
use crate::watch::Watch;

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

/// Sweeps.
pub(crate) async fn sweep(url: &str, work: Work) -> Result<Run, Failure> {
    let clock = Arc::new(SystemClock::new());
    let (target, boundary) = bind(url, work, &*clock).await?;
    let watch = Watch::new(Arc::clone(&clock));
    let bound = clock.elapsed();
    let brake = Brake { fraction: BRAKE_FRACTION, ..Brake::default() };
    let job = Job::new(Box::new(target), Budget::default()).with_consent(Consent::Brake(brake));
    let report = Sweep::new(Arc::<SystemClock>::clone(&clock), boundary)
        .observed_by(Arc::<Watch>::clone(&watch))
        .run(vec![job])
        .await;
    let time = clock.elapsed();
    let policy = report.policies.first().ok_or("the report is empty")?;
    if policy.outcome != Outcome::Complete {
        return Err(format!("the sweep ended as {}: {:?}", policy.outcome.as_str(), policy.error).into());
    }
    let seen = watch.take();
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
