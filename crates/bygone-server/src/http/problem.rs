//! What went wrong, as RFC 9457 says it.

use std::time::Duration;

use axum::Json;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use bygone_core::TargetError;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::daemon::NotStarted;
use crate::ledger::LedgerError;

/// The media type of problems.
pub(super) const MEDIA_TYPE: &str = "application/problem+json";
/// What every type begins with.
const URN: &str = "urn:bygone:problem:";
/// When those who were turned away for now may come again.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("5");

/// What can go wrong, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    BadRequest,
    Unauthorized,
    Scope,
    LeaseRequired,
    LeaseExpired,
    FencingMismatch,
    OtherSite,
    NoSuchPath,
    NoSuchPolicy,
    NoSuchSweep,
    NoSuchSource,
    NoSuchStore,
    NoSuchKey,
    NoSuchAttachment,
    NoSuchTxn,
    NoSuchArea,
    NoSuchFile,
    NoSuchMethod,
    Stalled,
    SweptByAnother,
    FileHeld,
    Held,
    AlreadyExists,
    VersionConflict,
    TxnPending,
    TxnConflict,
    CasMismatch,
    Replaced,
    Full,
    TooLarge,
    MediaType,
    Misdirected,
    Unprocessable,
    TooMany,
    Throttled,
    Failed,
    Source,
    Busy,
    Ending,
    NotReady,
    TooSlow,
    OutcomeUnknown,
    AreaFull,
}

impl Kind {
    fn says(self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::BadRequest => (StatusCode::BAD_REQUEST, "bad-request", "The request cannot be read"),
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "unauthorized", "A token is needed"),
            Self::Scope => (StatusCode::FORBIDDEN, "scope", "The token does not allow that"),
            Self::LeaseRequired => (StatusCode::FORBIDDEN, "lease-required", "A lease of the key is needed"),
            Self::LeaseExpired => (StatusCode::FORBIDDEN, "lease-expired", "The lease has ended"),
            Self::FencingMismatch => (StatusCode::FORBIDDEN, "fencing-mismatch", "Somebody else has the lease now"),
            Self::OtherSite => (StatusCode::FORBIDDEN, "other-site", "The request comes from another site"),
            Self::NoSuchPath => (StatusCode::NOT_FOUND, "no-such-path", "There is nothing here"),
            Self::NoSuchPolicy => (StatusCode::NOT_FOUND, "no-such-policy", "There is no such policy"),
            Self::NoSuchSweep => (StatusCode::NOT_FOUND, "no-such-sweep", "There is no such sweep"),
            Self::NoSuchSource => (StatusCode::NOT_FOUND, "no-such-source", "There is no such source"),
            Self::NoSuchStore => (StatusCode::NOT_FOUND, "no-such-store", "There is no such lease store"),
            Self::NoSuchKey => (StatusCode::NOT_FOUND, "no-such-key", "There is no such key"),
            Self::NoSuchAttachment => (StatusCode::NOT_FOUND, "no-such-attachment", "There is no such attachment"),
            Self::NoSuchTxn => (StatusCode::NOT_FOUND, "no-such-txn", "There is no such transaction"),
            Self::NoSuchArea => (StatusCode::NOT_FOUND, "no-such-area", "There is no such staging area"),
            Self::NoSuchFile => (StatusCode::NOT_FOUND, "no-such-file", "Nothing that lives is staged as that"),
            Self::NoSuchMethod => (StatusCode::METHOD_NOT_ALLOWED, "no-such-method", "That cannot be done here"),
            Self::Stalled => (StatusCode::REQUEST_TIMEOUT, "stalled", "The file stopped coming"),
            Self::FileHeld => (StatusCode::CONFLICT, "file-held", "Somebody holds the file"),
            Self::SweptByAnother => (StatusCode::CONFLICT, "swept-by-another", "Another sweeper has the turn"),
            Self::Held => (StatusCode::CONFLICT, "held", "Somebody else has the lease"),
            Self::AlreadyExists => (StatusCode::CONFLICT, "already-exists", "The key has state already"),
            Self::VersionConflict => (StatusCode::CONFLICT, "version-conflict", "The state has another version"),
            Self::TxnPending => (StatusCode::CONFLICT, "txn-pending", "A transaction is not over"),
            Self::TxnConflict => (StatusCode::CONFLICT, "txn-conflict", "The transaction was decided otherwise"),
            Self::CasMismatch => (StatusCode::CONFLICT, "cas-mismatch", "Others were faster, again and again"),
            Self::Replaced => (StatusCode::CONFLICT, "replaced", "It was replaced while it was read"),
            Self::Full => (StatusCode::CONFLICT, "full", "The key can have no more"),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "too-large", "The body is too large"),
            Self::MediaType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", "The body is not JSON"),
            Self::Misdirected => (StatusCode::MISDIRECTED_REQUEST, "misdirected", "The daemon has another name"),
            Self::Unprocessable => {
                (StatusCode::UNPROCESSABLE_ENTITY, "unprocessable", "The request makes no sense as it is")
            }
            Self::TooMany => (StatusCode::TOO_MANY_REQUESTS, "too-many", "Too many sweeps are waiting"),
            Self::Throttled => (StatusCode::TOO_MANY_REQUESTS, "throttled", "The store asks for fewer requests"),
            Self::Failed => (StatusCode::INTERNAL_SERVER_ERROR, "failed", "The daemon could not do it"),
            Self::Source => (StatusCode::BAD_GATEWAY, "source", "The source could not be asked"),
            Self::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy", "The daemon has too much to do"),
            Self::Ending => (StatusCode::SERVICE_UNAVAILABLE, "ending", "The daemon is ending"),
            Self::NotReady => (StatusCode::SERVICE_UNAVAILABLE, "not-ready", "The daemon is not ready"),
            Self::TooSlow => (StatusCode::SERVICE_UNAVAILABLE, "too-slow", "The request took too long"),
            Self::AreaFull => (StatusCode::INSUFFICIENT_STORAGE, "area-full", "There is no room for the file"),
            Self::OutcomeUnknown => {
                (StatusCode::GATEWAY_TIMEOUT, "outcome-unknown", "Nobody knows whether this happened")
            }
        }
    }
}

/// A problem document.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ProblemDocument {
    /// What went wrong, for programs: `urn:bygone:problem:` and a word.
    #[serde(rename = "type")]
    pub kind: String,
    /// What went wrong, for people.
    pub title: String,
    /// The status of the answer.
    pub status: u16,
    /// What went wrong this time, and what to do about it.
    pub detail: String,
    /// When to try again, in milliseconds, where somebody else holds what was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl ProblemDocument {
    /// What went wrong, in a word: what its type ends in.
    pub fn word(&self) -> &str {
        self.kind.strip_prefix(URN).unwrap_or(&self.kind)
    }
}

/// A problem, about to be told.
#[derive(Debug)]
pub(super) struct Problem {
    kind: Kind,
    detail: String,
    header: Option<(HeaderName, HeaderValue)>,
    retry_after: Option<Duration>,
}

impl Problem {
    pub(super) fn new(kind: Kind, detail: impl Into<String>) -> Self {
        let is_passing = matches!(
            kind,
            Kind::TooMany | Kind::Throttled | Kind::Busy | Kind::Ending | Kind::NotReady | Kind::TooSlow
        );
        let header = is_passing.then_some((header::RETRY_AFTER, RETRY_AFTER_SECONDS));
        Self { kind, detail: detail.into(), header, retry_after: None }
    }

    pub(super) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    /// With when to try again.
    pub(super) fn after(self, retry_after: Duration) -> Self {
        let seconds = retry_after.as_secs().saturating_add(u64::from(retry_after.subsec_nanos() > 0));
        let problem = Self { retry_after: Some(retry_after), ..self };
        problem.with_header(header::RETRY_AFTER, seconds.into())
    }

    pub(super) fn no_such_policy(name: &str) -> Self {
        Self::new(Kind::NoSuchPolicy, format!("there is no policy `{name}`: GET /api/v1/policies has them all"))
    }
}

/// What a problem says to people, kept beside it: a browser is shown a page of it.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) title: &'static str,
    pub(super) detail: String,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, word, title) = self.kind.says();
        let told = Told { title, detail: self.detail.clone() };
        let document = ProblemDocument {
            kind: format!("{URN}{word}"),
            title: title.to_owned(),
            status: status.as_u16(),
            detail: self.detail,
            // Milliseconds that do not fit are for ever.
            retry_after_ms: self.retry_after.map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX)),
        };
        let mut response = (status, Json(document)).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        response.headers_mut().extend(self.header);
        response.extensions_mut().insert(told);
        response
    }
}

/// What is wrong with the file is for those who read the log.
impl From<LedgerError> for Problem {
    fn from(error: LedgerError) -> Self {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        tracing::error!(%error, cause, "the history cannot be told");
        Self::new(Kind::Failed, "the history does not answer: the log of the daemon says why")
    }
}

impl From<TargetError> for Problem {
    fn from(error: TargetError) -> Self {
        Self::new(Kind::Source, error.full_message())
    }
}

impl From<NotStarted> for Problem {
    fn from(why: NotStarted) -> Self {
        match &why {
            NotStarted::NoSuchPolicy(name) => Self::no_such_policy(name),
            NotStarted::SeveralSources => Self::new(Kind::Unprocessable, why.to_string()),
            NotStarted::SweptByAnother => Self::new(Kind::SweptByAnother, format!("{why}: ask again when it is done")),
            NotStarted::TooMany => Self::new(Kind::TooMany, format!("{why}: ask again when some have run")),
            NotStarted::Ending => Self::new(Kind::Ending, why.to_string()),
        }
    }
}

/// For paths that nobody answers.
pub(super) async fn no_such_path(uri: Uri) -> Problem {
    let detail = format!("nothing answers at {}: GET /api/v1/openapi.json says what does", uri.path());
    Problem::new(Kind::NoSuchPath, detail)
}

/// For paths that somebody answers, but not like this.
pub(super) async fn no_such_method(method: Method, uri: Uri) -> Problem {
    Problem::new(Kind::NoSuchMethod, format!("{} does not answer {method}: `Allow` says what it answers", uri.path()))
}
