//! How the daemon is reached, and what it keeps.

use std::path::PathBuf;

use bygone_server::AlarmRules;
use bygone_server::http::{Address, Tokens};
use jiff::SignedDuration;
use miette::SourceSpan;

/// How the daemon is reached, and by whom.
#[derive(Debug, Clone, Default)]
pub(crate) struct Serve {
    /// Where it listens: each place is safe with the certificate and the tokens.
    pub(crate) listen: Vec<Address>,
    /// The names by which it is called.
    pub(crate) hosts: Vec<String>,
    /// What it shows to those who call it.
    pub(crate) certificate: Option<Certificate>,
    /// Who may do what.
    pub(crate) tokens: Tokens,
    /// When a person is told of something.
    pub(crate) alarms: AlarmRules,
    /// How long the history is kept.
    pub(crate) history: History,
}

/// How long the history of sweeps is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct History {
    /// How long a sweep is told of after its end: at least an hour.
    pub(crate) keep: SignedDuration,
    /// Where that stands, if it does.
    pub(crate) span: Option<SourceSpan>,
}

/// Where a certificate and its key are.
#[derive(Debug, Clone)]
pub(crate) struct Certificate {
    /// The certificate and those above it, as PEM.
    pub(crate) certificate: PathBuf,
    /// Its key, as PEM.
    pub(crate) key: PathBuf,
}
