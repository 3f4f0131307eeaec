//! Policies over shelves in memory: what is measured is the daemon, not a database.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::memory::{Item, MemoryTarget, Shelf};
use bygone_core::{
    Boundary, Budget, Clock, Closed, ErrorKind, Gate, Job, Schedule, ScheduleError, SystemClock, TargetError, Turn,
};
use bygone_lease::LeaseStore;
use bygone_server::{Absent, Bound, Estate, NoLeases, PolicyCard};
use jiff::SignedDuration;
use jiff::tz::TimeZone;

/// Policies of one source.
pub(super) const OF_A_SOURCE: usize = 100;

/// As many policies as somebody may have, half of them by cron in a zone and half by an interval.
#[derive(Debug)]
pub(super) struct Shelves {
    cards: Vec<PolicyCard>,
    store: LeaseStore,
}

impl Shelves {
    pub(super) fn new(policies: usize, store: LeaseStore) -> Result<Self, ScheduleError> {
        Ok(Self { cards: (0..policies).map(card).collect::<Result<_, _>>()?, store })
    }

    /// The policies of each source.
    pub(super) fn by_source(&self) -> Vec<Vec<String>> {
        self.cards.chunks(OF_A_SOURCE).map(|cards| cards.iter().map(|card| card.name.clone()).collect()).collect()
    }
}

fn card(at: usize) -> Result<PolicyCard, ScheduleError> {
    let zone = TimeZone::get("Europe/Stockholm").unwrap_or(TimeZone::UTC);
    let schedule = if at.is_multiple_of(2) {
        Schedule::cron("0 5 */4 * * *", zone)?
    } else {
        Schedule::every(Duration::from_secs(4 * 3_600))?.with_jitter(Duration::from_secs(600))
    };
    let card = PolicyCard::new(format!("expired-things-of-table-{at}"), format!("database-{}", at / OF_A_SOURCE));
    Ok(PolicyCard { schedule: Some(schedule), ..card })
}

/// Nobody else sweeps here.
#[derive(Debug)]
struct Alone;

#[async_trait]
impl Gate for Alone {
    async fn closed(&self) -> Option<Closed> {
        None
    }
}

#[async_trait]
impl Turn for Alone {
    async fn give_back(&self) {}
}

#[async_trait]
impl Estate for Shelves {
    fn policies(&self) -> &[PolicyCard] {
        &self.cards
    }

    async fn take_turn(&self, _: &str) -> Result<Option<Arc<dyn Turn>>, TargetError> {
        Ok(Some(Arc::new(Alone)))
    }

    async fn bind(&self, _: &str, policies: &[String]) -> Bound {
        let now = SystemClock::new().now();
        let items = Shelf::new([
            Item::due("due", now - SignedDuration::from_mins(1)),
            Item::due("alive", now + SignedDuration::from_hours(24)),
        ]);
        let job = |policy: &String| {
            let own = Shelf::new(items.items());
            Job::new(Box::new(MemoryTarget::new(policy, own)), Budget::default())
        };
        Bound { boundary: Boundary::at(now), jobs: policies.iter().map(job).collect() }
    }

    async fn plan(&self, _: &str) -> Result<serde_json::Value, TargetError> {
        Err(TargetError::new(ErrorKind::Failed, "nobody plans here"))
    }

    fn has_leases(&self, source: &str) -> bool {
        source == "leases"
    }

    async fn leases(&self, source: &str, _: Absent) -> Result<LeaseStore, NoLeases> {
        if self.has_leases(source) { Ok(self.store.clone()) } else { Err(NoLeases::NoSuchSource) }
    }
}
