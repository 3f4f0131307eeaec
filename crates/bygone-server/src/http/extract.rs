//! Requests, read strictly: what is not understood is refused, and named.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use uuid::Uuid;

use super::problem::{Kind, Problem};

/// A body of JSON.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        if !is_json(request.headers()) {
            return Err(Problem::new(Kind::MediaType, "send JSON, with `Content-Type: application/json`"));
        }
        let bytes = Bytes::from_request(request, state).await.map_err(unreadable)?;
        // A list would be read as the fields in their order.
        if bytes.trim_ascii_start().first() == Some(&b'[') {
            return Err(Problem::new(Kind::Unprocessable, "the body is a list: send an object"));
        }
        let read = serde_json::from_slice(&bytes);
        read.map(Self).map_err(|error| match error.classify() {
            Category::Data => Problem::new(Kind::Unprocessable, error.to_string()),
            Category::Io | Category::Syntax | Category::Eof => {
                Problem::new(Kind::BadRequest, format!("the body is no JSON: {error}"))
            }
        })
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let said = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = said.and_then(|said| said.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

fn unreadable(rejection: BytesRejection) -> Problem {
    let text = rejection.body_text();
    match rejection.into_response().status() {
        StatusCode::PAYLOAD_TOO_LARGE => Problem::new(Kind::TooLarge, "the body is larger than the daemon reads"),
        _ => Problem::new(Kind::BadRequest, text),
    }
}

/// What stands behind the question mark.
pub(super) struct Parameters<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Parameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let read = Query::try_from_uri(&parts.uri);
        read.map(|Query(value)| Self(value)).map_err(|error| Problem::new(Kind::BadRequest, error.body_text()))
    }
}

/// What the path names.
pub(super) struct InPath<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for InPath<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = Path::from_request_parts(parts, state).await;
        read.map(|Path(named)| Self(named)).map_err(|error| Problem::new(Kind::BadRequest, error.body_text()))
    }
}

/// A name in the path.
pub(super) struct Name(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        InPath::from_request_parts(parts, state).await.map(|InPath(name)| Self(name))
    }
}

/// The name of a sweep in the path.
pub(super) struct SweepId(pub(super) Uuid);

impl<S: Send + Sync> FromRequestParts<S> for SweepId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Name(name) = Name::from_request_parts(parts, state).await?;
        let read = Uuid::parse_str(&name);
        read.map(Self).map_err(|_| Problem::new(Kind::BadRequest, format!("`{name}` names no sweep: a UUID does")))
    }
}
