//! Policies over lease stores: transactions, leases and decisions, one after another, as one target.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::{Boundary, Clock, Cursor, ErrorKind, Page, PageRequest, Survey, Target, TargetError};
use bygone_lease::storage::StorageError;
use bygone_lease::{Environment, Error, LeaseStore, LeaseTarget, Options, StoreUrl, Swept, SystemChance};
use jiff::SignedDuration;

use super::{Access, BoundTarget, Sketch};
use crate::config::{Leases, Policy};

/// In this order: leases end by the decisions of transactions, and those are needed until then.
const PARTS: [Swept; 3] = [Swept::Transactions, Swept::Leases, Swept::Decisions];

/// Binds a policy over the lease store of a URL. One that is not there is never made by a policy over it.
pub(super) async fn bind(
    url: &str,
    policy: &Policy,
    leases: &Leases,
    access: Access,
    clock: &Arc<dyn Clock>,
) -> Result<BoundTarget, TargetError> {
    let unfit = |message: String| TargetError::new(ErrorKind::Unfit, message).about("source");
    let url = StoreUrl::parse(url, Environment::of_process()).map_err(|error| unfit(error.to_string()))?;
    if !url.exists().await.map_err(failure)? {
        let help = "correct the url; programs, `bygone lease acquire` and `bygone queue send` make a store";
        return Err(unfit(format!("there is no lease store at {url}")).with_help(help));
    }
    let tombstone_keep = Duration::try_from(leases.keep).unwrap_or(Duration::MAX);
    let options = Options { tombstone_keep, ..Options::default() };
    let (clock, chance) = (Arc::clone(clock), Arc::new(SystemChance));
    let store = match access {
        Access::Read => url.inspect_by(options, clock, chance).await,
        Access::Write => url.open_by(options, clock, chance).await,
    };
    let target = StoreTarget::new(&store.map_err(failure)?, policy);
    let sketch = Sketch {
        place: url.to_string(),
        walk: "index",
        why: "an index says which keys to look at in which hour",
        findings: Vec::new(),
        survey_code: "leases::survey",
    };
    Ok(BoundTarget::Other(Box::new(target), sketch))
}

fn failure(error: Error) -> TargetError {
    let kind = match &error {
        Error::Throttled | Error::Contended { .. } => ErrorKind::Busy,
        Error::ClockSkew { .. } => ErrorKind::Skewed,
        Error::Storage(StorageError::Lying { .. }) => ErrorKind::Unfit,
        Error::Storage(_) | Error::OutcomeUnknown { .. } => ErrorKind::Unreachable,
        _ => ErrorKind::Failed,
    };
    TargetError::new(kind, "the lease store cannot be opened").about("source").with_source(error)
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

    async fn lag(&mut self, boundary: Boundary) -> Result<Option<SignedDuration>, TargetError> {
        let mut longest = None;
        for part in &mut self.parts {
            longest = longest.max(part.lag(boundary).await?);
        }
        Ok(longest)
    }
}
