//! Bounds on how much is done at once, and for how long.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use tokio::sync::Semaphore;

use crate::http::problem::{Kind, Problem};

/// Counts the requests under way.
#[derive(Clone, Debug)]
pub(in crate::http) struct Busy(Arc<Semaphore>);

impl Busy {
    pub(in crate::http) fn new(requests_max: usize) -> Self {
        Self(Arc::new(Semaphore::new(requests_max)))
    }
}

/// Turns away what is too much at once.
pub(in crate::http) async fn limit_requests(
    State(busy): State<Busy>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let permit = busy.0.try_acquire();
    let _permit = permit.map_err(|_| Problem::new(Kind::Busy, "too many requests are under way"))?;
    Ok(next.run(request).await)
}

/// Gives up on what takes too long. The body of an answer is not meant: events may go on.
pub(in crate::http) async fn limit_time(
    State(within): State<Duration>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let answered = tokio::time::timeout(within, next.run(request)).await;
    answered.map_err(|_| {
        let detail = format!("no answer within {} s: nothing more comes of the request", within.as_secs_f64());
        Problem::new(Kind::TooSlow, detail)
    })
}
