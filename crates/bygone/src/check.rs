//! `bygone check`: the configuration against the live sources. Every finding with its place and remedy.

use std::sync::Arc;

use bygone_core::{Clock, ErrorKind, Target, TargetError};
use serde::Serialize;

use crate::assembly::{Access, assemble};
use crate::cli::{Format, Global};
use crate::config::{Config, Policy};
use crate::exit::Exit;
use crate::output;
use crate::problem::{Once, Problem};

/// One thing that somebody should look at.
#[derive(Debug, Serialize)]
struct Finding {
    policy: String,
    severity: Severity,
    code: &'static str,
    message: String,
    help: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Severity {
    /// A sweep would refuse or fail.
    Error,
    /// A sweep would run, but not as well as it could, or do more than it seems.
    Warning,
}

#[derive(Debug, Serialize)]
struct Findings {
    policies: usize,
    findings: Vec<Finding>,
}

/// Runs the verb.
pub(crate) async fn run(global: &Global, config: &Config, clock: &Arc<dyn Clock>) -> Result<Exit, Problem> {
    let assembly = assemble(config, config.policies.iter().collect(), Access::Read, clock).await;
    let (boundary, mut findings, mut exit) = (assembly.boundary, Vec::new(), Exit::Done);
    let mut once = Once::default();
    for bound in assembly.bound {
        let found = match bound.target {
            Ok(target) => warnings(target, boundary).await,
            Err(error) => Err(error),
        };
        match found {
            Ok(found) => findings.extend(found.into_iter().map(|message| warning(bound.policy, message))),
            Err(error) => {
                let problem = Problem::of_policy(config, bound.policy, &error);
                findings.push(finding(bound.policy, &problem));
                exit = exit.graver(once.show(problem));
            }
        }
    }
    show(global.format, &Findings { policies: config.policies.len(), findings })?;
    Ok(exit)
}

/// What is worth a look although a sweep would run; an error is what would stop it.
async fn warnings(
    mut target: bygone_sql::RowTarget,
    boundary: bygone_core::Boundary,
) -> Result<Vec<String>, TargetError> {
    let survey = target.survey(boundary).await?;
    let mut found = survey.warnings;
    if survey.bygone.is_none() {
        found.push("what is bygone could not be counted in time; a sweep would be refused by the brake".to_owned());
    }
    if !target.may_delete().await? {
        return Err(TargetError::new(ErrorKind::Denied, "the role has no right to delete from the table")
            .with_help("GRANT DELETE on the table to the role of the source's url")
            .about("table"));
    }
    found.extend(target.plan(boundary, survey.bygone).into_iter().flat_map(|plan| plan.warnings));
    Ok(found)
}

fn warning(policy: &Policy, message: String) -> Finding {
    Finding { policy: policy.name.clone(), severity: Severity::Warning, code: "policy::warning", message, help: None }
}

fn finding(policy: &Policy, problem: &Problem) -> Finding {
    Finding {
        policy: policy.name.clone(),
        severity: Severity::Error,
        code: problem.code,
        message: problem.message.clone(),
        help: problem.help.clone(),
    }
}

fn show(format: Format, findings: &Findings) -> Result<(), Problem> {
    if format != Format::Table {
        return output::json(format, findings, &findings.findings).map_err(|error| Problem::failed(error.to_string()));
    }
    // Errors were shown as diagnostics; here they are only counted.
    for finding in findings.findings.iter().filter(|finding| finding.severity == Severity::Warning) {
        output::data(format!("warning: {}: {}", finding.policy, finding.message));
    }
    let errors = findings.findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let warnings = findings.findings.len() - errors;
    output::data(format!("{} policies checked: {errors} errors, {warnings} warnings", findings.policies));
    Ok(())
}
