//! `bygone sweep`: one sweep now.

use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::sync::Arc;

use bygone_core::{Boundary, CancellationToken, Clock, Consent, Gate, Job, Report, Sweep, TargetError};
use jiff::Timestamp;

use crate::assembly::{Access, Assembly, assemble, brake, gates_of, select};
use crate::cli::{self, Format, Global};
use crate::config::{Config, Policy};
use crate::exit::Exit;
use crate::output::{self, in_a_line};
use crate::plan::{self, Plan};
use crate::problem::{Once, Problem};
use crate::signals;

/// Runs the verb.
pub(crate) async fn run(
    global: &Global,
    flags: &cli::Sweep,
    config: &Config,
    clock: &Arc<dyn Clock>,
    cancel: CancellationToken,
) -> Result<Exit, Problem> {
    if flags.dry_run {
        let flags = cli::Plan { policies: flags.policies.clone(), output: None, detailed_exitcode: false };
        return signals::unless_cancelled(&cancel, plan::run(global, &flags, config, clock)).await;
    }
    select(config, &flags.release_brake)?;
    let saved = flags.plan.as_deref().map(load_plan).transpose()?;
    let policies = match (&saved, flags.policies.is_empty()) {
        (Some(saved), true) => select(config, &saved.policies.iter().map(|p| p.policy.clone()).collect::<Vec<_>>())?,
        _ => select(config, &flags.policies)?,
    };
    let mut consents = BTreeMap::new();
    for policy in &policies {
        consents.insert(policy.name.as_str(), consent(config, policy, flags, saved.as_ref())?);
    }
    let mut assembly = assemble(config, policies, Access::Write, clock).await;
    let (clocks, planned) = (assembly.boundary, saved.map(|saved| boundary_of(&saved)).transpose()?);
    for wanted in global.now.into_iter().chain(planned) {
        // Where both are said, neither lets go what the other keeps.
        assembly.boundary = assembly.boundary.min(earlier(wanted, clocks)?);
    }
    let report = execute(config, assembly, &consents, clock, cancel).await;
    match global.format {
        Format::Table => output::data(output::report::render(&report)),
        format => {
            output::json(format, &report, &report.policies).map_err(|error| Problem::failed(error.to_string()))?;
        }
    }
    Ok(Exit::of_sweep(&report.policies))
}

/// Runs a sweep over an assembly, with progress on a terminal and diagnostics for what was refused.
pub(crate) async fn execute(
    config: &Config,
    assembly: Assembly<'_>,
    consents: &BTreeMap<&str, Consent>,
    clock: &Arc<dyn Clock>,
    cancel: CancellationToken,
) -> Report {
    let (boundary, mut once) = (assembly.boundary, Once::default());
    let show = |policy: &Policy, error: &TargetError| {
        once.show(Problem::of_policy(config, policy, error));
    };
    let gates: BTreeMap<&str, Vec<Arc<dyn Gate>>> =
        config.sources.values().map(|source| (source.name.as_str(), gates_of(source, clock))).collect();
    let jobs = assembly.into_jobs(consents, show).await.into_iter().map(|job| {
        let own = gates.get(job.source()).cloned().unwrap_or_default();
        job.through(own)
    });
    let jobs: Vec<Job> = jobs.collect();
    let found: BTreeSet<String> = jobs.iter().flat_map(Job::warnings).cloned().collect();
    let sweep = Sweep::new(Arc::clone(clock), boundary);
    let report = sweep.observed_by(output::progress::observer()).cancelled_by(cancel).run(jobs).await;
    let on_terminal = std::io::stderr().is_terminal();
    for policy in &report.policies {
        // What does not change from sweep to sweep is told where somebody reads it; `check` tells the remedies.
        for warning in policy.warnings.iter().filter(|warning| on_terminal || !found.contains(*warning)) {
            output::talk(format!("{}: {}", policy.policy, in_a_line(warning)));
        }
        if let Some(reason) = &policy.stopped_by {
            output::talk(format!("{}: {}: {}", policy.policy, policy.outcome.as_str(), in_a_line(reason)));
        }
        // What could not even be bound was shown above, with its place in the file.
        if let Some(error) = policy.error.as_ref().filter(|_| policy.requests > 0) {
            let help = policy.help.as_ref().map(|help| format!("\n  help: {}", in_a_line(help))).unwrap_or_default();
            output::talk(format!("{}: {}: {}{help}", policy.policy, policy.outcome.as_str(), in_a_line(error)));
        }
    }
    report
}

/// What allows the policy to remove as much as it finds.
fn consent(config: &Config, policy: &Policy, flags: &cli::Sweep, saved: Option<&Plan>) -> Result<Consent, Problem> {
    let Some(saved) = saved else {
        let released = flags.release_brake.contains(&policy.name);
        return Ok(if released { Consent::Released } else { Consent::Brake(brake(policy)) });
    };
    let planned = saved.policies.iter().find(|planned| planned.policy == policy.name);
    let Some(planned) = planned else {
        return Err(Problem::usage(format!("the plan does not know the policy `{}`", policy.name), "make a new plan"));
    };
    if planned.definition != plan::definition(config, policy) {
        return Err(Problem::usage(
            format!("the policy `{}` has changed since the plan was made", policy.name),
            "look at a new plan: `bygone plan -o FILE`",
        ));
    }
    let Some(items) = planned.would_remove else {
        return Err(Problem::usage(
            format!("the plan could not count what `{}` would remove", policy.name),
            "make a new plan once it can",
        ));
    };
    // The plan's own boundary is used again, so only rows that were written with an old deadline since can add to
    // the count: a hundredth, for those.
    Ok(Consent::Plan { items: items + items / 100 })
}

fn load_plan(path: &std::path::Path) -> Result<Plan, Problem> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Problem::usage(format!("cannot read the plan {}: {error}", path.display()), "make one: `bygone plan -o FILE`")
    })?;
    serde_json::from_str(&text).map_err(|error| {
        Problem::usage(format!("{} is not a plan: {error}", path.display()), "make one: `bygone plan -o FILE`")
    })
}

fn boundary_of(plan: &Plan) -> Result<Timestamp, Problem> {
    plan.boundary
        .parse()
        .map_err(|error| Problem::usage(format!("the plan's boundary cannot be read: {error}"), "make a new plan"))
}

/// A sweep never takes a boundary later than the clocks': what is not over yet is not bygone.
pub(crate) fn earlier(now: Timestamp, clocks: Boundary) -> Result<Boundary, Problem> {
    let wanted = Boundary::at(now);
    if wanted > clocks {
        let clocks = bygone_core::format_instant(clocks.instant());
        return Err(Problem::usage(
            format!("{} lies in the future: the clocks say {clocks}", bygone_core::format_instant(now)),
            "a sweep takes only a `--now` in the past; `plan` takes any",
        ));
    }
    Ok(wanted)
}
