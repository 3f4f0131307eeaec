//! Everything that goes to a store and comes back passes here.
//!
//! Requests are counted, have a time limit and are sent again after a fault that passes, with pauses that grow and are
//! never quite the same. The answers tell more than the client passes on: the store's clock, versions, the names as they
//! are, the fate of each key of a bulk delete. All of that is noted for the target.
//!
//! A request that removes may have been carried out although no answer came. When it is sent again, that is noted too:
//! what it then finds gone, it may have removed itself.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bygone_core::{Clock, ClockReading};
use futures_util::stream;
use http::{HeaderMap, Method, Request, Response, StatusCode, request};
use jiff::Timestamp;
use opendal::raw::ServiceOperation;
use opendal::{Buffer, HttpBody, HttpTransport, HttpTransporter};

use super::answers::{self, Refusal};
use super::{Patience, Scheme};

/// The client's own words for the requests that matter here.
const LISTS: [&str; 3] = ["ListObjects", "ListObjectsV2", "ListBlobs"];
const BULK_DELETE: &str = "DeleteObjects";

/// What is left of a request after all attempts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The store could not be reached, or hung up.
    NoConnection,
    /// It took too long.
    TimedOut,
    /// It said that it has too much to do, or that something is wrong with it.
    Overloaded(StatusCode),
    /// It said no: with its own code and message, where it gave them.
    Refused(StatusCode, Option<(String, String)>),
}

/// What was seen since it was last asked.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) clock: Option<ClockReading>,
    /// A version of an object, or a marker instead of a deleted one, was spoken of.
    pub(super) versioned: bool,
    /// How the last request failed, if it did.
    pub(super) fault: Option<Fault>,
    /// The paths of requests that remove and were sent again: nobody knows what became of them the first time.
    pub(super) resent: Vec<String>,
    /// The keys of the latest listing.
    pub(super) listed: Option<HashSet<String>>,
    /// What the bulk deletes left, and why; `None` when none was answered.
    pub(super) refusals: Option<Vec<Refusal>>,
}

/// The way to one store. Clones share their counts and notes.
#[derive(Clone)]
pub(super) struct Wire {
    inner: Arc<Inner>,
}

struct Inner {
    transport: HttpTransporter,
    clock: Arc<dyn Clock>,
    scheme: Scheme,
    patience: Patience,
    requests: AtomicU64,
    notes: Mutex<Notes>,
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").field("requests", &self.requests()).finish_non_exhaustive()
    }
}

impl Wire {
    pub(super) fn new(transport: HttpTransporter, clock: Arc<dyn Clock>, scheme: Scheme, patience: Patience) -> Self {
        let (requests, notes) = (AtomicU64::new(0), Mutex::default());
        Self { inner: Arc::new(Inner { transport, clock, scheme, patience, requests, notes }) }
    }

    /// Requests sent so far, each attempt by itself.
    pub(super) fn requests(&self) -> u64 {
        self.inner.requests.load(Ordering::Relaxed)
    }

    pub(super) fn notes(&self) -> MutexGuard<'_, Notes> {
        self.inner.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One attempt, with the whole answer: answers here are listings and verdicts, never the contents of an object.
    async fn attempt(&self, parts: &request::Parts, body: &Buffer) -> Attempt {
        self.inner.requests.fetch_add(1, Ordering::Relaxed);
        let before = self.inner.clock.now();
        let request = Request::from_parts(parts.clone(), body.clone());
        let whole = async {
            let (parts, mut body) = self.inner.transport.fetch(request).await?.into_parts();
            Ok::<_, opendal::Error>(Response::from_parts(parts, body.to_buffer().await?))
        };
        match tokio::time::timeout(self.inner.patience.request_time, whole).await {
            Err(_) => Attempt::Failed(Fault::TimedOut, None),
            Ok(Err(error)) => Attempt::Failed(Fault::NoConnection, Some(error)),
            Ok(Ok(response)) => {
                self.note_time(before, response.headers());
                match response.status() {
                    status if passes(status) => Attempt::Answered(response, Some(Fault::Overloaded(status))),
                    status if status.is_success() => Attempt::Answered(response, None),
                    status => {
                        let complaint =
                            std::str::from_utf8(&response.body().to_bytes()).ok().and_then(answers::complaint);
                        Attempt::Answered(response, Some(Fault::Refused(status, complaint)))
                    }
                }
            }
        }
    }

    fn note_time(&self, before: Timestamp, headers: &HeaderMap) {
        let date = headers.get(http::header::DATE).and_then(|date| date.to_str().ok());
        let source = date.and_then(|date| jiff::fmt::rfc2822::parse(date).ok());
        if let Some(source) = source {
            let (source, after) = (source.timestamp(), self.inner.clock.now());
            self.notes().clock = Some(ClockReading { before, source, after });
        }
    }

    fn note_answer(&self, operation: &str, response: &Response<Buffer>) {
        let headers = response.headers();
        let version = headers.get("x-amz-version-id").or_else(|| headers.get("x-ms-version-id"));
        let mut notes = self.notes();
        // "null" is the version of what was written without versions.
        notes.versioned |= version.is_some_and(|version| !version.is_empty() && version != "null");
        notes.versioned |= headers.get("x-amz-delete-marker").is_some_and(|marker| marker == "true");
        if !response.status().is_success() {
            return;
        }
        let body = response.body().to_bytes();
        let Ok(body) = std::str::from_utf8(&body) else { return };
        if LISTS.contains(&operation) {
            notes.listed = Some(answers::listed_keys(self.inner.scheme, body));
        } else if operation == BULK_DELETE
            && let Some(refusals) = answers::refusals(body)
        {
            notes.versioned |= body.contains("<DeleteMarker>true");
            // The client asks again about the keys that failed for the moment: their first refusals are void.
            let known = notes.refusals.get_or_insert_default();
            known.retain(|refusal| !refusal.passes());
            known.extend(refusals);
        }
    }

    async fn pause(&self, attempt: u32) {
        let patience = &self.inner.patience;
        let longest = patience.first_pause.saturating_mul(1 << attempt.min(16)).min(patience.pause_max);
        self.inner.clock.sleep(longest.mul_f64(chance())).await;
    }
}

impl Refusal {
    /// Whether the store means "not now" rather than "no".
    pub(super) fn passes(&self) -> bool {
        matches!(
            self.code.as_str(),
            "SlowDown"
                | "InternalError"
                | "ServiceUnavailable"
                | "RequestTimeout"
                | "TooManyRequests"
                | "OperationAborted"
        )
    }
}

enum Attempt {
    Answered(Response<Buffer>, Option<Fault>),
    Failed(Fault, Option<opendal::Error>),
}

impl HttpTransport for Wire {
    async fn fetch(&self, request: Request<Buffer>) -> opendal::Result<Response<HttpBody>> {
        let (parts, body) = request.into_parts();
        let operation = parts.extensions.get::<ServiceOperation>().map_or("", |operation| operation.0);
        // What is not about objects, such as asking a machine for its role, has its own way to fail.
        let attempts = if operation.is_empty() { 1 } else { self.inner.patience.attempts.max(1) };
        let removes = parts.method == Method::DELETE || operation == BULK_DELETE;
        let mut attempt = 1;
        loop {
            let outcome = self.attempt(&parts, &body).await;
            let (fault, again) = match &outcome {
                Attempt::Answered(_, fault) => (fault.clone(), matches!(fault, Some(Fault::Overloaded(_)))),
                Attempt::Failed(fault, _) => (Some(fault.clone()), true),
            };
            if again && attempt < attempts {
                if removes {
                    self.notes().resent.push(parts.uri.path().to_owned());
                }
                self.pause(attempt).await;
                attempt += 1;
                continue;
            }
            self.notes().fault = fault;
            return match outcome {
                Attempt::Answered(response, _) => {
                    self.note_answer(operation, &response);
                    let (parts, body) = response.into_parts();
                    Ok(Response::from_parts(parts, HttpBody::new(stream::iter([Ok(body)]), None)))
                }
                Attempt::Failed(_, Some(error)) => Err(error),
                Attempt::Failed(..) => {
                    let limit = self.inner.patience.request_time;
                    Err(opendal::Error::new(opendal::ErrorKind::Unexpected, format!("no answer within {limit:?}")))
                }
            };
        }
    }
}

/// Whether a status means that the same request may succeed later.
fn passes(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 429 | 500 | 502 | 503 | 504)
}

/// A number between a half and one: those who failed together should not come back together. The one place of this part
/// that asks for chance; without any, the pauses are whole.
fn chance() -> f64 {
    let mut byte = [u8::MAX];
    let _ = getrandom::fill(&mut byte);
    0.5 + f64::from(byte[0]) / 510.0
}
