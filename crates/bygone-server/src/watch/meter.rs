//! Numbers for Prometheus.
//!
//! What was done is counted as it happens, from the events of the engine. How things stand is asked for when somebody
//! scrapes. Labels are names of the configuration, never keys or values of data: their number is known beforehand.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use bygone_core::{Event, KeptBack, Observer, Outcome, PolicyReport};
use jiff::Timestamp;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::{Alarm, AlarmKind};
use crate::daemon::Configuration;
use crate::estate::{PolicyCard, Staged};

/// What pages take: from a few milliseconds to a minute.
const PAGE_SECONDS: [f64; 9] = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];
/// What a policy's part of a sweep takes: up to hours.
const SWEEP_SECONDS: [f64; 8] = [0.1, 1.0, 10.0, 60.0, 300.0, 1_800.0, 7_200.0, 28_800.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfPolicy {
    policy: String,
    source: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfReason {
    policy: String,
    source: String,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfOutcome {
    policy: String,
    source: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfAlarm {
    policy: String,
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfStaged {
    source: String,
    /// `persistent` or `expirable`: together they are all.
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfOperation {
    source: String,
    operation: String,
    result: &'static str,
}

type Count = Family<OfPolicy, Counter>;
type Level = Family<OfPolicy, Gauge<f64, AtomicU64>>;
type Spread = Family<OfPolicy, Histogram, fn() -> Histogram>;

/// How a policy stands when somebody scrapes.
#[derive(Debug)]
pub(crate) struct Standing {
    pub(crate) policy: String,
    pub(crate) source: String,
    pub(crate) lag_seconds: Option<u64>,
    pub(crate) backlog: Option<u64>,
    pub(crate) completed: Option<Timestamp>,
    pub(crate) next_run: Option<Timestamp>,
    pub(crate) is_held: bool,
    pub(crate) alarms: Vec<Alarm>,
}

/// Everything that is counted.
pub(crate) struct Meter {
    removed: Count,
    cleared: Count,
    bytes: Count,
    pages: Count,
    page_failures: Count,
    kept_back: Family<OfReason, Counter>,
    runs: Family<OfOutcome, Counter>,
    aborts: Count,
    page_seconds: Spread,
    sweep_seconds: Spread,
    leases_cleared: Count,
    markers_deleted: Count,
    index_entries_deleted: Count,
    messages_deleted: Count,
    lease_operations: Family<OfOperation, Counter>,
    /// One scrape at a time: what stands is set anew with each.
    scraped: Mutex<Scraped>,
}

struct Scraped {
    registry: Registry,
    lag: Level,
    backlog: Level,
    last_success: Level,
    next_run: Level,
    held: Level,
    alarms: Family<OfAlarm, Gauge>,
    staged_files: Family<OfStaged, Gauge<u64, AtomicU64>>,
    staged_bytes: Family<OfStaged, Gauge<u64, AtomicU64>>,
    config_rejected: Gauge,
    config_restart_needed: Gauge,
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").finish_non_exhaustive()
    }
}

fn page_seconds() -> Histogram {
    Histogram::new(PAGE_SECONDS)
}

fn sweep_seconds() -> Histogram {
    Histogram::new(SWEEP_SECONDS)
}

impl Meter {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("bygone");
        let mut count = |name: &str, help: &str| {
            let count = Count::default();
            registry.register(name, help, count.clone());
            count
        };
        let removed = count("items_removed", "Items removed because they were past their time");
        let cleared = count("items_cleared", "Items that were emptied of what a policy names, and stayed");
        let pages = count("pages", "Pages committed");
        let page_failures = count("page_failures", "Pages that failed and were tried otherwise");
        let aborts = count("aborts_on_activity", "Runs that ended because their source was in use");
        let leases_cleared = count("leases_cleared", "Expired leases cleared by sweeps");
        let markers_deleted = count("decision_markers_deleted", "Decisions of transactions that were forgotten");
        let index_entries_deleted = count("index_entries_deleted", "Entries taken out of the index of a lease store");
        let messages_deleted = count("messages_deleted", "Messages removed because they were past their time");
        let bytes = Count::default();
        registry.register_with_unit("removed", "Bytes freed, where a source tells", Unit::Bytes, bytes.clone());
        let lease_operations = Family::default();
        let help = "Operations on lease stores that were asked for, by what came of them";
        registry.register("lease_operations", help, lease_operations.clone());
        let kept_back = Family::default();
        registry.register("items_kept_back", "Items past their time that were left, by reason", kept_back.clone());
        let runs = Family::default();
        registry.register("runs", "Runs of a policy that ended, by outcome", runs.clone());
        let page_spread = Spread::new_with_constructor(page_seconds);
        registry.register_with_unit("page", "How long pages took", Unit::Seconds, page_spread.clone());
        let sweep_spread = Spread::new_with_constructor(sweep_seconds);
        registry.register_with_unit("sweep", "How long runs of a policy took", Unit::Seconds, sweep_spread.clone());
        Self {
            removed,
            cleared,
            bytes,
            pages,
            page_failures,
            kept_back,
            runs,
            aborts,
            page_seconds: page_spread,
            sweep_seconds: sweep_spread,
            leases_cleared,
            markers_deleted,
            index_entries_deleted,
            messages_deleted,
            lease_operations,
            scraped: Mutex::new(Scraped::new(registry)),
        }
    }

    /// Whoever looks for what has grown misses the first event of a series that begins with it: all that these policies can have
    /// stands there from the start.
    pub(crate) fn expect(&self, cards: &[PolicyCard]) {
        for card in cards {
            let (policy, source) = (&card.name, &card.source);
            let labels = || OfPolicy { policy: policy.clone(), source: source.clone() };
            for count in [&self.removed, &self.cleared, &self.bytes, &self.pages, &self.page_failures, &self.aborts] {
                drop(count.get_or_create(&labels()));
            }
            let of_leases =
                [&self.leases_cleared, &self.markers_deleted, &self.index_entries_deleted, &self.messages_deleted];
            for count in of_leases.into_iter().filter(|_| card.is_of_leases) {
                drop(count.get_or_create(&labels()));
            }
            for spread in [&self.page_seconds, &self.sweep_seconds] {
                drop(spread.get_or_create(&labels()));
            }
            for (reason, _) in reasons(&KeptBack::default()) {
                let labels = OfReason { policy: policy.clone(), source: source.clone(), reason };
                drop(self.kept_back.get_or_create(&labels));
            }
            for outcome in Outcome::ALL.map(Outcome::as_str) {
                drop(self.runs.get_or_create(&OfOutcome { policy: policy.clone(), source: source.clone(), outcome }));
            }
        }
    }

    /// Listens to a sweep of a source.
    pub(crate) fn of_source(self: &Arc<Self>, source: &str, and: Arc<dyn Observer>) -> Arc<dyn Observer> {
        Arc::new(Metered { meter: Arc::clone(self), source: source.to_owned(), and })
    }

    /// An operation on the lease store of a source has ended.
    pub(crate) fn operated(&self, source: &str, operation: &str, result: &'static str) {
        let (source, operation) = (source.to_owned(), operation.to_owned());
        self.lease_operations.get_or_create(&OfOperation { source, operation, result }).inc();
    }

    /// All numbers, as `OpenMetrics` has them.
    pub(crate) fn text(
        &self,
        standings: &[Standing],
        staged: &[Staged],
        configuration: &Configuration,
    ) -> Result<String, fmt::Error> {
        let scraped = self.scraped.lock().unwrap_or_else(PoisonError::into_inner);
        scraped.set(standings);
        scraped.set_staged(staged);
        scraped.config_rejected.set(i64::from(configuration.rejected.is_some()));
        scraped.config_restart_needed.set(i64::from(configuration.restart_needed.is_some()));
        let mut told = String::new();
        text::encode(&mut told, &scraped.registry)?;
        Ok(told)
    }

    fn ended(&self, source: &str, run: &PolicyReport) {
        let labels = || OfPolicy { policy: run.policy.clone(), source: source.to_owned() };
        for (reason, count) in reasons(&run.tally.kept_back) {
            let OfPolicy { policy, source } = labels();
            self.kept_back.get_or_create(&OfReason { policy, source, reason }).inc_by(count);
        }
        let OfPolicy { policy, source } = labels();
        self.runs.get_or_create(&OfOutcome { policy, source, outcome: run.outcome.as_str() }).inc();
        self.aborts.get_or_create(&labels()).inc_by(u64::from(run.outcome == Outcome::Activity));
        #[expect(clippy::cast_precision_loss, reason = "seconds for people; a run of 285 years may be off")]
        self.sweep_seconds.get_or_create(&labels()).observe(run.elapsed_ms as f64 / 1_000.0);
    }
}

/// What is kept back, by its reason.
fn reasons(kept_back: &KeptBack) -> [(&'static str, u64); 4] {
    let KeptBack { referenced, locked, unreadable, conflict } = *kept_back;
    [("referenced", referenced), ("locked", locked), ("unreadable", unreadable), ("conflict", conflict)]
}

impl Scraped {
    fn new(mut registry: Registry) -> Self {
        let mut level = |name: &str, help: &str, unit: Option<Unit>| {
            let level = Level::default();
            match unit {
                Some(unit) => registry.register_with_unit(name, help, unit, level.clone()),
                None => registry.register(name, help, level.clone()),
            }
            level
        };
        let lag =
            level("lag", "How long the oldest item has been past its time, after the last run", Some(Unit::Seconds));
        let backlog = level("backlog_items", "Items past their time that the last run left", None);
        let last_success =
            level("last_success_timestamp", "When a run of the policy was last complete", Some(Unit::Seconds));
        let next_run = level("next_run_timestamp", "When the policy runs next by itself", Some(Unit::Seconds));
        let held = level("held", "1 while the policy is paused", None);
        let alarms = Family::default();
        registry.register("alarm", "1 while something is wrong that a person should look at", alarms.clone());
        let mut of_config = |name: &str, what: &str| {
            let gauge = Gauge::default();
            registry.register(name, what, gauge.clone());
            gauge
        };
        let config_rejected = of_config(
            "config_rejected",
            "1 while the configuration on disk cannot be used, and an older one is in force",
        );
        let config_restart_needed = of_config(
            "config_restart_needed",
            "1 while the configuration says something that only a restart takes over",
        );
        let (staged_files, staged_bytes) = (Family::default(), Family::default());
        registry.register("staged_files", "Files in staging areas, swept or not", staged_files.clone());
        registry.register_with_unit("staged", "What those files hold", Unit::Bytes, staged_bytes.clone());
        Self {
            registry,
            lag,
            backlog,
            last_success,
            next_run,
            held,
            alarms,
            staged_files,
            staged_bytes,
            config_rejected,
            config_restart_needed,
        }
    }

    fn set_staged(&self, staged: &[Staged]) {
        self.staged_files.clear();
        self.staged_bytes.clear();
        for Staged { source, metrics } in staged {
            let kinds = [
                ("persistent", metrics.persistent_count, metrics.persistent_bytes),
                ("expirable", metrics.expirable_count, metrics.expirable_bytes),
            ];
            for (kind, files, bytes) in kinds {
                let labels = OfStaged { source: source.clone(), kind };
                self.staged_files.get_or_create(&labels).set(files);
                self.staged_bytes.get_or_create(&labels).set(bytes);
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a gauge is a float; numbers beyond 2^53 may be off by one")]
    fn set(&self, standings: &[Standing]) {
        for level in [&self.lag, &self.backlog, &self.last_success, &self.next_run, &self.held] {
            level.clear();
        }
        self.alarms.clear();
        for standing in standings {
            let labels = OfPolicy { policy: standing.policy.clone(), source: standing.source.clone() };
            let seconds = |at: Timestamp| at.as_millisecond() as f64 / 1_000.0;
            let levels = [
                (&self.lag, standing.lag_seconds.map(|lag| lag as f64)),
                (&self.backlog, standing.backlog.map(|items| items as f64)),
                (&self.last_success, standing.completed.map(seconds)),
                (&self.next_run, standing.next_run.map(seconds)),
                (&self.held, Some(f64::from(u8::from(standing.is_held)))),
            ];
            for (level, value) in levels {
                if let Some(value) = value {
                    level.get_or_create(&labels).set(value);
                }
            }
            for kind in AlarmKind::ALL {
                let labels = OfAlarm { policy: standing.policy.clone(), kind: kind.as_str() };
                let is_there = standing.alarms.iter().any(|alarm| alarm.kind == kind);
                self.alarms.get_or_create(&labels).set(i64::from(is_there));
            }
        }
    }
}

/// Counts what happens in a sweep, and passes it on.
struct Metered {
    meter: Arc<Meter>,
    source: String,
    and: Arc<dyn Observer>,
}

impl Observer for Metered {
    fn on(&self, event: &Event<'_>) {
        let labels = |policy: &str| OfPolicy { policy: policy.to_owned(), source: self.source.clone() };
        let meter = &self.meter;
        match event {
            Event::PageSwept { policy, page, time, .. } => {
                let labels = labels(policy);
                meter.removed.get_or_create(&labels).inc_by(page.removed);
                meter.cleared.get_or_create(&labels).inc_by(page.cleared);
                meter.bytes.get_or_create(&labels).inc_by(page.bytes.unwrap_or(0));
                meter.pages.get_or_create(&labels).inc();
                meter.page_seconds.get_or_create(&labels).observe(time.as_secs_f64());
            }
            Event::PageFailed { policy, .. } => {
                meter.page_failures.get_or_create(&labels(policy)).inc();
            }
            Event::Counted { policy, what, count } => {
                let counter = match *what {
                    "leases_cleared" => &meter.leases_cleared,
                    "markers_deleted" => &meter.markers_deleted,
                    "index_entries_deleted" => &meter.index_entries_deleted,
                    "messages_deleted" => &meter.messages_deleted,
                    _ => return self.and.on(event),
                };
                counter.get_or_create(&labels(policy)).inc_by(*count);
            }
            // A policy may run several times in a sweep: what it kept back is known in the end.
            Event::SweepEnded { report } => report.policies.iter().for_each(|run| meter.ended(&self.source, run)),
            _ => {}
        }
        self.and.on(event);
    }
}
