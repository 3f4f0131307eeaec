//! Operations, counted by what came of them.

use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{MatchedPath, RawPathParams, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;

use crate::daemon::Daemon;
use crate::http::App;

/// Counts an operation when it is answered, or when whoever asked has gone.
pub(in crate::http) async fn count(
    State(app): State<App>,
    path: MatchedPath,
    parameters: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
    next: Next,
) -> Response {
    // A path that cannot be read names no source: whoever answers it says so.
    let source = parameters
        .ok()
        .and_then(|all| all.iter().find(|(name, _)| *name == "source").map(|(_, source)| source.to_owned()));
    // What is no source would make as many series as people think of names.
    let source = source.filter(|source| app.daemon.estate().has_leases(source));
    let operation = operation(request.method(), path.as_str());
    let mut counted = source.map(|source| Counted { daemon: app.daemon, source, operation, result: "gone" });
    let response = next.run(request).await;
    if let Some(counted) = &mut counted {
        counted.result = match response.status() {
            status if status.is_server_error() => "failed",
            status if status.is_client_error() => "refused",
            _ => "ok",
        };
    }
    response
}

struct Counted {
    daemon: Daemon,
    source: String,
    operation: String,
    result: &'static str,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.daemon.count_operation(&self.source, &self.operation, self.result);
    }
}

/// What an operation is called, by its route alone.
fn operation(method: &Method, path: &str) -> String {
    let rest = path.strip_prefix("/lease/v1/{source}/").unwrap_or(path);
    match rest.split_once("/{") {
        None => rest.to_owned(),
        Some((what, _)) => format!("{} {what}", method.as_str().to_ascii_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_called_by_their_routes() {
        assert_eq!(operation(&Method::POST, "/lease/v1/{source}/acquire"), "acquire");
        assert_eq!(operation(&Method::POST, "/lease/v1/{source}/queue/ack"), "queue/ack");
        assert_eq!(operation(&Method::PUT, "/lease/v1/{source}/state/{namespace}/{key}"), "put state");
    }
}
