//! A lease store that a daemon has open.

use std::time::Duration;

use async_trait::async_trait;
use bygone_lease::{
    Acked, Acquire, Chance as _, Delivery, Enqueue, IfVersion, Key, Lease, Nack, Namespace, Queue, Released,
    RolledBack, SystemChance, TxnId, Versioned, Wait,
};
use bygone_server::leases::{
    ATTACHMENT, AckedDocument, AcquireRequest, AttachmentDocument, AttachmentList, BeginRequest, BegunDocument,
    CommittedDocument, DeadLetters, DeadRequest, DeliveryDocument, DeliveryList, DeliveryRequest, DequeueRequest,
    DescriptionDocument, Detached, EnqueueRequest, EnqueuedDocument, ExtendRequest, GetRequest, KeepaliveRequest,
    KeyRequest, LEASE, LeaseDocument, LeaseRequest, NackRequest, NackedDocument, QueueRequest, ReleasedDocument,
    RemoveRequest, RolledBackDocument, StageRequest, StateDocument, StateParameters, StatsDocument, TxnRequest,
    VERSION, VersionDocument, bytes_of, header_text, text_or_base64,
};
use bytes::Bytes;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Body, Method, RequestBuilder, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::io::ReaderStream;
use uuid::Uuid;

use super::operations::{Pieces, Source, Store};
use super::patience::Patience;
use crate::problem::Problem;
use crate::remote::{Again, Client, Trouble, whole};

/// The most messages that are taken at once, and the most that are listed.
const TAKEN_MAX: usize = 32;
const LISTED_MAX: usize = 1_000;
/// Sent at once.
const PIECE_BYTES: usize = 64 * 1_024;

#[async_trait]
impl Store for Client {
    /// Under a name of our own, so that it can be asked again: where an answer was lost, and where it takes longer than the
    /// daemon lets anybody wait.
    async fn acquire(&self, request: &Acquire) -> Result<Lease, Problem> {
        let own = || Uuid::from_u64_pair(SystemChance.bits(), SystemChance.bits()).to_string();
        let mut asked = AcquireRequest {
            namespace: request.namespace.clone(),
            key: request.key.clone(),
            owner: request.owner.clone(),
            ttl_ms: request.ttl.map(millis),
            wait_ms: None,
            request: Some(request.request.clone().unwrap_or_else(own)),
            if_not_exists: request.if_not_exists,
            txn: request.txn.map(|txn| txn.0),
        };
        let mut patience = Patience::new(self.clock(), request.wait);
        loop {
            asked.wait_ms = patience.wait_ms();
            let answer: Result<LeaseDocument, Trouble> = self.post(&["acquire"], &asked, Again::Yes).await;
            match answer {
                Err(trouble) if trouble.word() == Some("held") && patience.goes_on().await => {}
                answer => return told(self, answer, Again::Yes).map(Into::into),
            }
        }
    }

    async fn keepalive(&self, lease: &Lease, ttl: Option<Duration>) -> Result<Lease, Problem> {
        let request = KeepaliveRequest { lease: lease.into(), ttl_ms: ttl.map(millis) };
        post::<LeaseDocument>(self, &["keepalive"], &request, Again::Yes).await.map(Into::into)
    }

    /// Asked once: a second answer would not tell whether the lease was over before.
    async fn release(&self, lease: &Lease) -> Result<Released, Problem> {
        let request = LeaseRequest { lease: lease.into() };
        let ReleasedDocument { released } = post(self, &["release"], &request, Again::No).await?;
        Ok(if released { Released::Now } else { Released::Already })
    }

    async fn get(&self, namespace: &Namespace, key: &Key) -> Result<Option<Versioned>, Problem> {
        let path = ["state", namespace.as_str(), key.as_str()];
        let Some(response) = if_any(self, self.send(self.stream(Method::GET, &path)).await, "no-such-key")? else {
            return Ok(None);
        };
        let version = header(&response, VERSION).and_then(|version| version.parse().ok());
        let version = version.ok_or_else(|| strange(self, "it tells no version"))?;
        let state = response.bytes().await.map_err(|error| self.problem(Trouble::Lost(whole(&error)), Again::Yes))?;
        Ok(Some(Versioned { state, version }))
    }

    async fn get_held(&self, lease: &Lease) -> Result<Option<Versioned>, Problem> {
        let request = GetRequest { namespace: None, key: None, lease: Some(lease.into()) };
        let found: Result<StateDocument, Trouble> = self.post(&["get"], &request, Again::Yes).await;
        let Some(StateDocument { version, state, state_base64, .. }) = if_any(self, found, "no-such-key")? else {
            return Ok(None);
        };
        let state = bytes_of(state, state_base64).map_err(|error| strange(self, &error.to_string()))?;
        Ok(Some(Versioned { state: state.into(), version }))
    }

    async fn update(&self, lease: &Lease, state: Vec<u8>, only: IfVersion, release: bool) -> Result<u64, Problem> {
        let path = ["state", lease.namespace.as_str(), lease.key.as_str()];
        let request = under(self.stream(Method::PUT, &path), self, lease)?;
        let how = StateParameters { if_version: number(only), release };
        let changed: Result<VersionDocument, Trouble> = self.answer(request.query(&how).body(state)).await;
        told(self, changed, Again::No).map(|changed| changed.version)
    }

    async fn remove(&self, lease: &Lease, only: IfVersion) -> Result<u64, Problem> {
        let request = RemoveRequest { lease: lease.into(), if_version: number(only) };
        post::<VersionDocument>(self, &["remove"], &request, Again::No).await.map(|changed| changed.version)
    }

    async fn describe(&self, namespace: &Namespace, key: &Key) -> Result<Option<DescriptionDocument>, Problem> {
        let request = KeyRequest { namespace: namespace.clone(), key: key.clone() };
        if_any(self, self.post(&["describe"], &request, Again::Yes).await, "no-such-key")
    }

    async fn put_attachment(
        &self,
        lease: &Lease,
        name: &str,
        content_type: Option<&str>,
        source: Source,
    ) -> Result<AttachmentDocument, Problem> {
        let path = ["attachments", lease.namespace.as_str(), lease.key.as_str(), name];
        let mut request = under(self.stream(Method::PUT, &path), self, lease)?;
        if let Some(content_type) = content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        let body = Body::wrap_stream(ReaderStream::with_capacity(source, PIECE_BYTES));
        told(self, self.answer(request.body(body)).await, Again::No)
    }

    async fn get_attachment(
        &self,
        namespace: &Namespace,
        key: &Key,
        name: &str,
    ) -> Result<Option<Box<dyn Pieces>>, Problem> {
        let path = ["attachments", namespace.as_str(), key.as_str(), name];
        let found = self.send(self.stream(Method::GET, &path)).await;
        let Some(response) = if_any(self, found, "no-such-attachment")? else { return Ok(None) };
        let about = header(&response, ATTACHMENT).and_then(|about| serde_json::from_str(about).ok());
        let about = about.ok_or_else(|| strange(self, "it does not say what it sends"))?;
        Ok(Some(Box::new(Coming { about, response, client: self.clone() })))
    }

    async fn list_attachments(&self, namespace: &Namespace, key: &Key) -> Result<Vec<AttachmentDocument>, Problem> {
        let request = KeyRequest { namespace: namespace.clone(), key: key.clone() };
        post::<AttachmentList>(self, &["attachments"], &request, Again::Yes).await.map(|list| list.attachments)
    }

    async fn delete_attachment(&self, lease: &Lease, name: &str) -> Result<bool, Problem> {
        let path = ["attachments", lease.namespace.as_str(), lease.key.as_str(), name];
        let request = under(self.request(Method::DELETE, &path), self, lease)?;
        match self.answer::<Detached>(request).await {
            Err(trouble) if trouble.word() == Some("no-such-attachment") => Ok(false),
            detached => told(self, detached, Again::No).map(|detached| detached.detached),
        }
    }

    async fn enqueue(&self, queue: &Queue, message: Enqueue) -> Result<Uuid, Problem> {
        let (payload, payload_base64) = text_or_base64(&message.payload);
        let request = EnqueueRequest {
            namespace: queue.namespace.clone(),
            queue: queue.name.clone(),
            payload,
            payload_base64,
            attributes: message.attributes,
            delay_ms: Some(millis(message.delay)),
            ttl_ms: message.ttl.map(millis),
            txn: message.txn.map(|txn| txn.0),
            attempts_max: message.attempts_max.and_then(std::num::NonZeroU32::new),
        };
        post::<EnqueuedDocument>(self, &["queue", "enqueue"], &request, Again::No).await.map(|message| message.id)
    }

    async fn dequeue(
        &self,
        queue: &Queue,
        owner: &str,
        ttl: Duration,
        limit: usize,
        wait: Wait,
    ) -> Result<Vec<Delivery>, Problem> {
        let mut patience = Patience::new(self.clock(), wait);
        let mut taken = Vec::new();
        loop {
            let wanted = TAKEN_MAX.min(limit - taken.len());
            let request = DequeueRequest {
                namespace: queue.namespace.clone(),
                queue: queue.name.clone(),
                owner: owner.to_owned(),
                ttl_ms: Some(millis(ttl)),
                // Whoever has something waits for no more.
                wait_ms: if taken.is_empty() { patience.wait_ms() } else { None },
                limit: u16::try_from(wanted).ok(),
            };
            let came: Result<DeliveryList, Problem> = post(self, &["queue", "dequeue"], &request, Again::No).await;
            let came = match came {
                Ok(list) => list.deliveries,
                // What was taken before is not to be lost over it.
                Err(_) if !taken.is_empty() => return Ok(taken),
                Err(problem) => return Err(problem),
            };
            let is_all = came.len() < wanted;
            for delivery in came {
                taken.push(Delivery::try_from(delivery).map_err(|error| strange(self, &error.to_string()))?);
            }
            if taken.len() == limit || (is_all && (!taken.is_empty() || !patience.goes_on().await)) {
                return Ok(taken);
            }
        }
    }

    async fn ack(&self, delivery: &Delivery) -> Result<Acked, Problem> {
        let request = DeliveryRequest { delivery: named(delivery) };
        let AckedDocument { acked } = post(self, &["queue", "ack"], &request, Again::Yes).await?;
        Ok(if acked == 0 { Acked::Already } else { Acked::Now })
    }

    async fn nack(&self, delivery: &Delivery, why: Nack, delay: Duration) -> Result<(), Problem> {
        let (delivery, defer) = (named(delivery), why == Nack::Defer);
        let request = NackRequest { delivery, delay_ms: Some(millis(delay)), defer };
        post::<NackedDocument>(self, &["queue", "nack"], &request, Again::No).await.map(drop)
    }

    async fn extend(&self, delivery: &Delivery, ttl: Duration) -> Result<Delivery, Problem> {
        let request = ExtendRequest { delivery: named(delivery), ttl_ms: Some(millis(ttl)) };
        let extended: DeliveryDocument = post(self, &["queue", "extend"], &request, Again::Yes).await?;
        let extended = Delivery::try_from(extended).map_err(|error| strange(self, &error.to_string()))?;
        // What it says did not go there and back.
        Ok(Delivery { payload: delivery.payload.clone(), ..extended })
    }

    async fn dead_letters(&self, queue: &Queue, limit: usize) -> Result<Vec<Uuid>, Problem> {
        let Queue { namespace, name: queue } = queue.clone();
        let request = DeadRequest { namespace, queue, limit: u16::try_from(limit.min(LISTED_MAX)).ok() };
        post::<DeadLetters>(self, &["queue", "dead"], &request, Again::Yes).await.map(|letters| letters.dead)
    }

    async fn queue_stats(&self, queue: &Queue) -> Result<StatsDocument, Problem> {
        let Queue { namespace, name: queue } = queue.clone();
        post(self, &["queue", "stats"], &QueueRequest { namespace, queue }, Again::Yes).await
    }

    async fn begin(&self, ttl: Duration) -> Result<BegunDocument, Problem> {
        post(self, &["txn", "begin"], &BeginRequest { ttl_ms: Some(millis(ttl)) }, Again::Yes).await
    }

    async fn stage(&self, request: &Acquire, state: Vec<u8>, only: IfVersion) -> Result<Lease, Problem> {
        let txn = request.txn.ok_or_else(|| Problem::usage("which transaction?", "name it: `--txn ID`"))?;
        let (state, state_base64) = text_or_base64(&state);
        let request = StageRequest {
            txn: txn.0,
            namespace: request.namespace.clone(),
            key: request.key.clone(),
            owner: request.owner.clone(),
            ttl_ms: request.ttl.map(millis),
            state,
            state_base64,
            if_version: number(only),
        };
        post::<LeaseDocument>(self, &["txn", "stage"], &request, Again::No).await.map(Into::into)
    }

    /// A decision is made once: whoever asks again is told the same.
    async fn commit(&self, txn: TxnId) -> Result<(), Problem> {
        let request = TxnRequest { txn: txn.0 };
        post::<CommittedDocument>(self, &["txn", "commit"], &request, Again::Yes).await.map(drop)
    }

    async fn rollback(&self, txn: TxnId) -> Result<RolledBack, Problem> {
        let request = TxnRequest { txn: txn.0 };
        let undone: RolledBackDocument = post(self, &["txn", "rollback"], &request, Again::Yes).await?;
        Ok(if undone.known { RolledBack::Now } else { RolledBack::Unknown })
    }
}

/// An attachment on its way. The daemon breaks off where the whole is not what was written, and what is broken off is short
/// of the length that was told.
struct Coming {
    about: AttachmentDocument,
    response: Response,
    client: Client,
}

#[async_trait]
impl Pieces for Coming {
    fn about(&self) -> &AttachmentDocument {
        &self.about
    }

    async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        let piece = self.response.chunk().await;
        piece.map_err(|error| self.client.problem(Trouble::Lost(whole(&error)), Again::Yes))
    }
}

async fn post<T: DeserializeOwned>(
    client: &Client,
    path: &[&str],
    request: &(impl Serialize + Sync),
    again: Again,
) -> Result<T, Problem> {
    told(client, client.post(path, request, again).await, again)
}

fn told<T>(client: &Client, answer: Result<T, Trouble>, again: Again) -> Result<T, Problem> {
    answer.map_err(|trouble| client.problem(trouble, again))
}

/// What is absent is no trouble to those who look.
fn if_any<T>(client: &Client, found: Result<T, Trouble>, absent: &str) -> Result<Option<T>, Problem> {
    match found {
        Err(trouble) if trouble.word() == Some(absent) => Ok(None),
        found => told(client, found, Again::Yes).map(Some),
    }
}

/// Shows the lease beside a body that is none of JSON's business.
fn under(request: RequestBuilder, client: &Client, lease: &Lease) -> Result<RequestBuilder, Problem> {
    let text = header_text(&LeaseDocument::from(lease)).map_err(|error| strange(client, &error.to_string()))?;
    Ok(request.header(LEASE, text))
}

/// A delivery without what it says: its worker has that.
fn named(delivery: &Delivery) -> DeliveryDocument {
    DeliveryDocument { payload: None, payload_base64: None, ..DeliveryDocument::from(delivery) }
}

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok()
}

fn strange(client: &Client, what: &str) -> Problem {
    client.problem(Trouble::Strange(what.to_owned()), Again::Yes)
}

fn number(only: IfVersion) -> Option<u64> {
    match only {
        IfVersion::Any => None,
        IfVersion::Is(version) => Some(version),
    }
}

/// Rather longer than shorter.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
