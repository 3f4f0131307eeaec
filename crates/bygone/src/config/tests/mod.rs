//! Whole files through the whole module: what is taken, what is refused, and
//! how that looks.

mod action;
mod diagnostics;
mod files;
mod fuzz;
mod gates;
mod keys;
mod newest;
mod order;
mod packs;
mod references;
mod refused;
mod serve;
mod taken;
mod times;
mod via;

use std::ffi::OsString;
use std::path::Path;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, SourceSpan};

use super::{Config, ConfigError, Env, Policy, Rows, parse};

/// A fixed environment: variables that look like secrets, to see them leak.
pub(super) struct TestEnv;

impl Env for TestEnv {
    fn var(&self, name: &str) -> Option<OsString> {
        let value = match name {
            "DATABASE_URL" => "postgres://ada:hunter2@db.example/app",
            "REPLICA_URL" => "postgres://ada:hunter2@replica.example/app",
            "SECRET" => "hunter2",
            "KEEP" => "30d",
            "COLUMN" => "expires_at",
            _ => return None,
        };
        Some(value.into())
    }
}

pub(super) fn config(text: &str) -> Result<Config, ConfigError> {
    parse("bygone.toml", text, Path::new("/nowhere"), &TestEnv)
}

/// A good policy and its source, with `lines` added to the policy.
pub(super) fn with_policy_lines(lines: &str) -> String {
    format!("{SOURCE}{POLICY}{lines}\n")
}

pub(super) const SOURCE: &str = "[source.auth]\nurl = \"sqlite:a.db\"\n";

pub(super) const POLICY: &str = "[[policy]]\nname = \"tokens\"\nsource = \"auth\"\n\
                                 table = \"t\"\ndeadline = \"d\"\nkeep = \"1d\"\n";

/// The one policy of a file with `lines` added to a good one.
pub(super) fn policy(lines: &str) -> Policy {
    let mut config = config(&with_policy_lines(lines)).unwrap();
    assert_eq!(config.policies.len(), 1);
    config.policies.remove(0)
}

/// What the policy of [`policy`] says of rows.
pub(super) fn rows(lines: &str) -> Rows {
    policy(lines).rows().unwrap().clone()
}

/// What stands in the file of [`policy`] at `span`.
pub(super) fn at(lines: &str, span: SourceSpan) -> String {
    with_policy_lines(lines)[span.offset()..span.offset() + span.len()].to_owned()
}

/// The diagnostic of a file that must be refused.
pub(super) fn refusal(text: &str) -> String {
    rendered(&config(text).map(|_| ()).expect_err(text))
}

/// The diagnostic as a terminal without colours shows it.
pub(super) fn rendered(error: &ConfigError) -> String {
    let mut out = String::new();
    GraphicalReportHandler::new_themed(GraphicalTheme::none())
        .with_width(80)
        .with_links(false)
        .render_report(&mut out, error)
        .unwrap();
    out
}

/// The codes of all findings, in the order of the file.
pub(super) fn codes(error: &ConfigError) -> Vec<String> {
    match error.related() {
        Some(related) => related.map(code).collect(),
        None => vec![code(error)],
    }
}

fn code(diagnostic: &dyn Diagnostic) -> String {
    diagnostic.code().unwrap().to_string()
}
