//! `bygone grants`: the least rights that a role needs to sweep.

use std::collections::BTreeMap;
use std::sync::Arc;

use bygone_core::{Clock, Duty};
use bygone_sql::{Engine, Grants};
use serde::Serialize;

use crate::assembly::{Access, Bound, assemble, refuse, select_rows};
use crate::cli::{self, Format, Global};
use crate::config::{Config, Policy};
use crate::exit::Exit;
use crate::output;
use crate::problem::{Once, Problem};

/// What a role needs in one source.
#[derive(Debug, Serialize)]
struct SourceGrants {
    source: String,
    statements: Vec<String>,
}

/// Runs the verb.
pub(crate) async fn run(
    global: &Global,
    flags: &cli::Grants,
    config: &Config,
    clock: &Arc<dyn Clock>,
) -> Result<Exit, Problem> {
    let policies = select_rows(config, &flags.policies)?;
    refuse(config, &policies, |engine| {
        (engine == Engine::Sqlite)
            .then_some("an SQLite file has no roles: whoever may write the file may do everything")
    })?;
    let assembly = assemble(config, policies, Access::Read, clock).await;
    let (mut sources, mut exit, mut once) = (BTreeMap::<&str, Grants>::new(), Exit::Done, Once::default());
    for bound in &assembly.bound {
        match &bound.target {
            Ok(target) => {
                let Some(target) = target.rows() else { continue };
                let source = sources.entry(&bound.policy.source);
                source.or_insert_with(|| Grants::new(target.engine())).add(target);
                if asks_elsewhere(bound.policy) {
                    let text = "its `where` has a query of its own: grant SELECT on the tables of that, too";
                    output::talk(format!("{}: {text}", bound.policy.name));
                }
            }
            Err(error) => exit = exit.graver(once.show(Problem::of_policy(config, bound.policy, error))),
        }
    }
    for (source, grants) in &mut sources {
        let gates = &config.sources[*source].gates;
        // Replicas that are named are asked themselves, by their own urls.
        let is_gated = gates.active_sessions.is_some() || (gates.replica_lag.is_some() && gates.replicas.is_empty());
        let gives_way = assembly
            .bound
            .iter()
            .any(|Bound { policy, .. }| policy.source == *source && policy.budget.duty != Duty::FULL);
        if is_gated || gives_way {
            grants.add_watching();
        }
    }
    let grants = sources.iter().map(|(source, grants)| SourceGrants {
        source: (*source).to_owned(),
        statements: grants.statements(&flags.role),
    });
    show(global.format, &grants.collect::<Vec<_>>())?;
    Ok(exit)
}

/// Whether a condition of the policy may read tables that only its text names.
fn asks_elsewhere(policy: &Policy) -> bool {
    let Some(policy) = policy.rows() else { return false };
    let others = policy.unless.iter().chain(&policy.only_if).filter_map(|condition| condition.where_.as_ref());
    policy.where_.iter().chain(others).any(|text| text.to_lowercase().contains("select"))
}

fn show(format: Format, sources: &[SourceGrants]) -> Result<(), Problem> {
    if format != Format::Table {
        return output::json(format, &sources, sources).map_err(|error| Problem::failed(error.to_string()));
    }
    for source in sources {
        output::comment(&source.source);
        for statement in &source.statements {
            output::statement(format!("{statement};"));
        }
    }
    Ok(())
}
