//! Room for what is large.
//!
//! Many may work with leases at once, and state may have 64 MiB: so that both cannot come together, those with something
//! large in memory wait for each other, and streams that never end are bounded.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use serde::de::DeserializeOwned;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::App;
use crate::http::extract::Body;
use crate::http::problem::{Kind, Problem};
use crate::http::settings::Limits;

/// The largest body of most operations; what is no larger needs no room.
pub(in crate::http) const SMALL_BODY: usize = 64 << 10;
/// That of one with a message: 256 KiB of payload, be it all of characters that JSON writes in six.
pub(in crate::http) const MESSAGE_BODY: usize = 2 << 20;
/// That of one with state, and the most state that is told in JSON.
pub(in crate::http) const LARGE_BODY: usize = 8 << 20;

/// What operations share.
#[derive(Debug)]
pub(in crate::http) struct Room {
    large: Arc<Semaphore>,
    transfers: Arc<Semaphore>,
    pub(super) wait_max: Duration,
    pub(in crate::http) stall_within: Duration,
}

impl Room {
    pub(in crate::http) fn new(limits: &Limits) -> Self {
        Self {
            large: Arc::new(Semaphore::new(limits.large_max)),
            transfers: Arc::new(Semaphore::new(limits.transfers_max)),
            wait_max: limits.wait_max,
            stall_within: limits.stall_within,
        }
    }

    /// Waits for room for something large, which is kept until this is dropped.
    pub(super) async fn for_large(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let room = Arc::clone(&self.large).acquire_owned().await;
        room.map_err(|_| Problem::new(Kind::Ending, "there is no more room"))
    }

    /// Room for a stream, if there is any.
    pub(in crate::http) fn for_transfer(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let room = Arc::clone(&self.transfers).try_acquire_owned();
        room.map_err(|_| Problem::new(Kind::Busy, "too many attachments are on their way"))
    }
}

/// Whether a body says beforehand that it is small.
pub(super) fn is_small(headers: &HeaderMap) -> bool {
    let said = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    said.is_some_and(|bytes| bytes <= SMALL_BODY)
}

/// A body of JSON that may be large, and the room that it takes.
pub(in crate::http) struct LargeBody<T>(pub(super) T, pub(super) Option<OwnedSemaphorePermit>);

impl<T: DeserializeOwned> FromRequest<App> for LargeBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let room = if is_small(request.headers()) { None } else { Some(app.room.for_large().await?) };
        let Body(value) = Body::from_request(request, app).await?;
        Ok(Self(value, room))
    }
}
