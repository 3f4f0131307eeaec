//! What stores refuse, as problems.

use bygone_lease::Error;

use crate::estate::NoLeases;
use crate::http::problem::{Kind, Problem};
use crate::leases::ContentError;

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::BadName { .. } | Error::BadTtl { .. } | Error::BadTime { .. } => Kind::Unprocessable,
            Error::Held { .. } => Kind::Held,
            Error::LeaseRequired => Kind::LeaseRequired,
            Error::LeaseExpired { .. } => Kind::LeaseExpired,
            Error::FencingMismatch { .. } => Kind::FencingMismatch,
            Error::AlreadyExists => Kind::AlreadyExists,
            Error::VersionConflict { .. } => Kind::VersionConflict,
            Error::TxnPending => Kind::TxnPending,
            Error::TxnConflict { .. } => Kind::TxnConflict,
            Error::TxnUnknown { .. } => Kind::NoSuchTxn,
            Error::TooLarge { .. } => Kind::TooLarge,
            Error::TooMany { .. } => Kind::Full,
            Error::Source { .. } => Kind::BadRequest,
            Error::Replaced { .. } => Kind::Replaced,
            Error::Contended { .. } => Kind::CasMismatch,
            Error::Throttled => Kind::Throttled,
            Error::OutcomeUnknown { .. } => Kind::OutcomeUnknown,
            Error::ClockSkew { .. } | Error::Unreadable { .. } | Error::Storage(_) => Kind::Source,
            _ => Kind::Failed,
        };
        if matches!(kind, Kind::Source | Kind::Failed | Kind::OutcomeUnknown) {
            tracing::warn!(%error, "a lease store could not do what it was asked");
        }
        let problem = Self::new(kind, error.to_string());
        match error {
            Error::Held { retry_after, .. } => problem.after(retry_after),
            _ => problem,
        }
    }
}

impl Problem {
    pub(super) fn no_leases(source: &str, why: NoLeases) -> Self {
        match why {
            NoLeases::NoSuchSource => Self::new(
                Kind::NoSuchStore,
                format!("no source `{source}` has leases: a policy of kind \"leases\" over it says that it does"),
            ),
            NoLeases::NotMade => Self::new(
                Kind::NoSuchStore,
                format!("the store of `{source}` is not there yet: acquire, enqueue, dequeue, begin and stage make it"),
            ),
            NoLeases::Failed(error) => {
                let message = error.full_message();
                let help = error.help().map(|help| format!(": {help}")).unwrap_or_default();
                tracing::warn!(source, error = message, "a lease store could not be opened");
                Self::new(Kind::Source, format!("{message}{help}"))
            }
        }
    }

    pub(super) fn content(what: &str, error: &ContentError) -> Self {
        Self::new(Kind::Unprocessable, format!("`{what}`, or `{what}_base64`: {error}"))
    }
}
