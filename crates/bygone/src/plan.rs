//! `bygone plan`: what a sweep would do. Writes nothing, ever: its sessions are read-only.

use std::sync::Arc;

use bygone_core::{Boundary, BrakeDecision, Clock, Outcome, SweepOutcome, TargetError, format_instant};
use bygone_sql::RowPlan;
use serde::{Deserialize, Serialize};

use crate::assembly::{Access, Assembly, Bound, BoundTarget, Finding, Sketch, assemble, brake, row_policy, select};
use crate::cli::{self, Format, Global};
use crate::config::{Action, Config, Policy, Rows, Source, Subject};
use crate::exit::Exit;
use crate::output;
use crate::problem::{Once, Problem};

/// A plan: the frame of a report, with what would be.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) boundary: String,
    pub(crate) outcome: SweepOutcome,
    pub(crate) policies: Vec<PolicyPlan>,
}

/// What a policy does to what is bygone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PlannedAction {
    /// It goes.
    Remove,
    /// It stays, and columns of it change.
    Change,
}

/// One policy's part of a plan.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PolicyPlan {
    pub(crate) policy: String,
    pub(crate) source: String,
    /// Refused where a sweep would be refused.
    pub(crate) outcome: Outcome,
    /// What would become of the items.
    pub(crate) action: PlannedAction,
    /// How many items would go, or change; null when that could not be counted.
    pub(crate) would_remove: Option<u64>,
    /// Rows without a deadline that can be read: kept.
    pub(crate) unreadable: u64,
    pub(crate) oldest: Option<String>,
    pub(crate) lag_seconds: u64,
    /// The bytes of what would go, where the source knows.
    #[serde(default)]
    pub(crate) bytes: Option<u64>,
    pub(crate) table: Option<String>,
    /// The directory, or the bucket with its prefix.
    #[serde(default)]
    pub(crate) path: Option<String>,
    pub(crate) walk: Option<String>,
    pub(crate) why: Option<String>,
    pub(crate) index: Option<String>,
    pub(crate) statements: Vec<String>,
    /// Partitions that would go as a whole.
    pub(crate) partitions: Vec<String>,
    /// Tables whose rows would go first, in that order.
    pub(crate) children: Vec<String>,
    pub(crate) cascades: serde_json::Value,
    pub(crate) warnings: Vec<String>,
    pub(crate) estimated_seconds: Option<u64>,
    pub(crate) schedule: Option<String>,
    /// Why the brake would hold.
    pub(crate) brake: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) help: Option<String>,
    /// What the policy said when the plan was made; a saved plan holds only for that.
    pub(crate) definition: String,
    #[serde(skip)]
    pub(crate) exit: Option<Exit>,
}

/// Runs the verb.
pub(crate) async fn run(
    global: &Global,
    flags: &cli::Plan,
    config: &Config,
    clock: &Arc<dyn Clock>,
) -> Result<Exit, Problem> {
    let policies = select(config, &flags.policies)?;
    let mut assembly = assemble(config, policies, Access::Read, clock).await;
    if let Some(now) = global.now {
        assembly.boundary = Boundary::at(now);
    }
    let mut once = Once::default();
    let plan = make(config, assembly, |problem| once.show(problem)).await;
    if let Some(path) = &flags.output {
        save(&plan, path)?;
    }
    match global.format {
        Format::Table => output::data(output::plan::render(&plan)),
        format => output::json(format, &plan, &plan.policies).map_err(|error| Problem::failed(error.to_string()))?,
    }
    let exit = plan.policies.iter().filter_map(|policy| policy.exit).fold(Exit::Done, Exit::graver);
    let work = plan.policies.iter().any(|policy| policy.would_remove != Some(0));
    Ok(if exit == Exit::Done && flags.detailed_exitcode && work { Exit::WorkFound } else { exit })
}

/// Surveys every policy. What goes wrong stands in the plan, and is told besides.
pub(crate) async fn make(
    config: &Config,
    assembly: Assembly<'_>,
    mut tell: impl FnMut(Problem) -> Exit + Send,
) -> Plan {
    let mut policies = Vec::new();
    let findings = assembly.findings(true).await;
    for (bound, findings) in assembly.bound.into_iter().zip(findings) {
        policies.push(plan_policy(config, bound, findings, assembly.boundary, &mut tell).await);
    }
    let outcome = SweepOutcome::of(policies.iter().map(|policy| policy.outcome));
    Plan { boundary: format_instant(assembly.boundary.instant()), outcome, policies }
}

async fn plan_policy(
    config: &Config,
    bound: Bound<'_>,
    findings: Result<Vec<Finding>, TargetError>,
    boundary: Boundary,
    tell: &mut (impl FnMut(Problem) -> Exit + Send),
) -> PolicyPlan {
    let mut plan = empty(config, bound.policy);
    let result = match (bound.target, findings) {
        (Ok(mut target), Ok(findings)) => {
            let surveyed = survey(&mut plan, bound.policy, &mut target, boundary).await;
            plan.warnings.extend(findings.into_iter().map(|finding| finding.message));
            surveyed
        }
        (Err(error), _) | (_, Err(error)) => Err(error),
    };
    if let Err(error) = result {
        plan.outcome = if error.kind().is_refusal() { Outcome::Refused } else { Outcome::Failed };
        plan.error = Some(error.full_message());
        plan.help = error.help().map(str::to_owned);
        plan.exit = Some(tell(Problem::of_policy(config, bound.policy, &error)));
    }
    plan
}

async fn survey(
    plan: &mut PolicyPlan,
    policy: &Policy,
    bound: &mut BoundTarget,
    boundary: Boundary,
) -> Result<(), TargetError> {
    let survey = bound.target().survey(boundary).await?;
    plan.would_remove = survey.bygone;
    plan.unreadable = survey.unreadable;
    plan.oldest = survey.oldest.map(format_instant);
    plan.warnings = survey.warnings;
    plan.bytes = survey.bytes;
    if let (Some(oldest), Some(keep)) = (survey.oldest, policy.keep()) {
        let age = boundary.cutoff(keep).map(|cutoff| cutoff.duration_since(oldest).as_secs());
        plan.lag_seconds = age.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(0);
    }
    if let BrakeDecision::Stop(why) = brake(policy).decide(survey.bygone, bound.target()).await? {
        plan.outcome = Outcome::Refused;
        plan.brake = Some(why);
    }
    match bound {
        BoundTarget::Rows(rows) => {
            if let Some(rows) = rows.plan(boundary, survey.bygone) {
                describe(plan, rows);
            }
        }
        BoundTarget::Other(_, Sketch { place, walk, why, .. }) => {
            plan.path = Some(place.clone());
            plan.walk = Some((*walk).to_owned());
            plan.why = Some((*why).to_owned());
        }
    }
    Ok(())
}

fn describe(plan: &mut PolicyPlan, rows: RowPlan) {
    plan.table = Some(rows.table);
    plan.walk = Some(rows.walk.as_str().to_owned());
    plan.why = Some(rows.why);
    plan.index = rows.index;
    plan.statements = rows.statements;
    plan.partitions = rows.partitions;
    plan.children = rows.children;
    plan.cascades = serde_json::to_value(rows.cascades).unwrap_or_default();
    plan.estimated_seconds = rows.estimated_seconds;
}

fn empty(config: &Config, policy: &Policy) -> PolicyPlan {
    PolicyPlan {
        policy: policy.name.clone(),
        source: policy.source.clone(),
        outcome: Outcome::Complete,
        action: match policy.rows().map(|rows| &rows.action) {
            Some(Action::Update { .. }) => PlannedAction::Change,
            Some(Action::Remove) | None => PlannedAction::Remove,
        },
        would_remove: None,
        unreadable: 0,
        oldest: None,
        lag_seconds: 0,
        bytes: None,
        table: None,
        path: None,
        walk: None,
        why: None,
        index: None,
        statements: Vec::new(),
        partitions: Vec::new(),
        children: Vec::new(),
        cascades: serde_json::Value::Array(Vec::new()),
        warnings: Vec::new(),
        estimated_seconds: None,
        schedule: times(policy),
        brake: None,
        error: None,
        help: None,
        definition: definition(config, policy),
        exit: None,
    }
}

/// When the daemon runs it, in words.
fn times(policy: &Policy) -> Option<String> {
    let mut words = vec![policy.schedule.as_ref()?.to_string()];
    if !policy.jitter.is_zero() {
        words.push(format!("up to {:#} later", policy.jitter));
    }
    if !policy.windows.is_empty() {
        let windows: Vec<String> = policy.windows.iter().map(ToString::to_string).collect();
        words.push(format!("within {}", windows.join(" or ")));
    }
    Some(words.join(", "))
}

/// Everything that decides which items a policy removes, as text that can be compared.
pub(crate) fn definition(config: &Config, policy: &Policy) -> String {
    let source = config.sources.get(&policy.source);
    let said = match &policy.subject {
        Subject::Rows(rows) => rows_definition(source, &policy.name, rows),
        Subject::Tree(tree) => files_definition(source, tree),
        Subject::Prefix(prefix) => files_definition(source, prefix),
        Subject::Stage(stage) => files_definition(source, stage),
        Subject::Leases(leases) => files_definition(source, leases),
    };
    said.to_string()
}

fn rows_definition(source: Option<&Source>, name: &str, policy: &Rows) -> serde_json::Value {
    let url = source.and_then(|source| bygone_sql::SourceUrl::parse(source.url.expose()).ok());
    let columns = policy.deadline.iter().flat_map(|deadline| &deadline.columns);
    let row = row_policy(name, policy);
    let columns: Vec<String> = columns.map(|column| format!("{:?} {}", column.format, column.column)).collect();
    serde_json::json!({
        "url": url.map(|url| url.to_string()),
        "schema": source.and_then(|source| source.schema.clone()),
        "table_prefix": source.and_then(|source| source.table_prefix.clone()),
        "table": policy.table,
        "deadline": columns,
        "nulls": policy.deadline.as_ref().map(|deadline| format!("{:?}", deadline.nulls)),
        "keep": policy.keep.to_string(),
        "where": policy.where_,
        "zone": policy.zone,
        "newest": row.newest.map(|newest| format!("{newest:?}")),
        "action": format!("{:?}", row.action),
        "with": format!("{:?}", row.with),
        "kept": format!("{:?} {:?} {:?}", row.unless_referenced_by, row.unless, row.only_if),
    })
}

fn files_definition(source: Option<&Source>, policy: &impl std::fmt::Debug) -> serde_json::Value {
    serde_json::json!({ "url": source.map(|source| source.url.to_string()), "policy": format!("{policy:?}") })
}

fn save(plan: &Plan, path: &std::path::Path) -> Result<(), Problem> {
    let text = serde_json::to_string_pretty(plan).map_err(|error| Problem::failed(error.to_string()))?;
    // Whole or not at all: a plan cut short must not be swept by.
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(std::path::Path::new("."));
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        std::io::Write::write_all(&mut file, text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(|error| Problem::failed(format!("cannot save the plan as {}: {error}", path.display())))
}
