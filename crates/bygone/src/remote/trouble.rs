//! What can go wrong with a daemon, and what a script does next.

use bygone_server::http::ProblemDocument;
use reqwest::StatusCode;

use super::Address;
use crate::exit::Exit;
use crate::problem::Problem;

/// Why there is no answer that could be used.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The request did not reach anybody.
    Unreachable(String),
    /// Something was sent, and what became of it nobody has told.
    Lost(String),
    /// The daemon says why not.
    Told(ProblemDocument),
    /// Something answered that is no daemon.
    Strange(String),
}

impl Trouble {
    /// What an answer says that is not the one hoped for.
    pub(super) fn of(status: StatusCode, body: &[u8]) -> Self {
        match serde_json::from_slice::<ProblemDocument>(body) {
            Ok(document) => Self::Told(document),
            Err(_) => Self::Strange(format!("it answered {status}, and not as a daemon does")),
        }
    }

    /// The word of a problem that was told.
    pub(crate) fn word(&self) -> Option<&str> {
        match self {
            Self::Told(document) => Some(document.word()),
            _ => None,
        }
    }

    /// Whether the same may be asked again at once, where asking twice does no harm: the last one may have been lost on the way.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Self::Lost(_)) || self.word() == Some("too-slow")
    }

    /// As a problem. Whatever may have happened and may be done once only is told as such.
    pub(crate) fn problem(self, address: &Address, is_repeatable: bool) -> Problem {
        let is_unknown = !is_repeatable && self.may_pass();
        let (code, exit, message) = match self {
            Self::Unreachable(why) => {
                ("unreachable", Exit::Unreachable, format!("no daemon answers at {address}: {why}"))
            }
            Self::Lost(why) if is_unknown => ("outcome_unknown", Exit::Unreachable, unknown(&why)),
            Self::Lost(why) => {
                ("unreachable", Exit::Unreachable, format!("the daemon at {address} did not answer: {why}"))
            }
            Self::Strange(what) => {
                ("unreachable", Exit::Unreachable, format!("{address} is no daemon of ours: {what}"))
            }
            Self::Told(document) if is_unknown => ("outcome_unknown", Exit::Unreachable, unknown(&document.detail)),
            Self::Told(document) => {
                let (code, exit) = meaning(document.word());
                (code, exit, document.detail)
            }
        };
        let mut problem = Problem::failed(message);
        (problem.code, problem.exit) = (code, exit);
        problem
    }
}

fn unknown(why: &str) -> String {
    format!("nobody knows whether this happened ({why}): look, before you ask again")
}

/// The code and the end of a problem: those that the same thing has where a place is opened directly.
fn meaning(word: &str) -> (&'static str, Exit) {
    match word {
        "held" => ("waiting", Exit::Busy),
        "throttled" => ("throttled", Exit::Busy),
        "cas-mismatch" => ("cas_mismatch", Exit::Busy),
        "busy" | "too-many" | "too-slow" | "swept-by-another" => ("busy", Exit::Busy),
        "lease-required" => ("lease_required", Exit::LeaseLost),
        "lease-expired" => ("lease_expired", Exit::LeaseLost),
        "fencing-mismatch" => ("fencing_mismatch", Exit::LeaseLost),
        "already-exists" => ("already_exists", Exit::Failed),
        "version-conflict" => ("version_conflict", Exit::Failed),
        "txn-pending" => ("txn_pending", Exit::Failed),
        "txn-conflict" => ("txn_conflict", Exit::Failed),
        "no-such-txn" => ("txn_unknown", Exit::Failed),
        "too-large" => ("too_large", Exit::Failed),
        "full" => ("too_many", Exit::Failed),
        "replaced" => ("replaced", Exit::Failed),
        "outcome-unknown" => ("outcome_unknown", Exit::Unreachable),
        "source" | "no-such-area" => ("source", Exit::Unreachable),
        "ending" | "not-ready" => ("unreachable", Exit::Unreachable),
        "unauthorized" | "scope" | "other-site" => ("denied", Exit::Failed),
        "bad-request" | "unprocessable" | "media-type" | "misdirected" | "no-such-path" | "no-such-method"
        | "no-such-policy" | "no-such-sweep" => ("usage", Exit::Usage),
        _ => ("failed", Exit::Failed),
    }
}
