//! `bygone guard`: what hides from readers what is bygone and not yet swept.

use std::sync::Arc;

use bygone_core::{Clock, TargetError};
use bygone_sql::{Engine, GuardForm, GuardScript, RowTarget};
use serde::Serialize;

use crate::assembly::{Access, Bound, assemble, refuse, select_rows};
use crate::cli::{self, Format, Global};
use crate::config::{Action, Config, Policy, Rows};
use crate::exit::Exit;
use crate::output;
use crate::problem::{Once, Problem};

/// Who still sees what row-level security hides.
const WHO_SEES: &str = "the owner of a table and roles with BYPASSRLS still see every row; the role that sweeps must be \
                        one of them, or it finds nothing to remove";

/// The guard of one table.
#[derive(Debug, Serialize)]
struct TableGuard {
    source: String,
    table: String,
    policies: Vec<String>,
    statements: Vec<String>,
}

/// Runs the verb.
pub(crate) async fn run(
    global: &Global,
    flags: &cli::Guard,
    config: &Config,
    clock: &Arc<dyn Clock>,
) -> Result<Exit, Problem> {
    let policies = guarded(config, &select_rows(config, &flags.policies)?);
    if flags.row_security {
        refuse(config, &policies, |engine| {
            (engine != Engine::Postgres).then_some("only PostgreSQL has row-level security; leave `--row-security` out")
        })?;
    }
    let access = if flags.apply { Access::Write } else { Access::Read };
    let assembly = assemble(config, policies, access, clock).await;
    let (mut guards, mut exit, mut once) = (Vec::new(), Exit::Done, Once::default());
    let mut refused = |policy: &Policy, error: &TargetError| once.show(Problem::of_policy(config, policy, error));
    for group in by_table(&assembly.bound) {
        let (targets, errors) = bound(&group);
        exit = errors.into_iter().fold(exit, |exit, (policy, error)| exit.graver(refused(policy, error)));
        match guard(flags, &targets, &mut refused).await {
            Ok((guard, graver)) => {
                guards.extend(guard);
                exit = exit.graver(graver);
            }
            Err(error) => exit = exit.graver(refused(group[0].policy, &error)),
        }
    }
    show(global.format, flags, &guards)?;
    Ok(exit)
}

/// The policies that remove rows, of every table that one of the chosen is over: a table has one guard for all of them.
fn guarded<'a>(config: &'a Config, chosen: &[&Policy]) -> Vec<&'a Policy> {
    let removes = |policy: &Policy| policy.rows().is_some_and(|rows| rows.action == Action::Remove);
    for policy in chosen.iter().filter(|policy| !removes(policy)) {
        output::talk(format!("{}: skipped: it changes rows and removes none", policy.name));
    }
    let meant =
        |policy: &&Policy| removes(policy) && chosen.iter().any(|chosen| removes(chosen) && same_table(chosen, policy));
    config.policies.iter().filter(meant).collect()
}

fn same_table(a: &Policy, b: &Policy) -> bool {
    let table = |policy: &Policy| policy.rows().map(|rows: &Rows| rows.table.clone());
    a.source == b.source && table(a) == table(b)
}

/// The policies of each table together, in their order.
fn by_table<'a, 'p>(bound: &'a [Bound<'p>]) -> Vec<Vec<&'a Bound<'p>>> {
    let mut groups: Vec<Vec<&Bound<'_>>> = Vec::new();
    for one in bound {
        match groups.iter_mut().find(|group| same_table(group[0].policy, one.policy)) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

type Errors<'a> = Vec<(&'a Policy, &'a TargetError)>;

/// Those that were bound, and what stood in the way of the others.
fn bound<'a>(group: &[&'a Bound<'a>]) -> (Vec<(&'a Policy, &'a RowTarget)>, Errors<'a>) {
    let (mut targets, mut errors) = (Vec::new(), Vec::new());
    for one in group {
        match &one.target {
            Ok(target) => targets.extend(target.rows().map(|rows| (one.policy, rows))),
            Err(error) => errors.push((one.policy, error)),
        }
    }
    (targets, errors)
}

/// Makes the guard of a table, or only its statements. A policy that is refused leaves its rows to be seen.
async fn guard(
    flags: &cli::Guard,
    targets: &[(&Policy, &RowTarget)],
    refused: &mut impl FnMut(&Policy, &TargetError) -> Exit,
) -> Result<(Option<TableGuard>, Exit), TargetError> {
    let Some((policy, target)) = targets.first() else { return Ok((None, Exit::Done)) };
    let form = if flags.row_security { GuardForm::RowSecurity } else { GuardForm::View };
    let (mut conditions, mut exit) = (Vec::new(), Exit::Done);
    let script = if flags.drop {
        let names: Vec<&str> = targets.iter().map(|(policy, _)| policy.name.as_str()).collect();
        target.unguard_script(form, &names).await?
    } else {
        for (policy, target) in targets {
            match target.guard(form) {
                Ok(guard) => conditions.push(guard),
                Err(error) => exit = exit.graver(refused(policy, &error)),
            }
        }
        if conditions.is_empty() {
            return Ok((None, exit));
        }
        target.guard_script(form, &conditions).await?
    };
    if flags.apply {
        target.run_guard_script(&script).await?;
        tell(flags, policy, &script);
    }
    let policies = if flags.drop {
        targets.iter().map(|(policy, _)| policy.name.clone()).collect()
    } else {
        conditions.into_iter().map(|guard| guard.policy).collect()
    };
    let source = policy.source.clone();
    let table = policy.rows().map(|rows| rows.table.clone()).unwrap_or_default();
    Ok((Some(TableGuard { source, table, policies, statements: script.statements }), exit))
}

fn tell(flags: &cli::Guard, policy: &Policy, script: &GuardScript) {
    let done = if flags.drop { "dropped" } else { "made" };
    output::talk(format!("{}: {done} {}", policy.source, script.subject));
}

fn show(format: Format, flags: &cli::Guard, guards: &[TableGuard]) -> Result<(), Problem> {
    if flags.row_security && !flags.drop && !guards.is_empty() {
        output::talk(WHO_SEES);
    }
    if format != Format::Table {
        return output::json(format, &guards, guards).map_err(|error| Problem::failed(error.to_string()));
    }
    for guard in guards.iter().filter(|_| !flags.apply) {
        output::comment(format!("{}: {} ({})", guard.source, guard.table, guard.policies.join(", ")));
        for statement in &guard.statements {
            output::statement(format!("{statement};"));
        }
    }
    Ok(())
}
