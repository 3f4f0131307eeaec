//! `bygone check`: the configuration against the live sources. Every finding with its place and remedy.

use std::collections::BTreeMap;
use std::sync::Arc;

use bygone_core::{Boundary, Clock, ErrorKind, TargetError};
use serde::Serialize;

use crate::assembly::{self, Access, BoundTarget, assemble, gates_of};
use crate::cli::{Format, Global};
use crate::config::{Config, Policy, Source};
use crate::exit::Exit;
use crate::output;
use crate::problem::{self, Once, Problem};

/// One thing that somebody should look at.
#[derive(Debug, Serialize)]
struct Finding {
    policy: String,
    severity: Severity,
    code: &'static str,
    message: String,
    help: Option<String>,
    /// Where the file says what it is about.
    line: Option<usize>,
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
    let preflight = assembly.findings(true).await;
    let (boundary, mut findings, mut exit) = (assembly.boundary, Vec::new(), Exit::Done);
    let (mut once, mut answering) = (Once::default(), BTreeMap::new());
    for (bound, preflight) in assembly.bound.into_iter().zip(preflight) {
        let found = match (bound.target, preflight) {
            (Ok(target), Ok(preflight)) => warnings(target, boundary, preflight).await,
            (Err(error), _) | (_, Err(error)) => Err(error),
        };
        match found {
            Ok(found) => {
                answering.entry(bound.policy.source.as_str()).or_insert(bound.policy);
                findings.extend(found.into_iter().map(|found| warning(config, bound.policy, found)));
            }
            Err(error) => {
                let problem = Problem::of_policy(config, bound.policy, &error);
                findings.push(finding(bound.policy, &problem));
                exit = exit.graver(once.show(problem));
            }
        }
    }
    for (source, policy) in answering {
        let found = closed_gates(&config.sources[source], clock).await;
        findings.extend(found.into_iter().map(|found| warning(config, policy, found)));
    }
    show(global.format, &Findings { policies: config.policies.len(), findings })?;
    Ok(exit)
}

/// What would stop a sweep of a source now. It may be gone in a moment; a right that is missing stays so.
async fn closed_gates(source: &Source, clock: &Arc<dyn Clock>) -> Vec<assembly::Finding> {
    let mut found = Vec::new();
    for gate in gates_of(source, clock) {
        found.extend(gate.closed().await.map(|closed| assembly::Finding {
            code: "source::gate",
            key: "source",
            message: format!("a sweep would be stopped now: {}", closed.reason),
            help: "sweep when that has passed, or change the `gates` of the source".to_owned(),
        }));
    }
    found
}

/// A file without policies has nothing that could be wrong with them.
pub(crate) fn nothing(global: &Global) -> Result<Exit, Problem> {
    show(global.format, &Findings { policies: 0, findings: Vec::new() })?;
    Ok(Exit::Done)
}

/// What is worth a look although a sweep would run; an error is what would stop it.
async fn warnings(
    mut bound: BoundTarget,
    boundary: Boundary,
    mut found: Vec<assembly::Finding>,
) -> Result<Vec<assembly::Finding>, TargetError> {
    let survey = bound.target().survey(boundary).await?;
    let target = match bound {
        BoundTarget::Rows(target) => target,
        BoundTarget::Other(_, sketch) => {
            let plain = |message| assembly::Finding {
                code: sketch.survey_code,
                key: "source",
                message,
                help: "docs/configuration.md says what it means".to_owned(),
            };
            found.extend(survey.warnings.into_iter().map(plain));
            return Ok(found);
        }
    };
    let plain = |message: String, help: &str| assembly::Finding {
        code: "rows::uncounted",
        key: "table",
        message,
        help: help.to_owned(),
    };
    found.extend(survey.warnings.into_iter().map(|message| plain(message, "an index on the deadline leads to them")));
    if survey.bygone.is_none() {
        found.push(plain(
            "what is bygone could not be counted in time; a sweep would be refused by the brake".to_owned(),
            "an index on the deadline makes counting quick; `statement_timeout` on the source gives it more time",
        ));
    }
    if !target.may_sweep().await? {
        return Err(TargetError::new(ErrorKind::Denied, "the role has no right to do this to rows of the table")
            .with_help("give the role of the source's url what `bygone grants ROLE` prints")
            .about("table"));
    }
    Ok(found)
}

fn warning(config: &Config, policy: &Policy, found: assembly::Finding) -> Finding {
    Finding {
        policy: policy.name.clone(),
        severity: Severity::Warning,
        code: found.code,
        message: found.message,
        help: Some(found.help),
        line: Some(problem::line_of(&config.source_text, problem::span(config, policy, Some(found.key)))),
    }
}

fn finding(policy: &Policy, problem: &Problem) -> Finding {
    Finding {
        policy: policy.name.clone(),
        severity: Severity::Error,
        code: problem.code,
        message: problem.message.clone(),
        help: problem.help.clone(),
        line: problem.line(),
    }
}

fn show(format: Format, findings: &Findings) -> Result<(), Problem> {
    if format != Format::Table {
        return output::json(format, findings, &findings.findings).map_err(|error| Problem::failed(error.to_string()));
    }
    // Errors were shown as diagnostics; here they are only counted.
    for finding in findings.findings.iter().filter(|finding| finding.severity == Severity::Warning) {
        let line = finding.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        output::data(format!(
            "warning[{}]: {}{line}: {}",
            finding.code,
            finding.policy,
            output::in_a_line(&finding.message)
        ));
        if let Some(help) = &finding.help {
            output::data(format!("  help: {}", output::in_a_line(help)));
        }
    }
    let errors = findings.findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let warnings = findings.findings.len() - errors;
    output::data(format!("{} policies checked: {errors} errors, {warnings} warnings", findings.policies));
    Ok(())
}
