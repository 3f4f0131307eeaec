//! `bygone.toml`: from text to a resolved [`Config`], or to diagnostics.
//!
//! A retention policy that is misread removes the wrong things, so this module
//! fails closed: whatever it does not understand is refused, with the place in
//! the file and the remedy. It exists apart from the rest of the program so
//! that everything behind it works with plain values which need no second look.
//! It opens no database.
//!
//! The way through it:
//!
//! 1. [`text`] masks passwords, so that no diagnostic can show one;
//! 2. [`fields`] walks the TOML tree, fills in `${…}` ([`interpolate`]) and
//!    reports unknown keys and wrong types, all of them, not only the first;
//! 3. [`raw`] and [`policy`] name the keys there are; the JSON Schema is derived
//!    from them;
//! 4. [`overlay`] reads the policies of packs in the same way, with what the file
//!    says in the place of theirs;
//! 5. [`resolve`] checks the meaning, merges defaults and makes the [`Config`].

mod action;
mod alarms;
mod condition;
mod deadline;
mod duration;
mod error;
mod fields;
mod files;
mod gates;
mod history;
mod interpolate;
mod kind;
mod leases;
mod limits;
mod model;
mod names;
mod newest;
mod order;
mod overlay;
mod policy;
mod raw;
mod references;
mod resolve;
mod rights;
mod schema;
mod serve;
mod size;
mod suggest;
#[cfg(test)]
mod tests;
mod text;
mod times;
mod url;
mod uses;
mod values;
mod via;

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;
use std::sync::Arc;

use miette::NamedSource;
use toml::de::DeTable;

pub(crate) use duration::parse_text as parse_duration;
pub(crate) use error::ConfigError;
pub(crate) use history::HISTORY;
pub(crate) use interpolate::{Env, ProcessEnv};
pub(crate) use model::{
    Action, Assignment, Brake, Certificate, ColumnRef, Condition, Config, Deadline, DeadlineColumn, FileDeadline,
    Format, Gates, KeyDate, NewValue, Newest, Nulls, ObjectDeadline, Place, Policy, Prefix, Rows, Schedule, Serve,
    Source, Stage, Subject, Tree,
};
pub(crate) use schema::json_schema;
pub(crate) use suggest::nearest;
pub(crate) use url::{Secret, has_password};

use error::{Code, Findings, Problem};
use fields::{Reader, read_document};

use crate::packs::{PACKS, Pack};

/// The most that is read of a configuration file. A path given by mistake
/// (a device, a dump) must not fill the memory.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Reads and resolves the configuration file at `path`.
///
/// Files named by `${file:…}` are looked up next to it.
pub(crate) fn load(path: &Path, env: &dyn Env) -> Result<Config, ConfigError> {
    let text = read_bounded(path, FILE_BYTES_MAX).map_err(|source| {
        let path = path.to_owned();
        match source.kind() {
            ErrorKind::NotFound => ConfigError::Missing { path },
            _ => ConfigError::Unreadable { path, source },
        }
    })?;
    let base_dir = path.parent().unwrap_or_else(|| Path::new(""));
    parse(&path.display().to_string(), &text, base_dir, env)
}

/// Resolves configuration text.
///
/// `name` is the file's name in diagnostics; `base_dir`
/// is where files named by `${file:…}` are looked up.
pub(crate) fn parse(name: &str, text: &str, base_dir: &Path, env: &dyn Env) -> Result<Config, ConfigError> {
    parse_with(PACKS, name, text, base_dir, env)
}

/// The same, with these packs.
fn parse_with(
    packs: &'static [Pack],
    name: &str,
    text: &str,
    base_dir: &Path,
    env: &dyn Env,
) -> Result<Config, ConfigError> {
    let shown = NamedSource::new(name, text::mask(text)).with_language("TOML");
    let mut findings = Findings::new(Arc::new(shown));
    let (document, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        // What the parser recovered is a guess, and guesses are not judged.
        add_syntax_errors(text, errors, &mut findings);
        return Err(findings.into_error());
    }
    let mut reader = Reader::new(text, base_dir, env, packs, findings);
    let raw = read_document(&mut reader, document.get_ref());
    resolve::resolve(raw, reader.into_findings())
}

/// Adds the first error of each line: the others mostly follow from it.
fn add_syntax_errors(text: &str, mut errors: Vec<toml::de::Error>, findings: &mut Findings) {
    let place = |error: &toml::de::Error| error.span().unwrap_or_default();
    let newlines: Vec<usize> = text.match_indices('\n').map(|(offset, _)| offset).collect();
    let line = |offset: usize| newlines.partition_point(|newline| *newline < offset);
    errors.sort_by_key(|error| place(error).start);
    errors.dedup_by_key(|error| line(place(error).start));
    for error in errors {
        let message = format!("this is not TOML: {}", error.message());
        let problem = Problem::new(Code::Syntax, message).help(
            "strings stand in quotes, tables are headed `[source.NAME]` and `[[policy]]`, \
             and a key stands once in a table",
        );
        findings.add(place(&error), problem);
    }
}

/// Reads a whole file, but refuses one of more than `bytes_max`.
fn read_bounded(path: &Path, bytes_max: u64) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(bytes_max.saturating_add(1)).read_to_string(&mut text)?;
    if u64::try_from(read).is_ok_and(|read| read <= bytes_max) {
        Ok(text)
    } else {
        Err(io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {bytes_max} bytes")))
    }
}
