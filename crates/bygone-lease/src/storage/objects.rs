//! A store in a bucket of S3, Azure or Google.
//!
//! Each request is sent once, by itself: what to make of a lost reply is decided above, where the body is known. The
//! client passes on less than a store says, so the answer is looked at on its way: the version of what was read stands in
//! the headers of the very answer that held it, and a status tells "no" from "not now" from "perhaps".

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::{Clock, ClockReading};
use bygone_objects::{Access, Scheme, plain_transport};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, Request, Response, StatusCode, header};
use opendal::options::{DeleteOptions, ListOptions, WriteOptions};
use opendal::{Buffer, EntryMode, ErrorKind, HttpBody, HttpTransport, HttpTransporter, OperationContext, Operator};

use super::{Capabilities, Expected, Listed, Listing, Storage, StorageError, Stored, Version};

/// The largest value: what one plain upload takes everywhere, and no wire is too slow for.
const VALUE_BYTES_MAX: usize = 16 << 20;
/// Enough to hide most of the way there and back, and few enough for a store that has other things to do.
const REQUESTS_AT_ONCE: usize = 8;

/// A store in a bucket.
#[derive(Debug)]
pub struct Objects {
    access: Access,
    operator: Operator,
    transport: HttpTransporter,
    clock: Arc<dyn Clock>,
    request_time: Duration,
}

impl Objects {
    /// Opens the store below the prefix of the bucket's URL. Nobody is contacted.
    pub fn open(access: Access, clock: Arc<dyn Clock>, request_time: Duration) -> Result<Self, StorageError> {
        let transport = plain_transport();
        let refused = |error: bygone_objects::BucketError| StorageError::Refused { reason: error.to_string() };
        let operator = access.operator("", transport.clone()).map_err(refused)?;
        Ok(Self { access, operator, transport, clock, request_time })
    }

    fn scheme(&self) -> Scheme {
        self.access.url().scheme()
    }

    /// The client for one request, and what was heard of its answer.
    fn once(&self) -> (Operator, Arc<Ear>) {
        let ear = Arc::new(Ear {
            transport: self.transport.clone(),
            clock: Arc::clone(&self.clock),
            request_time: self.request_time,
            heard: Mutex::default(),
        });
        let context = OperationContext::new().with_http_transport(HttpTransporter::new(Listening(Arc::clone(&ear))));
        (self.operator.clone().with_context(context), ear)
    }

    fn version(&self, headers: &HeaderMap) -> Option<Version> {
        let name = match self.scheme() {
            Scheme::Google => "x-goog-generation",
            Scheme::S3 | Scheme::Azure => "etag",
        };
        Some(Version::new(headers.get(name)?.to_str().ok()?))
    }

    /// What a failed request means. The client's own error may hold a signed URL: only what the store said is passed on.
    fn failure(&self, ear: &Ear, error: &opendal::Error, kind: Kind) -> StorageError {
        let heard = ear.heard();
        let reason = match &heard.status {
            Some(status) => format!("{} answers {status}{}", self.access.url(), heard.complaint()),
            None => format!("{}: no answer, or a connection that was cut", self.access.url()),
        };
        match heard.status {
            _ if error.kind() == ErrorKind::ConditionNotMatch => StorageError::conflict(),
            // Two writers at the same moment: neither has lost yet.
            Some(StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS) => StorageError::Throttled,
            // What is to be changed is gone.
            Some(StatusCode::NOT_FOUND) if kind == Kind::Swap && !heard.lacks_bucket() => StorageError::conflict(),
            Some(status) if status.is_server_error() || status == StatusCode::REQUEST_TIMEOUT => kind.no_answer(reason),
            Some(_) => StorageError::Refused { reason },
            // Nothing was sent: the client itself found something to complain about.
            None if !heard.sent => StorageError::Refused { reason: error.message().to_owned() },
            None => kind.no_answer(reason),
        }
    }
}

/// What kind of request it is, and so what a missing answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    Create,
    Swap,
}

impl Kind {
    fn no_answer(self, reason: String) -> StorageError {
        match self {
            Self::Read => StorageError::Unavailable { reason },
            Self::Create | Self::Swap => StorageError::Unknown { reason },
        }
    }
}

#[async_trait]
impl Storage for Objects {
    fn capabilities(&self) -> Capabilities {
        let capability = self.operator.info().capability();
        Capabilities {
            proven: false,
            list: capability.list,
            delete_if_version: capability.delete_with_if_match || capability.delete_with_if_version_match,
            value_bytes_max: VALUE_BYTES_MAX,
            requests_at_once: REQUESTS_AT_ONCE,
        }
    }

    async fn get(&self, key: &str) -> Result<Option<Stored>, StorageError> {
        let (operator, ear) = self.once();
        match operator.read(key).await {
            Ok(body) => {
                let no_version = || StorageError::Refused {
                    reason: format!("{} does not say which version it answers with", self.access.url()),
                };
                let version = self.version(&ear.heard().headers).ok_or_else(no_version)?;
                Ok(Some(Stored { body: body.to_bytes(), version }))
            }
            Err(error) if error.kind() == ErrorKind::NotFound && !ear.heard().lacks_bucket() => Ok(None),
            Err(error) => Err(self.failure(&ear, &error, Kind::Read)),
        }
    }

    async fn put(&self, key: &str, body: Bytes, expected: Expected<'_>) -> Result<Version, StorageError> {
        let (operator, ear) = self.once();
        let (options, kind) = match (expected, self.scheme()) {
            (Expected::Absent, _) => (WriteOptions { if_not_exists: true, ..WriteOptions::default() }, Kind::Create),
            (Expected::Version(version), Scheme::Google) => {
                let version = Some(version.as_str().to_owned());
                (WriteOptions { if_version_match: version, ..WriteOptions::default() }, Kind::Swap)
            }
            (Expected::Version(version), _) => {
                let version = Some(version.as_str().to_owned());
                (WriteOptions { if_match: version, ..WriteOptions::default() }, Kind::Swap)
            }
        };
        match operator.write_options(key, body, options).await {
            Ok(_) => self.version(&ear.heard().headers).ok_or_else(|| StorageError::Unknown {
                reason: format!("{} does not say which version it wrote", self.access.url()),
            }),
            Err(error) => Err(self.failure(&ear, &error, kind)),
        }
    }

    async fn delete(&self, key: &str, version: &Version) -> Result<(), StorageError> {
        let (operator, ear) = self.once();
        let version = Some(version.as_str().to_owned());
        let options = match self.scheme() {
            Scheme::Google => DeleteOptions { if_version_match: version, ..DeleteOptions::default() },
            Scheme::S3 | Scheme::Azure => DeleteOptions { if_match: version, ..DeleteOptions::default() },
        };
        let deleted = operator.delete_options(key, options).await;
        // The client takes an object that is not there for one that it deleted.
        let was_gone = ear.heard().status == Some(StatusCode::NOT_FOUND) && !ear.heard().lacks_bucket();
        match deleted {
            _ if was_gone => Err(StorageError::conflict()),
            Ok(()) => Ok(()),
            Err(error) => Err(self.failure(&ear, &error, Kind::Swap)),
        }
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Listing, StorageError> {
        let (operator, ear) = self.once();
        // Where a store cannot begin behind a key, it begins at the beginning, and what comes before is passed over.
        let can_begin = self.operator.info().capability().list_with_start_after;
        let options = ListOptions {
            limit: can_begin.then_some(limit),
            start_after: after.filter(|_| can_begin).map(str::to_owned),
            recursive: true,
            ..ListOptions::default()
        };
        let failed = |error: opendal::Error| self.failure(&ear, &error, Kind::Read);
        let mut lister = operator.lister_options(prefix, options).await.map_err(failed)?;
        let mut keys = Vec::new();
        while keys.len() < limit {
            let Some(entry) = lister.next().await.transpose().map_err(failed)? else {
                return Ok(Listing { keys, more: false });
            };
            let is_behind = after.is_none_or(|after| entry.path() > after);
            if entry.metadata().mode() == EntryMode::FILE && is_behind {
                let version = match self.scheme() {
                    Scheme::Google => entry.metadata().version(),
                    Scheme::S3 | Scheme::Azure => entry.metadata().etag(),
                };
                keys.push(Listed { key: entry.path().to_owned(), version: version.map(Version::new) });
            }
        }
        Ok(Listing { keys, more: true })
    }

    async fn read_clock(&self) -> Result<Option<ClockReading>, StorageError> {
        let (operator, ear) = self.once();
        let probe = operator.read(crate::layout::STORE).await;
        let reading = ear.heard().clock;
        match (reading, probe) {
            (Some(reading), _) => Ok(Some(reading)),
            (None, Ok(_)) => Ok(None),
            (None, Err(error)) => Err(self.failure(&ear, &error, Kind::Read)),
        }
    }
}

/// What was heard of an answer on its way.
#[derive(Debug, Default)]
struct Heard {
    sent: bool,
    status: Option<StatusCode>,
    headers: HeaderMap,
    /// The beginning of an answer that says no.
    body: String,
    clock: Option<ClockReading>,
}

impl Heard {
    fn lacks_bucket(&self) -> bool {
        ["NoSuchBucket", "ContainerNotFound", "bucket does not exist"].iter().any(|code| self.body.contains(code))
    }

    /// The store's own word for what is wrong.
    fn complaint(&self) -> String {
        let code = self.body.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
        code.map_or_else(String::new, |(code, _)| format!(" ({code})"))
    }
}

/// Listens to one request.
#[derive(Debug)]
struct Ear {
    transport: HttpTransporter,
    clock: Arc<dyn Clock>,
    request_time: Duration,
    heard: Mutex<Heard>,
}

impl Ear {
    fn heard(&self) -> std::sync::MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn fetch(&self, request: Request<Buffer>) -> opendal::Result<Response<HttpBody>> {
        *self.heard() = Heard { sent: true, ..Heard::default() };
        let before = self.clock.now();
        let whole = async {
            let (parts, mut body) = self.transport.fetch(request).await?.into_parts();
            Ok::<_, opendal::Error>((parts, body.to_buffer().await?))
        };
        let limit = self.request_time;
        let late = |_| opendal::Error::new(ErrorKind::Unexpected, format!("no answer within {limit:?}"));
        let (parts, body) = tokio::time::timeout(limit, whole).await.map_err(late)??;
        let date = parts.headers.get(header::DATE).and_then(|date| date.to_str().ok());
        let source = date.and_then(|date| jiff::fmt::rfc2822::parse(date).ok());
        let mut heard = self.heard();
        heard.clock = source.map(|at| ClockReading { before, source: at.timestamp(), after: self.clock.now() });
        heard.status = Some(parts.status);
        heard.headers.clone_from(&parts.headers);
        if !parts.status.is_success() {
            heard.body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
        }
        Ok(Response::from_parts(parts, HttpBody::new(stream::iter([Ok(body)]), None)))
    }
}

/// The ear in the client's hands.
#[derive(Clone, Debug)]
struct Listening(Arc<Ear>);

impl HttpTransport for Listening {
    async fn fetch(&self, request: Request<Buffer>) -> opendal::Result<Response<HttpBody>> {
        self.0.fetch(request).await
    }
}
