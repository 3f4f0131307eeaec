//! What is answered when something is refused (RFC 6749, section 5.2). Descriptions are fixed texts, so that nothing of
//! what was sent can come back in them.

use std::error::Error;
use std::fmt::Write as _;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bygone_tokens::{Remedy, TokenError};
use serde_json::json;

/// A refusal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OAuthError {
    pub(crate) status: StatusCode,
    pub(crate) error: &'static str,
    pub(crate) description: &'static str,
}

impl OAuthError {
    /// A refusal with this code of RFC 6749 or its companions.
    pub(crate) fn new(error: &'static str, description: &'static str) -> Self {
        let status = if error == "invalid_client" { StatusCode::UNAUTHORIZED } else { StatusCode::BAD_REQUEST };
        Self { status, error, description }
    }

    /// The request itself is wrong.
    pub(crate) fn invalid_request(description: &'static str) -> Self {
        Self::new("invalid_request", description)
    }

    /// Nobody by that name.
    pub(crate) fn unknown_client() -> Self {
        Self::new("invalid_client", "there is no such client")
    }

    /// A code or a refresh token that is good for nothing. Why is nobody's business.
    pub(crate) fn invalid_grant() -> Self {
        Self::new("invalid_grant", "the grant is unknown, expired, used, revoked, or not for this client and key")
    }

    /// The server's own fault.
    pub(crate) fn server_error() -> Self {
        let (status, description) = (StatusCode::INTERNAL_SERVER_ERROR, "the server could not answer");
        Self { status, error: "server_error", description }
    }
}

/// A store could not answer: its reasons go to the log, and the caller learns whether to come again.
impl From<TokenError> for OAuthError {
    fn from(error: TokenError) -> Self {
        tracing::error!(error = with_sources(&error), "a store could not answer");
        match error.remedy() {
            Remedy::Retry => Self {
                status: StatusCode::SERVICE_UNAVAILABLE,
                error: "temporarily_unavailable",
                description: "try again in a moment",
            },
            Remedy::Configure | Remedy::Inspect => Self::server_error(),
        }
    }
}

/// Claims and answers have a JSON form, unless the program is wrong.
impl From<serde_json::Error> for OAuthError {
    fn from(error: serde_json::Error) -> Self {
        tracing::error!(error = with_sources(&error), "no JSON could be read or written");
        Self::server_error()
    }
}

impl IntoResponse for OAuthError {
    fn into_response(self) -> Response {
        let body = Json(json!({ "error": self.error, "error_description": self.description }));
        (self.status, [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))], body).into_response()
    }
}

/// An error and what it came of, in one line.
pub(crate) fn with_sources(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let _ = write!(text, ": {error}");
        source = error.source();
    }
    text
}
