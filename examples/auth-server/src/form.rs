//! A form in a request's body. One that cannot be read is refused as the OAuth specifications say, in JSON.

use axum::extract::{Form, FromRequest, Request};
use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use serde::de::DeserializeOwned;

use crate::error::OAuthError;

/// The parameters of a request. One that comes twice is refused, as RFC 6749, section 3.2 asks.
pub(crate) struct Parameters<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Parameters<T> {
    type Rejection = OAuthError;

    async fn from_request(request: Request, state: &S) -> Result<Self, OAuthError> {
        match Form::from_request(request, state).await {
            Ok(Form(parameters)) => Ok(Self(parameters)),
            Err(rejection) => Err(match rejection.into_response().status() {
                status @ StatusCode::PAYLOAD_TOO_LARGE => {
                    OAuthError { status, ..OAuthError::invalid_request("the body is too large") }
                }
                _ => OAuthError::invalid_request("the body is not a form, lacks a parameter, or has one twice"),
            }),
        }
    }
}
