//! What went wrong, as RFC 9457 says it.

use axum::Json;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use bygone_core::TargetError;
use serde::Serialize;
use utoipa::ToSchema;

use crate::daemon::NotStarted;
use crate::ledger::LedgerError;

/// The media type of problems.
pub(super) const MEDIA_TYPE: &str = "application/problem+json";
/// When those who were turned away for now may come again.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("5");

/// What can go wrong, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    BadRequest,
    Unauthorized,
    Scope,
    OtherSite,
    NoSuchPath,
    NoSuchPolicy,
    NoSuchSweep,
    NoSuchMethod,
    SweptByAnother,
    TooLarge,
    MediaType,
    Misdirected,
    Unprocessable,
    TooMany,
    Failed,
    Source,
    Busy,
    Ending,
    NotReady,
    TooSlow,
}

impl Kind {
    fn says(self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::BadRequest => (StatusCode::BAD_REQUEST, "bad-request", "The request cannot be read"),
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "unauthorized", "A token is needed"),
            Self::Scope => (StatusCode::FORBIDDEN, "scope", "The token does not allow that"),
            Self::OtherSite => (StatusCode::FORBIDDEN, "other-site", "The request comes from another site"),
            Self::NoSuchPath => (StatusCode::NOT_FOUND, "no-such-path", "There is nothing here"),
            Self::NoSuchPolicy => (StatusCode::NOT_FOUND, "no-such-policy", "There is no such policy"),
            Self::NoSuchSweep => (StatusCode::NOT_FOUND, "no-such-sweep", "There is no such sweep"),
            Self::NoSuchMethod => (StatusCode::METHOD_NOT_ALLOWED, "no-such-method", "That cannot be done here"),
            Self::SweptByAnother => (StatusCode::CONFLICT, "swept-by-another", "Another sweeper has the turn"),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "too-large", "The body is too large"),
            Self::MediaType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-type", "The body is not JSON"),
            Self::Misdirected => (StatusCode::MISDIRECTED_REQUEST, "misdirected", "The daemon has another name"),
            Self::Unprocessable => {
                (StatusCode::UNPROCESSABLE_ENTITY, "unprocessable", "The request makes no sense as it is")
            }
            Self::TooMany => (StatusCode::TOO_MANY_REQUESTS, "too-many", "Too many sweeps are waiting"),
            Self::Failed => (StatusCode::INTERNAL_SERVER_ERROR, "failed", "The daemon could not do it"),
            Self::Source => (StatusCode::BAD_GATEWAY, "source", "The source could not be asked"),
            Self::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy", "The daemon has too much to do"),
            Self::Ending => (StatusCode::SERVICE_UNAVAILABLE, "ending", "The daemon is ending"),
            Self::NotReady => (StatusCode::SERVICE_UNAVAILABLE, "not-ready", "The daemon is not ready"),
            Self::TooSlow => (StatusCode::SERVICE_UNAVAILABLE, "too-slow", "The request took too long"),
        }
    }
}

/// A problem document.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ProblemDocument {
    /// What went wrong, for programs: `urn:bygone:problem:` and a word.
    #[serde(rename = "type")]
    kind: String,
    /// What went wrong, for people.
    title: &'static str,
    /// The status of the answer.
    status: u16,
    /// What went wrong this time, and what to do about it.
    detail: String,
}

/// A problem, about to be told.
#[derive(Debug)]
pub(super) struct Problem {
    kind: Kind,
    detail: String,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Problem {
    pub(super) fn new(kind: Kind, detail: impl Into<String>) -> Self {
        let is_passing = matches!(kind, Kind::TooMany | Kind::Busy | Kind::Ending | Kind::NotReady | Kind::TooSlow);
        let header = is_passing.then_some((header::RETRY_AFTER, RETRY_AFTER_SECONDS));
        Self { kind, detail: detail.into(), header }
    }

    pub(super) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.header = Some((name, value));
        self
    }

    pub(super) fn no_such_policy(name: &str) -> Self {
        Self::new(Kind::NoSuchPolicy, format!("there is no policy `{name}`: GET /api/v1/policies has them all"))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let (status, word, title) = self.kind.says();
        let kind = format!("urn:bygone:problem:{word}");
        let document = ProblemDocument { kind, title, status: status.as_u16(), detail: self.detail };
        let mut response = (status, Json(document)).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        response.headers_mut().extend(self.header);
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
