//! Requests from this server to a client's. The HTTP client is that of hyper, which axum brings along: it has no TLS and
//! follows no redirects, and the demo needs neither.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{Method, Request, StatusCode, header};
use bygone_core::Clock;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use url::form_urlencoded;

/// How long a client may take to answer.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// The way to the clients.
pub(crate) struct BackChannel {
    http: Client<HttpConnector, Full<Bytes>>,
    clock: Arc<dyn Clock>,
}

impl BackChannel {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { http: Client::builder(TokioExecutor::new()).build_http(), clock }
    }

    /// Posts a logout token. Whether the client has taken note of it.
    pub(crate) async fn post(&self, uri: &str, logout_token: &str) -> bool {
        let form = form_urlencoded::Serializer::new(String::new()).append_pair("logout_token", logout_token).finish();
        let request = Request::builder()
            .method(Method::POST)
            .uri(uri)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::from(form));
        let Ok(request) = request else { return false };
        tokio::select! {
            answer = self.http.request(request) => {
                answer.is_ok_and(|answer| matches!(answer.status(), StatusCode::OK | StatusCode::NO_CONTENT))
            }
            () = self.clock.sleep(ANSWER_MAX) => false,
        }
    }
}
