//! Looks at sources for people: each is opened to be looked at alone, and closed again. Nothing is written.

use std::collections::BTreeSet;
use std::sync::Arc;

use bygone_core::{Clock, ErrorKind, TargetError};
use bygone_lease::{Ending, Holdings, LookBounds, Moment};
use bygone_server::{
    Amount, Coverage, EndingHour, Inspection, LeaseInspection, NamespaceLeases, SourceKind, StageInspection,
    StagedFile, UncoveredTable,
};
use bygone_sql::Source;
use jiff::{Timestamp, ToSpan};

use crate::assembly::{Access, inspected_leases, inspected_stage, source_options};
use crate::config::Config;
use crate::init;

/// How far ahead it is told what ends.
const HOURS: i32 = 24;
/// How many staged files are told of.
const FILES: u64 = 50;

/// What a source holds, as far as its kind can tell that without going through all of it.
pub(super) async fn inspect(
    config: &Config,
    source: &str,
    kind: SourceKind,
    clock: &Arc<dyn Clock>,
) -> Result<Inspection, TargetError> {
    let mut inspection = Inspection::default();
    match kind {
        SourceKind::Database => inspection.coverage = Some(coverage(config, source, clock).await?),
        SourceKind::LeaseStore => inspection.leases = Some(leases(config, source, clock).await?),
        SourceKind::StagingArea => inspection.staged = Some(staged(config, source, clock).await?),
        // What lies in a tree or a bucket only who goes through all of it knows.
        _ => {}
    }
    Ok(inspection)
}

async fn leases(config: &Config, source: &str, clock: &Arc<dyn Clock>) -> Result<LeaseInspection, TargetError> {
    let store = inspected_leases(config, source, clock).await?;
    let holdings = store.holdings(LookBounds::default()).await;
    let holdings = holdings.map_err(|error| {
        TargetError::new(ErrorKind::Failed, "the lease store does not tell what it holds").with_source(error)
    })?;
    let hours = hours(&holdings, clock.now());
    let namespaces = holdings.namespaces.into_iter().map(|of| NamespaceLeases {
        namespace: of.namespace.into(),
        live: of.live,
        expired: of.expired,
        more: of.more,
    });
    Ok(LeaseInspection { namespaces: namespaces.collect(), more: holdings.more, hours })
}

/// Every hour from this one on, also those in which nothing ends.
fn hours(holdings: &Holdings, now: Timestamp) -> Vec<EndingHour> {
    let this = Timestamp::from_second(now.as_second().div_euclid(3_600) * 3_600).unwrap_or(now);
    let hour = |ahead: i32| {
        let begins = this.checked_add(ahead.hours()).unwrap_or(Timestamp::MAX);
        let Ending { leases, more } = holdings.ending.get(&Moment::from(begins)).copied().unwrap_or_default();
        EndingHour { begins, ending: leases, more }
    };
    (0..HOURS).map(hour).collect()
}

async fn staged(config: &Config, source: &str, clock: &Arc<dyn Clock>) -> Result<StageInspection, TargetError> {
    let (url, clock) = (config.sources[source].url.expose().to_owned(), Arc::clone(clock));
    let look = move || {
        let area = inspected_stage(&url)?;
        let told = area.metrics().and_then(|metrics| Ok((metrics, area.next_to_end(FILES, &*clock)?)));
        told.map_err(|error| {
            TargetError::new(error.kind(), "the staging area does not tell what it holds").with_source(error)
        })
    };
    let looked = tokio::task::spawn_blocking(look).await;
    let (metrics, (next, more)) =
        looked.map_err(|error| TargetError::new(ErrorKind::Failed, "the look did not end").with_source(error))??;
    let file = |file: bygone_files::stage::Upcoming| StagedFile {
        id: file.id.to_string(),
        name: file.name.to_string(),
        bytes: file.size,
        deadline: file.deadline,
        held: file.held,
    };
    Ok(StageInspection {
        total: Amount { count: metrics.total_count, bytes: metrics.total_bytes },
        persistent: Amount { count: metrics.persistent_count, bytes: metrics.persistent_bytes },
        expirable: Amount { count: metrics.expirable_count, bytes: metrics.expirable_bytes },
        next: next.into_iter().map(file).collect(),
        more,
    })
}

async fn coverage(config: &Config, source: &str, clock: &Arc<dyn Clock>) -> Result<Coverage, TargetError> {
    let policies = config.policies.iter().filter(|policy| policy.source == source);
    let known: BTreeSet<String> = policies.filter_map(|policy| Some(policy.rows()?.table.clone())).collect();
    let opened = Source::open(source_options(config, source, Access::Read)?).await?.shared();
    let (tables, proposals) = init::uncovered(&opened, &known, clock.now()).await?;
    let uncovered = proposals.into_iter().map(|proposal| UncoveredTable {
        proposal: proposal.policy(source),
        table: proposal.table,
        column: proposal.candidate.column,
        index: proposal.candidate.index,
        rows: proposal.rows,
    });
    Ok(Coverage { tables: tables as u64, uncovered: uncovered.collect() })
}
