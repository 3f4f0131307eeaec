//! From the configuration to bound policies and one boundary: what every verb that meets a database begins with.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Boundary, Brake, Budget, Clock, ErrorKind, PAGE_ITEMS_MAX, TargetError};
use bygone_sql::{
    Action, Assignment, ColumnRef, Deadline, DeadlineColumn, Engine, Finding, Format, NewValue, Newest, NullMeaning,
    RowCondition, RowPolicy, RowTarget, SharedSource, Source, SourceOptions, SourceUrl, arrange,
};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::config::{self, Config, Policy};
use crate::problem::Problem;

/// Longer than the making of any index takes.
const LONG: Duration = Duration::from_secs(24 * 3_600);

/// A policy with its target, or with the reason why it has none.
pub(crate) struct Bound<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) target: Result<RowTarget, TargetError>,
    /// The policies of which rows may come free when this one removes some.
    pub(crate) frees: Vec<String>,
}

/// Policies bound to their sources, in the order in which they run, under one boundary.
pub(crate) struct Assembly<'a> {
    pub(crate) boundary: Boundary,
    pub(crate) bound: Vec<Bound<'a>>,
}

impl Assembly<'_> {
    /// What somebody should know of each policy as it stands beside the others, in their order.
    ///
    /// `counted` says whether rows that the database would change by itself are counted, too.
    pub(crate) async fn findings(&self, counted: bool) -> Vec<Result<Vec<Finding>, TargetError>> {
        let targets: Vec<&RowTarget> = self.bound.iter().filter_map(|bound| bound.target.as_ref().ok()).collect();
        let mut findings = Vec::with_capacity(self.bound.len());
        for bound in &self.bound {
            findings.push(match &bound.target {
                Ok(target) => target.preflight(&targets, counted.then_some(self.boundary)).await,
                Err(_) => Ok(Vec::new()),
            });
        }
        findings
    }
}

/// Whether the database is told to refuse every write.
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
    let mut sources: BTreeMap<&str, Result<SharedSource, Shared>> = BTreeMap::new();
    let mut clocks: Vec<Timestamp> = Vec::new();
    for policy in &policies {
        if !sources.contains_key(policy.source.as_str()) {
            let opened = open(config, &policy.source, access, &**clock).await;
            clocks.extend(opened.as_ref().ok().map(|(_, now)| *now));
            sources.insert(&policy.source, opened.map(|(source, _)| source).map_err(Shared::from));
        }
    }
    let boundary = Boundary::earliest(clock.now(), clocks);
    let mut bound = Vec::new();
    for policy in policies {
        let target = match &sources[policy.source.as_str()] {
            Ok(source) => RowTarget::bind(source, &row_policy(policy)).await,
            Err(error) => Err(error.to_error()),
        };
        bound.push(Bound { policy, target, frees: Vec::new() });
    }
    Assembly { boundary, bound: arranged(bound) }
}

/// Children before parents, and whoever is said to come after another after it.
fn arranged(mut bound: Vec<Bound<'_>>) -> Vec<Bound<'_>> {
    let pair = |a: usize, b: usize| Some((bound[a].target.as_ref().ok()?, bound[b].target.as_ref().ok()?));
    let must = |a: usize, b: usize| bound[b].policy.after.contains(&bound[a].policy.name);
    let should = |a: usize, b: usize| pair(a, b).is_some_and(|(a, b)| a.goes_before(b));
    let frees = |a: usize| {
        let freed = (0..bound.len()).filter(move |&b| pair(a, b).is_some_and(|(a, b)| a.may_free(b)));
        freed.map(|b| bound[b].policy.name.clone()).collect::<Vec<_>>()
    };
    let order = arrange(bound.len(), must, should);
    let frees: Vec<Vec<String>> = (0..bound.len()).map(frees).collect();
    for (bound, frees) in bound.iter_mut().zip(frees) {
        bound.frees = frees;
    }
    let mut bound: Vec<Option<Bound<'_>>> = bound.into_iter().map(Some).collect();
    order.into_iter().filter_map(|at| bound[at].take()).collect()
}

/// An error that several policies share.
struct Shared {
    kind: ErrorKind,
    message: String,
    help: Option<String>,
}

impl Shared {
    fn to_error(&self) -> TargetError {
        let error = TargetError::new(self.kind, self.message.clone()).about("source");
        match &self.help {
            Some(help) => error.with_help(help.clone()),
            None => error,
        }
    }
}

impl From<TargetError> for Shared {
    fn from(error: TargetError) -> Self {
        Self { kind: error.kind(), message: error.full_message(), help: error.help().map(str::to_owned) }
    }
}

/// A connection for statements that may take as long as they need.
pub(crate) async fn open_for_long(config: &Config, name: &str) -> Result<SharedSource, TargetError> {
    let mut options = source_options(config, name, Access::Write)?;
    (options.statement_timeout, options.lock_timeout) = (Some(LONG), Some(LONG));
    Ok(Source::open(options).await?.shared())
}

fn source_options(config: &Config, name: &str, access: Access) -> Result<SourceOptions, TargetError> {
    let source = &config.sources[name];
    Ok(SourceOptions {
        name: name.to_owned(),
        url: SourceUrl::parse(source.url.expose())?,
        schema: source.schema.clone(),
        table_prefix: source.table_prefix.clone(),
        statement_timeout: source.statement_timeout.map(unsigned),
        lock_timeout: source.lock_timeout.map(unsigned),
        read_only: access == Access::Read,
    })
}

async fn open(
    config: &Config,
    name: &str,
    access: Access,
    clock: &dyn Clock,
) -> Result<(SharedSource, Timestamp), TargetError> {
    let mut source = Source::open(source_options(config, name, access)?).await?;
    let now = source.read_clock(clock).await?.checked(config.skew_max).map_err(|skewed| {
        TargetError::new(ErrorKind::Skewed, skewed.to_string())
            .with_help("set both clocks by NTP; `[clock] skew_max` raises the limit")
    })?;
    Ok((source.shared(), now))
}

/// The policy as the rows' crate understands it.
pub(crate) fn row_policy(policy: &Policy) -> RowPolicy {
    RowPolicy {
        name: policy.name.clone(),
        table: policy.table.clone(),
        deadline: policy.deadline.as_ref().map(deadline),
        keep: policy.keep,
        filter: policy.where_.clone(),
        key: policy.key.clone(),
        // The name was looked up when the configuration was read.
        zone: policy.zone.as_ref().and_then(|name| TimeZone::get(name).ok()),
        newest: policy.newest.as_ref().map(|newest| Newest {
            rows: newest.rows,
            per: newest.per.clone(),
            by: newest.by.clone(),
        }),
        action: action(&policy.action),
        with: policy.with.iter().map(|chain| chain.links.iter().map(column_ref).collect()).collect(),
        unless_referenced_by: policy.unless_referenced_by.iter().map(column_ref).collect(),
        unless: policy.unless.iter().map(condition).collect(),
        only_if: policy.only_if.iter().map(condition).collect(),
    }
}

fn deadline(deadline: &config::Deadline) -> Deadline {
    let column = |column: &config::DeadlineColumn| DeadlineColumn {
        column: column.column.clone(),
        format: match column.format {
            config::Format::Native => Format::Native,
            config::Format::EpochSeconds => Format::EpochSeconds,
            config::Format::EpochMillis => Format::EpochMillis,
            config::Format::EpochMicros => Format::EpochMicros,
            config::Format::Ulid => Format::Ulid,
            config::Format::Uuid7 => Format::Uuid7,
        },
    };
    Deadline {
        columns: deadline.columns.iter().map(column).collect(),
        null: match deadline.nulls {
            config::Nulls::Ignore => NullMeaning::Ignored,
            config::Nulls::Keep => NullMeaning::Keeps,
        },
    }
}

fn action(action: &config::Action) -> Action {
    let config::Action::Update { columns } = action else { return Action::Remove };
    let assignment = |assignment: &config::Assignment| Assignment {
        column: assignment.column.clone(),
        value: match &assignment.value {
            config::NewValue::Null => NewValue::Null,
            config::NewValue::Now => NewValue::Now,
            config::NewValue::Text(text) => NewValue::Text(text.clone()),
            config::NewValue::Int(n) => NewValue::Int(*n),
            config::NewValue::Real(x) => NewValue::Real(*x),
            config::NewValue::Bool(truth) => NewValue::Bool(*truth),
        },
    };
    Action::Update(columns.iter().map(assignment).collect())
}

fn column_ref(column: &config::ColumnRef) -> ColumnRef {
    ColumnRef::new(&column.table, &column.column)
}

fn condition(condition: &config::Condition) -> RowCondition {
    let config::Condition { via, table, to, living, where_, .. } = condition.clone();
    RowCondition { via, table, to, living, filter: where_ }
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
