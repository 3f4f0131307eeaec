//! bygone through its engine, as the command line runs it: survey, pages, settle. The brake is released.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Boundary, Budget, Clock, Consent, Job, Outcome, Sweep, SystemClock, Target};
use tokio::runtime::Handle;

use crate::failure::Failure;
use crate::statistics::percentile_ms;
use crate::watch::Watch;

/// What a sweep did.
pub(crate) struct Swept {
    pub(crate) removed: u64,
    /// Where its time went.
    pub(crate) phases: String,
}

/// Sweeps what is bygone by now. Call it from a thread that may block.
pub(crate) fn sweep(target: Box<dyn Target>) -> Result<Swept, Failure> {
    let clock = Arc::new(SystemClock::new());
    let watch = Watch::new(Arc::clone(&clock));
    let job = Job::new(target, Budget::default()).with_consent(Consent::Released);
    let sweep = Sweep::new(Arc::<SystemClock>::clone(&clock), Boundary::at(clock.now()))
        .observed_by(Arc::<Watch>::clone(&watch));
    let report = Handle::current().block_on(sweep.run(vec![job]));
    let time = clock.elapsed();
    let policy = report.policies.first().ok_or("the report is empty")?;
    if policy.outcome != Outcome::Complete || policy.tally.kept_back.total() > 0 {
        let (outcome, tally, error) = (policy.outcome.as_str(), &policy.tally, &policy.error);
        return Err(format!("the sweep ended as {outcome} with {tally:?}: {error:?}").into());
    }
    let seen = watch.take();
    let pages: Duration = seen.pages.iter().sum();
    let phases = format!(
        "survey {}, {} pages {} of up to {} items, p99 {:.1} ms, the rest {}",
        ms(seen.surveyed),
        seen.pages.len(),
        ms(pages),
        seen.page_items_max,
        percentile_ms(&seen.pages, 99).unwrap_or_default(),
        ms(time.saturating_sub(seen.surveyed + pages)),
    );
    Ok(Swept { removed: policy.tally.removed, phases })
}

fn ms(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1_000.0)
}
