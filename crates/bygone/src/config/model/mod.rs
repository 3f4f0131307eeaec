//! The configuration as the rest of the program sees it: plain values, all
//! defaults filled in, with the places they came from for later diagnostics.

mod files;
mod policy;
mod rows;
mod serve;
mod source;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;
use miette::NamedSource;

pub(crate) use self::files::{FileDeadline, KeyDate, Leases, ObjectDeadline, Prefix, Stage, Tree};
pub(crate) use self::policy::{Brake, Budget, Policy, PolicySpans, Schedule, Subject};
pub(crate) use self::rows::{
    Action, Assignment, Chain, ColumnRef, Condition, Deadline, DeadlineColumn, Format, NewValue, Newest, Nulls, Rows,
};
pub(crate) use self::serve::{Certificate, History, Serve};
pub(crate) use self::source::{Gates, Place, Source};

/// A configuration that was found good.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// The file's name and text, with passwords masked: what diagnostics quote.
    /// All spans point into it.
    pub(crate) source_text: Arc<NamedSource<String>>,
    /// The sources by name.
    pub(crate) sources: BTreeMap<String, Source>,
    /// The policies in the order of the file, then those of packs: at least
    /// one, each with a name of its own and a source of `sources`.
    pub(crate) policies: Vec<Policy>,
    /// The names of policies that take part in nothing.
    pub(crate) disabled: Vec<String>,
    /// How far a source's clock may differ from this machine's.
    pub(crate) skew_max: SignedDuration,
    /// How the daemon is reached.
    pub(crate) serve: Serve,
}
