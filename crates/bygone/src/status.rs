//! `bygone status`: how each policy stands. Its sources are asked now; what was before, the ledger of the daemon tells. Or
//! the daemon tells both.

use std::sync::Arc;

use bygone_core::{Boundary, Clock, format_instant};
use bygone_server::{Ledger, Standing};
use jiff::Timestamp;
use reqwest::Method;
use serde::{Deserialize, Serialize};

use crate::assembly::{Access, assemble, select};
use crate::cli::{self, Format, Global};
use crate::config::{Config, HISTORY, Policy};
use crate::exit::Exit;
use crate::history;
use crate::output;
use crate::plan::{self, Plan, PolicyPlan};
use crate::problem::{Once, Problem};
use crate::remote::{Address, Again, Client, Service, Trouble};
use crate::serve::{state, times_of};

/// How everything stands.
#[derive(Debug, Serialize)]
pub(crate) struct Status {
    pub(crate) boundary: String,
    pub(crate) policies: Vec<PolicyStatus>,
}

/// How a policy stands.
#[derive(Debug, Serialize)]
pub(crate) struct PolicyStatus {
    pub(crate) policy: String,
    pub(crate) source: String,
    /// What is bygone and not yet swept; null when that could not be counted.
    pub(crate) backlog: Option<u64>,
    /// How long the oldest of it has been so.
    pub(crate) lag_seconds: u64,
    pub(crate) oldest: Option<String>,
    /// When it runs by itself; null if never.
    pub(crate) schedule: Option<String>,
    pub(crate) next_run: Option<String>,
    /// Why it is held, if it is.
    pub(crate) held: Option<String>,
    /// Why the brake would hold.
    pub(crate) brake: Option<String>,
    /// Its last run by the daemon that ended; null where there is none.
    pub(crate) last: Option<Standing>,
    pub(crate) error: Option<String>,
    pub(crate) help: Option<String>,
}

/// Runs the verb.
pub(crate) async fn run(
    global: &Global,
    flags: &cli::Status,
    config: &Config,
    clock: &Arc<dyn Clock>,
) -> Result<Exit, Problem> {
    let policies = select(config, &flags.policies)?;
    let ledger = history::look(&state::directory(flags.state.as_deref())?, clock).await?;
    let now = global.now.unwrap_or_else(|| clock.now());
    let mut assembly = assemble(config, policies, Access::Read, clock).await;
    if let Some(now) = global.now {
        assembly.boundary = Boundary::at(now);
    }
    let mut once = Once::default();
    let plan = plan::make(config, assembly, |problem| once.show(problem)).await;
    let exit = plan.policies.iter().filter_map(|policy| policy.exit).fold(Exit::Done, Exit::graver);
    let names: Vec<String> = plan.policies.iter().map(|plan| plan.policy.clone()).collect();
    let pasts = pasts(ledger.as_ref(), &names).await?;
    let mut stands = Vec::new();
    for (plan, past) in plan.policies.into_iter().zip(pasts) {
        let policy = config.policies.iter().find(|policy| policy.name == plan.policy);
        stands.push(stand(plan, policy, past, now)?);
    }
    show(global.format, &Status { boundary: plan.boundary, policies: stands })?;
    Ok(exit)
}

fn show(format: Format, status: &Status) -> Result<(), Problem> {
    match format {
        Format::Table => output::data(output::status::render(status)),
        format => {
            output::json(format, status, &status.policies).map_err(|error| Problem::failed(error.to_string()))?;
        }
    }
    Ok(())
}

/// The policies of a daemon, as it tells of them.
#[derive(Debug, Deserialize)]
struct Told {
    policies: Vec<ToldPolicy>,
}

/// One of them.
#[derive(Debug, Deserialize)]
struct ToldPolicy {
    name: String,
    next_run: Option<Timestamp>,
    held: Option<String>,
    completed: Option<Timestamp>,
    last: Option<Standing>,
}

/// Runs the verb by a daemon: it knows the past, and asks the sources for us.
pub(crate) async fn of_daemon(
    global: &Global,
    flags: &cli::Status,
    daemon: &str,
    clock: &Arc<dyn Clock>,
) -> Result<Exit, Problem> {
    if global.now.is_some() {
        return Err(Problem::usage("a daemon goes by the clock", "leave `--now` out, or `--daemon`"));
    }
    let client = Client::new(Address::parse(daemon, Service::Daemon)?, clock)?;
    let told = client.ask(|| client.request(Method::GET, &["api", "v1", "policies"]), Again::Yes).await;
    let mut told: Told = told.map_err(|trouble| client.problem(trouble, Again::Yes))?;
    // The daemon's own, which no file has.
    told.policies.retain(|policy| policy.name != HISTORY);
    if let Some(stranger) = flags.policies.iter().find(|name| told.policies.iter().all(|policy| policy.name != **name))
    {
        let message = format!("there is no policy `{stranger}`");
        return Err(Problem::usage(message, "`bygone status` without a name lists them all"));
    }
    told.policies.retain(|policy| flags.policies.is_empty() || flags.policies.contains(&policy.name));
    let (mut boundary, mut policies) = (None::<String>, Vec::new());
    for policy in told.policies {
        let path = ["api", "v1", "policies", &policy.name, "plan"];
        let plan: Result<Plan, Trouble> = client.ask(|| client.request(Method::POST, &path), Again::Yes).await;
        let plan = plan.map_err(|trouble| client.problem(trouble, Again::Yes))?;
        // Texts of one length: the earlier instant is the lesser text.
        boundary = Some(boundary.map_or_else(|| plan.boundary.clone(), |earlier| earlier.min(plan.boundary.clone())));
        let last = policy.last.map(|last| Standing { completed: policy.completed, ..last });
        let next = policy.next_run;
        policies.extend(
            plan.policies.into_iter().map(|plan| PolicyStatus::of(plan, next, policy.held.clone(), last.clone())),
        );
    }
    let exit = if policies.iter().any(|policy| policy.error.is_some()) { Exit::Failed } else { Exit::Done };
    show(global.format, &Status { boundary: boundary.unwrap_or_else(|| format_instant(clock.now())), policies })?;
    Ok(exit)
}

/// What the ledger knows of policies, in their order: nothing, where there is none.
async fn pasts(ledger: Option<&Ledger>, names: &[String]) -> Result<Vec<(Standing, Option<&'static str>)>, Problem> {
    let Some(ledger) = ledger else { return Ok(names.iter().map(|_| (Standing::default(), None)).collect()) };
    let standings = ledger.standings(names.to_vec()).await.map_err(|error| history::failed(&error))?;
    let held = ledger.why_held(names).await.map_err(|error| history::failed(&error))?;
    Ok(standings.into_iter().zip(held).collect())
}

fn stand(
    plan: PolicyPlan,
    policy: Option<&Policy>,
    (last, held): (Standing, Option<&'static str>),
    now: Timestamp,
) -> Result<PolicyStatus, Problem> {
    let times = policy.map(times_of).transpose()?.flatten();
    let next = times.and_then(|times| times.next_after(now, &plan.policy));
    Ok(PolicyStatus::of(plan, next, held.map(str::to_owned), last.sweep.is_some().then_some(last)))
}

impl PolicyStatus {
    fn of(plan: PolicyPlan, next: Option<Timestamp>, held: Option<String>, last: Option<Standing>) -> Self {
        Self {
            backlog: plan.would_remove,
            lag_seconds: plan.lag_seconds,
            oldest: plan.oldest,
            schedule: plan.schedule,
            next_run: next.map(format_instant),
            held,
            brake: plan.brake,
            last,
            error: plan.error,
            help: plan.help,
            policy: plan.policy,
            source: plan.source,
        }
    }
}
