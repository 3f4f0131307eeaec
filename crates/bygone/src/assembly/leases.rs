//! Policies over lease stores: transactions, leases and decisions, one after another, as one target.

use std::sync::Arc;

use async_trait::async_trait;
use bygone_core::{Boundary, Clock, Cursor, ErrorKind, Page, PageRequest, Survey, Target, TargetError, Turn};
use bygone_lease::{LeaseStore, LeaseTarget, StoreTurn, Swept, SystemChance};
use jiff::SignedDuration;

use super::lease_stores::{LeaseSource, LeaseStores, failure, not_there};
use super::{Access, BoundTarget, Sketch};
use crate::config::{Config, Policy};

/// In this order: leases end by the decisions of transactions, and those are needed until then.
const PARTS: [Swept; 3] = [Swept::Transactions, Swept::Leases, Swept::Decisions];

/// Binds a policy over a lease store. One that is not there is never made by a policy over it.
pub(super) async fn bind(
    config: &Config,
    policy: &Policy,
    access: Access,
    clock: &Arc<dyn Clock>,
    stores: &LeaseStores,
) -> Result<BoundTarget, TargetError> {
    let source = source_of(config, &policy.source)?;
    let store = match access {
        Access::Write => stores.existing(&source).await?,
        Access::Read => inspect(&source, clock).await?,
    };
    let sketch = Sketch {
        place: source.url()?.to_string(),
        walk: "index",
        why: "an index says which keys to look at in which hour",
        findings: Vec::new(),
        survey_code: "leases::survey",
    };
    Ok(BoundTarget::Other(Box::new(StoreTarget::new(&store, policy)), sketch))
}

fn source_of(config: &Config, name: &str) -> Result<LeaseSource, TargetError> {
    let none = || TargetError::new(ErrorKind::Unfit, format!("the source `{name}` is no lease store")).about("source");
    LeaseSource::of(config, name).ok_or_else(none)
}

/// The lease store of a source, only to be looked at.
pub(crate) async fn inspected_leases(
    config: &Config,
    source: &str,
    clock: &Arc<dyn Clock>,
) -> Result<LeaseStore, TargetError> {
    inspect(&source_of(config, source)?, clock).await
}

/// For who only looks: nothing can be written through it.
async fn inspect(source: &LeaseSource, clock: &Arc<dyn Clock>) -> Result<LeaseStore, TargetError> {
    let url = source.url()?;
    if !url.exists().await.map_err(failure)? {
        return Err(not_there(source));
    }
    let store = url.inspect_by(source.options(), Arc::clone(clock), Arc::new(SystemChance)).await;
    store.map_err(failure)
}

/// Takes the turn to sweep a lease store; `None` when somebody else has it.
pub(crate) async fn lease_turn(
    config: &Config,
    source: &str,
    stores: &LeaseStores,
) -> Result<Option<Arc<dyn Turn>>, TargetError> {
    let store = stores.existing(&source_of(config, source)?).await?;
    let turn = StoreTurn::take(&store).await.map_err(failure)?;
    Ok(turn.map(|turn| turn as Arc<dyn Turn>))
}

/// The parts of a store, swept one after another.
struct StoreTarget {
    policy: String,
    source: String,
    parts: [LeaseTarget; PARTS.len()],
    /// The part whose pages are under way.
    at: usize,
}

impl StoreTarget {
    fn new(store: &LeaseStore, policy: &Policy) -> Self {
        let part = |swept| LeaseTarget::new(swept, &policy.name, &policy.source, store);
        Self { policy: policy.name.clone(), source: policy.source.clone(), parts: PARTS.map(part), at: 0 }
    }
}

#[async_trait]
impl Target for StoreTarget {
    fn policy(&self) -> &str {
        &self.policy
    }

    fn source(&self) -> &str {
        &self.source
    }

    fn page_items_max(&self) -> u64 {
        self.parts.iter().map(Target::page_items_max).min().unwrap_or(u64::MAX)
    }

    async fn survey(&mut self, boundary: Boundary) -> Result<Survey, TargetError> {
        let mut whole = Survey { bygone: Some(0), ..Survey::default() };
        self.at = 0;
        for part in &mut self.parts {
            let survey = part.survey(boundary).await?;
            // What one part could not count, nobody has counted.
            whole.bygone = whole.bygone.zip(survey.bygone).map(|(all, more)| all + more);
            whole.unreadable += survey.unreadable;
            whole.oldest = [whole.oldest, survey.oldest].into_iter().flatten().min();
            whole.requests += survey.requests;
            for warning in survey.warnings {
                if !whole.warnings.contains(&warning) {
                    whole.warnings.push(warning);
                }
            }
        }
        Ok(whole)
    }

    async fn holds_at_least(&mut self, items: u64) -> Result<bool, TargetError> {
        for part in &mut self.parts {
            if part.holds_at_least(items).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn page(&mut self, request: PageRequest<'_>) -> Result<Page, TargetError> {
        let part = &mut self.parts[self.at];
        let mut page = part.page(request).await?;
        // A cursor of one part means nothing to another, and no two are equal.
        page.next = match page.next {
            Some(next) => Some(Cursor::new(format!("{}:{}", self.at, next.as_str()))),
            None if self.at + 1 < self.parts.len() => {
                self.at += 1;
                Some(Cursor::new(format!("{}:", self.at)))
            }
            None => None,
        };
        Ok(page)
    }

    async fn settle(&mut self) -> Result<(), TargetError> {
        for part in &mut self.parts {
            part.settle().await?;
        }
        Ok(())
    }

    /// What all parts have counted.
    fn counted(&mut self) -> Vec<(&'static str, u64)> {
        self.parts.iter_mut().flat_map(Target::counted).collect()
    }

    async fn lag(&mut self, boundary: Boundary) -> Result<Option<SignedDuration>, TargetError> {
        let mut longest = None;
        for part in &mut self.parts {
            longest = longest.max(part.lag(boundary).await?);
        }
        Ok(longest)
    }
}
