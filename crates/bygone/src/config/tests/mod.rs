//! Whole files through the whole module: what is taken, what is refused, and
//! how that looks.

mod diagnostics;
mod keys;
mod refused;
mod taken;

use std::ffi::OsString;
use std::path::Path;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};

use super::{Config, ConfigError, Env, parse};

/// A fixed environment: variables that look like secrets, to see them leak.
pub(super) struct TestEnv;

impl Env for TestEnv {
    fn var(&self, name: &str) -> Option<OsString> {
        let value = match name {
            "DATABASE_URL" => "postgres://ada:hunter2@db.example/app",
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
