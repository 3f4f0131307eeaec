//! What browsers must not do with our answers.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;

const STRICT: [(HeaderName, HeaderValue); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    ),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

/// Says it in every answer, unless the answer says something else itself.
pub(in crate::http) async fn strict_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    for (name, value) in STRICT {
        // Streams say `no-cache`, which would let them be stored.
        if name == header::CACHE_CONTROL {
            response.headers_mut().insert(name, value);
        } else {
            response.headers_mut().entry(name).or_insert(value);
        }
    }
    response
}
