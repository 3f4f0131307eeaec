//! An estate in memory: a shelf for each policy.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::memory::{Item, MemoryTarget, Shelf};
use bygone_core::{
    Boundary, Brake, Budget, Clock, Closed, Consent, ErrorKind, Gate, Hindrance, Job, Schedule, SystemClock, Target,
    TargetError, Turn,
};
use bygone_server::{Bound, Estate, Explanation, Inspection, PolicyCard, SourceCard, SourceKind};
use jiff::SignedDuration;

#[derive(Debug)]
pub(crate) struct Shelves {
    cards: Vec<PolicyCard>,
    items: Vec<(String, Shelf)>,
    budget: Budget,
    consent: Consent,
    is_fallen: bool,
    pub(crate) turn: Arc<TurnOf>,
    sources: Vec<SourceCard>,
    inspection: Inspection,
    explanation: Explanation,
    pub(crate) looks: Arc<Looks>,
}

/// Who looked.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    /// How often somebody looked at a source, or had a policy explained.
    pub(crate) taken: AtomicU64,
    /// How many look now.
    looking: AtomicU64,
    /// How many ever did at once.
    pub(crate) at_once: AtomicU64,
    /// Whoever looks waits for ever.
    pub(crate) is_hung: AtomicBool,
}

/// A gate that is always closed.
#[derive(Debug)]
struct Shut(String);

#[async_trait]
impl Gate for Shut {
    async fn closed(&self) -> Option<Closed> {
        Some(Closed { by: Hindrance::Lag, reason: self.0.clone() })
    }
}

/// Who has the turn.
#[derive(Debug, Default)]
pub(crate) struct TurnOf {
    pub(crate) is_theirs: AtomicBool,
    pub(crate) is_lost: AtomicBool,
    /// Whoever asks for it waits.
    pub(crate) is_slow: AtomicBool,
    pub(crate) asked: AtomicU64,
    pub(crate) taken: AtomicU64,
    pub(crate) given_back: AtomicU64,
}

#[async_trait]
impl Gate for TurnOf {
    async fn closed(&self) -> Option<Closed> {
        let is_lost = self.is_lost.load(Ordering::Acquire);
        is_lost.then(|| Closed { by: Hindrance::Held, reason: "the turn was lost".to_owned() })
    }
}

#[async_trait]
impl Turn for TurnOf {
    async fn give_back(&self) {
        self.given_back.fetch_add(1, Ordering::AcqRel);
    }
}

/// So many items of a minute ago, and one of next year.
pub(crate) fn shelf(items: u64) -> Shelf {
    let now = SystemClock::new().now();
    let due = (0..items).map(|at| Item::due(format!("due-{at:06}"), now - SignedDuration::from_mins(1)));
    Shelf::new(due.chain([Item::due("alive", now + SignedDuration::from_hours(24 * 365))]))
}

impl Shelves {
    pub(crate) fn new(shelves: &[(&str, &Shelf, Option<Schedule>)]) -> Self {
        let card = |(name, _, schedule): &(&str, &Shelf, Option<Schedule>)| PolicyCard {
            schedule: schedule.clone(),
            ..PolicyCard::new(*name, name.split('-').next().unwrap())
        };
        let cards: Vec<PolicyCard> = shelves.iter().map(card).collect();
        let names: BTreeSet<&str> = cards.iter().map(|card| card.source.as_str()).collect();
        let source = |name| SourceCard { name, kind: SourceKind::Directory, gates: Vec::new() };
        Self {
            sources: names.into_iter().map(|name| source(name.to_owned())).collect(),
            cards,
            items: shelves.iter().map(|(name, shelf, _)| ((*name).to_owned(), (*shelf).clone())).collect(),
            budget: Budget::default(),
            consent: Consent::Released,
            is_fallen: false,
            turn: Arc::default(),
            inspection: Inspection::default(),
            explanation: Explanation::default(),
            looks: Arc::default(),
        }
    }

    /// Its sources are of this kind, and hold this.
    pub(crate) fn holding(mut self, kind: SourceKind, inspection: Inspection) -> Self {
        self.sources.iter_mut().for_each(|source| source.kind = kind);
        self.inspection = inspection;
        self
    }

    /// Its policies mean this, and go about it so.
    pub(crate) fn meaning(mut self, meaning: &str, explanation: Explanation) -> Self {
        self.cards.iter_mut().for_each(|card| meaning.clone_into(&mut card.meaning));
        self.explanation = explanation;
        self
    }

    /// Its sources have a gate that is closed.
    pub(crate) fn shut(mut self, reason: &str) -> Self {
        self.sources.iter_mut().for_each(|source| source.gates.push(Arc::new(Shut(reason.to_owned()))));
        self
    }

    /// Its policies have a gate of their own that is closed.
    pub(crate) fn waiting(mut self, reason: &str) -> Self {
        self.cards.iter_mut().for_each(|card| card.gates.push(Arc::new(Shut(reason.to_owned()))));
        self
    }

    /// With a rest of so long after each page.
    pub(crate) fn resting(mut self, pause: Duration) -> Self {
        self.budget.pause = pause;
        self
    }

    /// Under the brake that policies have if nothing else is said.
    pub(crate) fn braked(self) -> Self {
        self.braked_by(Brake::default())
    }

    pub(crate) fn braked_by(mut self, brake: Brake) -> Self {
        self.consent = Consent::Brake(brake);
        self
    }

    /// With one of them that calls itself a lease store.
    pub(crate) fn with_leases(mut self, name: &str) -> Self {
        self.cards.iter_mut().filter(|card| card.name == name).for_each(|card| card.is_of_leases = true);
        self
    }

    /// Nobody can tell what would go.
    pub(crate) fn fallen(mut self) -> Self {
        self.is_fallen = true;
        self
    }

    /// One item a page, and a rest after each.
    pub(crate) fn slowly(mut self) -> Self {
        self.budget = Budget { page_items_max: 1, pause: Duration::from_millis(2), ..Budget::default() };
        self
    }
}

#[async_trait]
impl Estate for Shelves {
    fn policies(&self) -> &[PolicyCard] {
        &self.cards
    }

    async fn take_turn(&self, _: &str) -> Result<Option<Arc<dyn Turn>>, TargetError> {
        self.turn.asked.fetch_add(1, Ordering::AcqRel);
        while self.turn.is_slow.load(Ordering::Acquire) {
            tokio::task::yield_now().await;
        }
        let is_ours = !self.turn.is_theirs.load(Ordering::Acquire);
        Ok(is_ours.then(|| {
            self.turn.taken.fetch_add(1, Ordering::AcqRel);
            Arc::clone(&self.turn) as Arc<dyn Turn>
        }))
    }

    async fn bind(&self, _: &str, policies: &[String]) -> Bound {
        let wanted = self.items.iter().filter(|(name, _)| policies.contains(name));
        let job = |(name, shelf): &(String, Shelf)| {
            let target = MemoryTarget::new(name, shelf.clone());
            Job::new(Box::new(target), self.budget.clone()).with_consent(self.consent)
        };
        Bound { boundary: Boundary::at(SystemClock::new().now()), jobs: wanted.map(job).collect() }
    }

    async fn plan(&self, policy: &str) -> Result<serde_json::Value, TargetError> {
        if self.is_fallen {
            return Err(TargetError::new(ErrorKind::Unreachable, "the shelf has fallen down"));
        }
        let (_, items) = self.items.iter().find(|(name, _)| name == policy).unwrap();
        let survey = MemoryTarget::new(policy, items.clone()).survey(Boundary::at(SystemClock::new().now())).await?;
        Ok(serde_json::json!({ "policies": [{ "policy": policy, "would_remove": survey.bygone }] }))
    }

    fn sources(&self) -> &[SourceCard] {
        &self.sources
    }

    async fn inspect(&self, _: &str) -> Result<Inspection, TargetError> {
        self.look().await?;
        Ok(self.inspection.clone())
    }

    async fn explain(&self, _: &str) -> Result<Explanation, TargetError> {
        self.look().await?;
        Ok(self.explanation.clone())
    }
}

impl Shelves {
    async fn look(&self) -> Result<(), TargetError> {
        self.looks.taken.fetch_add(1, Ordering::AcqRel);
        if self.looks.is_hung.load(Ordering::Acquire) {
            std::future::pending::<()>().await;
        }
        let looking = self.looks.looking.fetch_add(1, Ordering::AcqRel) + 1;
        self.looks.at_once.fetch_max(looking, Ordering::AcqRel);
        // Others have the time to come along.
        tokio::task::yield_now().await;
        self.looks.looking.fetch_sub(1, Ordering::AcqRel);
        if self.is_fallen {
            let fallen = TargetError::new(ErrorKind::Unreachable, "the shelf has fallen down");
            return Err(fallen.with_help("put it up again"));
        }
        Ok(())
    }
}
