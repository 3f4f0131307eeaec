//! From the configuration to bound policies and one boundary: what every verb that meets a source begins with.

mod bound_target;
mod files;
mod gates;
mod lease_stores;
mod leases;
mod rows;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Boundary, Brake, Budget, Clock, Consent, Duty, Job, Neighbours, PAGE_ITEMS_MAX, TargetError};
use bygone_sql::{Engine, RowTarget, SourceUrl, arrange};
use jiff::{SignedDuration, Timestamp};

pub(crate) use bound_target::{BoundTarget, Finding, Sketch};
pub(crate) use files::inspected_stage;
pub(crate) use gates::{IdleGate, gates_of};
pub(crate) use lease_stores::{LeaseSource, LeaseStores};
pub(crate) use leases::{inspected_leases, lease_turn};
pub(crate) use rows::row_policy;
pub(crate) use source::{directory, open_for_long, source_options};

use self::gates::neighbours_of;
use self::source::{Opened, Shared, open};
use crate::config::{self, Config, Policy, Subject};
use crate::problem::Problem;

/// A policy with its target, or with the reason why it has none.
pub(crate) struct Bound<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) target: Result<BoundTarget, TargetError>,
    /// The policies of which rows may come free when this one removes some.
    pub(crate) frees: Vec<String>,
    /// The policies that may remove what they could not, when this one has done something.
    pub(crate) unblocks: Vec<String>,
}

impl Bound<'_> {
    /// The target, if it was bound and is rows.
    pub(crate) fn rows(&self) -> Option<&RowTarget> {
        self.target.as_ref().ok()?.rows()
    }
}

/// Policies bound to their sources, in the order in which they run, under one boundary.
pub(crate) struct Assembly<'a> {
    pub(crate) boundary: Boundary,
    pub(crate) bound: Vec<Bound<'a>>,
    /// Who else is at work in a source, for the policies that give way to them.
    neighbours: BTreeMap<String, Arc<dyn Neighbours>>,
}

impl Assembly<'_> {
    /// What somebody should know of each policy as it stands beside the others, in their order.
    ///
    /// `counted` says whether rows that the database would change by itself are counted, too.
    pub(crate) async fn findings(&self, counted: bool) -> Vec<Result<Vec<Finding>, TargetError>> {
        let mut findings = Vec::with_capacity(self.bound.len());
        for bound in &self.bound {
            findings.push(self.findings_of(bound, counted).await);
        }
        findings
    }

    /// The same of one of them.
    pub(crate) async fn findings_of(&self, bound: &Bound<'_>, counted: bool) -> Result<Vec<Finding>, TargetError> {
        let rows: Vec<&RowTarget> = self.bound.iter().filter_map(Bound::rows).collect();
        match &bound.target {
            Ok(target) => target.findings(&rows, counted.then_some(self.boundary)).await,
            Err(_) => Ok(Vec::new()),
        }
    }

    /// The policies as the engine takes them: under their brakes, unless somebody consented to more. Those that could not
    /// be bound are among them, and are told one by one.
    pub(crate) async fn into_jobs(
        self,
        consents: &BTreeMap<&str, Consent>,
        mut tell: impl FnMut(&Policy, &TargetError),
    ) -> Vec<Job> {
        let findings = self.findings(false).await;
        let mut jobs = Vec::with_capacity(self.bound.len());
        for (Bound { policy, target, frees, unblocks }, findings) in self.bound.into_iter().zip(findings) {
            // They are for people to read before a first sweep: one that cannot find them out is no worse for that.
            let warnings: Vec<String> = match findings {
                Ok(findings) => findings.into_iter().map(|finding| finding.message).collect(),
                Err(error) => vec![format!("what hangs on the rows could not be read: {}", error.full_message())],
            };
            let consent = consents.get(policy.name.as_str()).copied().unwrap_or(Consent::Brake(brake(policy)));
            jobs.push(match target {
                Ok(target) => {
                    let job = Job::new(target.into_target(), budget(policy)).with_consent(consent);
                    let job = job.that_frees(frees).that_unblocks(unblocks).with_warnings(warnings);
                    match self.neighbours.get(&policy.source) {
                        Some(neighbours) => job.beside(Arc::clone(neighbours)),
                        None => job,
                    }
                }
                Err(error) => {
                    tell(policy, &error);
                    Job::unbound(&policy.name, &policy.source, error)
                }
            });
        }
        jobs
    }
}

/// Whether the source is only looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// For verbs that only look.
    Read,
    /// For `sweep`, and for guards that are made.
    Write,
}

/// The policies of those names, or all of them.
pub(crate) fn select<'a>(config: &'a Config, names: &[String]) -> Result<Vec<&'a Policy>, Problem> {
    for name in names {
        if config.disabled.contains(name) {
            let help = "remove its `enabled = false`, or change `on` and `off` of its `[[use]]`";
            return Err(Problem::usage(format!("the policy `{name}` is switched off"), help));
        }
        if !config.policies.iter().any(|policy| &policy.name == name) {
            let known: Vec<&str> = config.policies.iter().map(|policy| policy.name.as_str()).collect();
            let nearest = known.iter().min_by_key(|known| strsim::damerau_levenshtein(known, name));
            let help = nearest.map_or_else(String::new, |nearest| format!("did you mean `{nearest}`?"));
            return Err(Problem::usage(format!("there is no policy `{name}`"), help));
        }
    }
    Ok(config.policies.iter().filter(|policy| names.is_empty() || names.contains(&policy.name)).collect())
}

/// The same, of those that sweep rows: for verbs that speak of tables. One that is named must be such a policy.
pub(crate) fn select_rows<'a>(config: &'a Config, names: &[String]) -> Result<Vec<&'a Policy>, Problem> {
    let chosen = select(config, names)?;
    if let Some(other) = chosen.iter().find(|policy| policy.rows().is_none() && !names.is_empty()) {
        let message = format!("the policy `{}` sweeps no rows", other.name);
        return Err(Problem::usage(message, "name policies over tables of a database"));
    }
    Ok(chosen.into_iter().filter(|policy| policy.rows().is_some()).collect())
}

/// Refuses policies of a source whose database lacks what is asked of it.
pub(crate) fn refuse(
    config: &Config,
    policies: &[&Policy],
    lacks: impl Fn(Engine) -> Option<&'static str>,
) -> Result<(), Problem> {
    for policy in policies {
        // A url that cannot be read is told of when it is opened.
        let url = SourceUrl::parse(config.sources[&policy.source].url.expose()).ok();
        if let Some(lacks) = url.and_then(|url| lacks(url.engine())) {
            let message = format!("policy `{}`: {lacks}", policy.name);
            return Err(Problem::usage(message, "name the policies that are meant, of sources that can"));
        }
    }
    Ok(())
}

/// Opens the sources, reads their clocks, captures the boundary and binds the policies. Nothing here is fatal to
/// more than the policies of one source.
pub(crate) async fn assemble<'a>(
    config: &Config,
    policies: Vec<&'a Policy>,
    access: Access,
    clock: &Arc<dyn Clock>,
) -> Assembly<'a> {
    assemble_over(config, policies, access, clock, &LeaseStores::new(clock)).await
}

/// The same for who keeps lease stores open.
pub(crate) async fn assemble_over<'a>(
    config: &Config,
    policies: Vec<&'a Policy>,
    access: Access,
    clock: &Arc<dyn Clock>,
    stores: &LeaseStores,
) -> Assembly<'a> {
    let mut sources: BTreeMap<&str, Result<Opened, Shared>> = BTreeMap::new();
    let mut clocks: Vec<Timestamp> = Vec::new();
    for policy in &policies {
        if !sources.contains_key(policy.source.as_str()) {
            let opened = open(config, &policy.source, access, clock).await;
            clocks.extend(opened.as_ref().ok().and_then(|(_, now)| *now));
            sources.insert(&policy.source, opened.map(|(source, _)| source).map_err(Shared::from));
        }
    }
    let boundary = Boundary::earliest(clock.now(), clocks);
    let neighbours = policies.iter().filter(|policy| policy.budget.duty != Duty::FULL);
    let neighbours = neighbours.map(|policy| policy.source.as_str()).collect::<BTreeSet<_>>().into_iter();
    let neighbours =
        neighbours.filter_map(|name| Some((name.to_owned(), neighbours_of(&config.sources[name], clock)?)));
    let neighbours = neighbours.collect();
    let mut bound = Vec::new();
    for policy in policies {
        let target = match &sources[policy.source.as_str()] {
            Ok(source) => bind(config, source, policy, access, clock, stores).await,
            Err(error) => Err(error.to_error()),
        };
        bound.push(Bound { policy, target, frees: Vec::new(), unblocks: Vec::new() });
    }
    Assembly { boundary, bound: arranged(bound), neighbours }
}

async fn bind(
    config: &Config,
    source: &Opened,
    policy: &Policy,
    access: Access,
    clock: &Arc<dyn Clock>,
    stores: &LeaseStores,
) -> Result<BoundTarget, TargetError> {
    match (source, &policy.subject) {
        (Opened::Database(database), Subject::Rows(rows)) => {
            let target = RowTarget::bind(database, &row_policy(&policy.name, rows)).await?;
            Ok(BoundTarget::Rows(Box::new(target)))
        }
        (Opened::Directory(_) | Opened::Bucket(_), Subject::Leases(_)) => {
            leases::bind(config, policy, access, clock, stores).await
        }
        (Opened::Directory(directory), _) => files::in_directory(directory, policy, access, clock),
        (Opened::Bucket(bucket), _) => files::in_bucket(bucket, policy),
        // The configuration was refused where a kind and its source do not fit.
        (Opened::Database(_), _) => Err(files::misfit(policy)),
    }
}

/// Children before parents, and whoever is said to come after another after it.
fn arranged(mut bound: Vec<Bound<'_>>) -> Vec<Bound<'_>> {
    let pair = |a: usize, b: usize| Some((bound[a].rows()?, bound[b].rows()?));
    let must = |a: usize, b: usize| bound[b].policy.after.contains(&bound[a].policy.name);
    let should = |a: usize, b: usize| pair(a, b).is_some_and(|(a, b)| a.goes_before(b));
    let those = |a: usize, is: fn(&RowTarget, &RowTarget) -> bool| {
        let others = (0..bound.len()).filter(move |&b| pair(a, b).is_some_and(|(a, b)| is(a, b)));
        others.map(|b| bound[b].policy.name.clone()).collect::<Vec<_>>()
    };
    let order = arrange(bound.len(), must, should);
    let all = |is| (0..bound.len()).map(|a| those(a, is)).collect::<Vec<_>>();
    let (frees, unblocks) = (all(RowTarget::may_free), all(RowTarget::may_unblock));
    for (bound, (frees, unblocks)) in bound.iter_mut().zip(frees.into_iter().zip(unblocks)) {
        (bound.frees, bound.unblocks) = (frees, unblocks);
    }
    let mut bound: Vec<Option<Bound<'_>>> = bound.into_iter().map(Some).collect();
    order.into_iter().filter_map(|at| bound[at].take()).collect()
}

/// The budget as the engine understands it.
pub(crate) fn budget(policy: &Policy) -> Budget {
    let budget = &policy.budget;
    Budget {
        page_items_max: budget.page.unwrap_or(PAGE_ITEMS_MAX),
        page_time: unsigned(budget.page_time),
        items: budget.items,
        requests: budget.requests,
        run_time: budget.run_time.map(unsigned),
        pause: unsigned(budget.pause),
        duty: budget.duty,
        workers: budget.workers,
    }
}

/// The brake as the engine understands it.
pub(crate) fn brake(policy: &Policy) -> Brake {
    let config::Brake { fraction, over_items, max_items } = policy.brake;
    Brake { fraction, over_items, max_items }
}

/// The configuration refuses negative durations.
fn unsigned(time: SignedDuration) -> Duration {
    Duration::try_from(time).unwrap_or(Duration::ZERO)
}
