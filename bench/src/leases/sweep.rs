//! Leases that are over, swept by the engine as a daemon does it: survey, pages, settle, and no rest in between.
//!
//! They are made once; each turn sweeps a copy of the directory.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Boundary, Budget, Clock, Consent, Job, Outcome, Sweep, SystemClock};
use bygone_lease::{Acquire, LeaseTarget, Swept};
use rusqlite::Connection;

use super::case::SweepCase;
use super::ours;
use crate::failure::Failure;
use crate::output;
use crate::report::thousands;
use crate::statistics::percentile_ms;
use crate::stopwatch::rate;
use crate::watch::Watch;

/// How many make the leases at once.
const MAKERS: u64 = 256;
/// After so long they are over for everybody, whatever clocks he goes by.
const OVER_AFTER: Duration = Duration::from_secs(3);

/// Sweeps so often, and answers how many a second each time.
pub(crate) async fn measure(case: SweepCase, runs: usize, directory: &Path) -> Result<Vec<f64>, Failure> {
    output::talk(&format!("{}: making {} leases", case.name, case.leases));
    let made = directory.join("made");
    make(case.leases, &made).await?;
    SystemClock::new().sleep(OVER_AFTER).await;
    let mut rates = Vec::new();
    for round in 0..runs * case.turns {
        let copy = directory.join(format!("copy-{round}"));
        copy_files(&made, &copy)?;
        rates.push(sweep(case, round, &copy).await?);
        fs::remove_dir_all(&copy)?;
    }
    Ok(rates)
}

async fn make(leases: u64, directory: &Path) -> Result<(), Failure> {
    let store = ours::open(directory).await?;
    let maker = |first: u64| {
        let store = store.clone();
        async move {
            for at in (first..leases).step_by(usize::try_from(MAKERS)?) {
                let request = Acquire { ttl: Some(Duration::from_millis(1)), ..ours::acquire(&name(at))? };
                store.acquire(&request).await?;
            }
            Ok::<(), Failure>(())
        }
    };
    let makers: Vec<_> = (0..MAKERS).map(|first| tokio::spawn(maker(first))).collect();
    for maker in makers {
        maker.await??;
    }
    Ok(())
}

fn name(at: u64) -> String {
    format!("key-{at:08}")
}

/// The store is closed, so that the file has everything.
fn copy_files(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copy = to.join(entry.file_name());
        fs::copy(entry.path(), &copy)?;
        fs::File::open(copy)?.sync_all()?;
    }
    Ok(())
}

async fn sweep(case: SweepCase, round: usize, directory: &Path) -> Result<f64, Failure> {
    let store = ours::open(directory).await?;
    let target = LeaseTarget::new(Swept::Leases, "leases", "bench", &store);
    let clock = Arc::new(SystemClock::new());
    let watch = Watch::new(Arc::clone(&clock));
    let job = Job::new(Box::new(target), Budget::default()).with_consent(Consent::Released);
    let sweep = Sweep::new(Arc::<SystemClock>::clone(&clock), Boundary::at(clock.now()))
        .observed_by(Arc::<Watch>::clone(&watch));
    let report = sweep.run(vec![job]).await;
    let time = clock.elapsed();
    let policy = report.policies.first().ok_or("the report is empty")?;
    if policy.outcome != Outcome::Complete || policy.tally.removed != case.leases {
        let (outcome, tally, error) = (policy.outcome.as_str(), &policy.tally, &policy.error);
        return Err(format!("the sweep ended as {outcome} with {tally:?}: {error:?}").into());
    }
    prove(directory, case.leases)?;
    let (seen, rate) = (watch.take(), rate(case.leases, time));
    let pages: Duration = seen.pages.iter().sum();
    output::talk(&format!(
        "{}, round {}: {} leases/s; survey {:.0} ms, {} pages {:.0} ms of up to {} leases, p99 {:.1} ms",
        case.name,
        round + 1,
        thousands(rate),
        seen.surveyed.as_secs_f64() * 1e3,
        seen.pages.len(),
        pages.as_secs_f64() * 1e3,
        seen.page_items_max,
        percentile_ms(&seen.pages, 99).unwrap_or_default(),
    ));
    Ok(rate)
}

/// Asks the file itself: no record has a lease, none was forgotten, since it has a token to remember, and each has one entry
/// that leads to it when that is over.
fn prove(directory: &Path, leases: u64) -> Result<(), Failure> {
    let file = Connection::open(directory.join("leases.db"))?;
    let count = |what: &str| file.query_row(&format!("SELECT count(*) FROM item WHERE {what}"), [], |row| row.get(0));
    let found: [i64; 3] = [
        count("key LIKE 'bench/meta/%'")?,
        count("key LIKE 'bench/meta/%' AND CAST(body AS TEXT) LIKE '%\"lease\":%'")?,
        count("key LIKE 'bench/.lease-index/__________/%'")?,
    ];
    if found != [i64::try_from(leases)?, 0, i64::try_from(leases)?] {
        return Err(format!("records, leases and entries after the sweep of {leases}: {found:?}").into());
    }
    Ok(())
}
