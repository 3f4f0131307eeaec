//! Queues.

use std::num::NonZeroU32;
use std::time::Duration;

use axum::Json;
use bygone_lease::{Delivery, Enqueue, Nack, Queue, TxnId};

use super::desk::Desk;
use super::millis;
use super::room::LargeBody;
use crate::estate::Absent;
use crate::http::extract::Body;
use crate::http::problem::{Kind, Problem};
use crate::http::security::Right;
use crate::leases::{
    AckedDocument, DeadLetters, DeadRequest, DeliveryDocument, DeliveryList, DeliveryRequest, DequeueRequest,
    EnqueueRequest, EnqueuedDocument, ExtendRequest, NackRequest, NackedDocument, QueueRequest, StatsDocument,
    bytes_of,
};

/// The most messages of one answer: their payloads stay within what other answers have.
const DELIVERIES_MAX: u16 = 32;
/// The most dead letters of one answer.
const DEAD_MAX: u16 = 1_000;
const DEAD: u16 = 100;

/// Puts a message into a queue.
#[utoipa::path(
    post, path = "/lease/v1/{source}/queue/enqueue", tag = "queues",
    params(("source" = String, Path, description = "The source")), request_body = EnqueueRequest,
    responses((status = OK, body = EnqueuedDocument)),
)]
pub(in crate::http) async fn enqueue(
    desk: Desk,
    LargeBody(request, _room): LargeBody<EnqueueRequest>,
) -> Result<Json<EnqueuedDocument>, Problem> {
    let EnqueueRequest { namespace, queue, payload, payload_base64, attributes, .. } = request;
    let message = Enqueue {
        payload: bytes_of(payload, payload_base64).map_err(|error| Problem::content("payload", &error))?,
        attributes,
        delay: millis(request.delay_ms).unwrap_or_default(),
        ttl: millis(request.ttl_ms),
        txn: request.txn.map(TxnId),
        attempts_max: request.attempts_max.map(NonZeroU32::get),
    };
    let store = desk.store(&namespace, Right::Write, Absent::Make).await?;
    let id = store.enqueue(&Queue { namespace, name: queue }, &message).await?;
    Ok(Json(EnqueuedDocument { id }))
}

/// Takes messages that are ready, the oldest first. Each is delivered at least once, to one worker at a time.
#[utoipa::path(
    post, path = "/lease/v1/{source}/queue/dequeue", tag = "queues",
    params(("source" = String, Path, description = "The source")), request_body = DequeueRequest,
    responses((status = OK, body = DeliveryList)),
)]
pub(in crate::http) async fn dequeue(
    desk: Desk,
    Body(request): Body<DequeueRequest>,
) -> Result<Json<DeliveryList>, Problem> {
    let DequeueRequest { namespace, queue, owner, ttl_ms, wait_ms, limit } = request;
    let limit = within(limit.unwrap_or(1), DELIVERIES_MAX)?;
    let store = desk.store(&namespace, Right::Write, Absent::Make).await?;
    let (queue, wait) = (Queue { namespace, name: queue }, desk.wait(wait_ms));
    let taken = desk.attend(wait, store.dequeue(&queue, &owner, millis(ttl_ms), limit, wait)).await?;
    Ok(Json(DeliveryList { deliveries: taken.iter().map(DeliveryDocument::from).collect() }))
}

fn within(limit: u16, most: u16) -> Result<usize, Problem> {
    if (1..=most).contains(&limit) {
        return Ok(limit.into());
    }
    Err(Problem::new(Kind::Unprocessable, format!("`limit` must be from 1 to {most}")))
}

/// The work on a message is done: it goes.
#[utoipa::path(
    post, path = "/lease/v1/{source}/queue/ack", tag = "queues",
    params(("source" = String, Path, description = "The source")), request_body = DeliveryRequest,
    responses((status = OK, body = AckedDocument)),
)]
pub(in crate::http) async fn ack(
    desk: Desk,
    LargeBody(request, _room): LargeBody<DeliveryRequest>,
) -> Result<Json<AckedDocument>, Problem> {
    let delivery = delivery(request.delivery)?;
    let store = desk.store(&delivery.queue.namespace, Right::Write, Absent::Refuse).await?;
    Ok(Json(AckedDocument::of(&[store.ack(&delivery).await?])))
}

/// Gives a message back, to be delivered again.
#[utoipa::path(
    post, path = "/lease/v1/{source}/queue/nack", tag = "queues",
    params(("source" = String, Path, description = "The source")), request_body = NackRequest,
    responses((status = OK, body = NackedDocument)),
)]
pub(in crate::http) async fn nack(
    desk: Desk,
    LargeBody(request, _room): LargeBody<NackRequest>,
) -> Result<Json<NackedDocument>, Problem> {
    let why = if request.defer { Nack::Defer } else { Nack::Failure };
    let (delivery, delay) = (delivery(request.delivery)?, millis(request.delay_ms).unwrap_or(Duration::ZERO));
    let store = desk.store(&delivery.queue.namespace, Right::Write, Absent::Refuse).await?;
    Ok(Json(NackedDocument::of(&[store.nack(&delivery, why, delay).await?])))
}

/// Keeps a message for longer.
#[utoipa::path(
    post, path = "/lease/v1/{source}/queue/extend", tag = "queues",
    params(("source" = String, Path, description = "The source")), request_body = ExtendRequest,
    responses((status = OK, body = DeliveryDocument)),
)]
pub(in crate::http) async fn extend(
    desk: Desk,
    LargeBody(request, _room): LargeBody<ExtendRequest>,
) -> Result<Json<DeliveryDocument>, Problem> {
    let delivery = delivery(request.delivery)?;
    let store = desk.store(&delivery.queue.namespace, Right::Write, Absent::Refuse).await?;
    Ok(Json((&store.extend(&delivery, millis(request.ttl_ms)).await?).into()))
}

fn delivery(document: DeliveryDocument) -> Result<Delivery, Problem> {
    // It becomes a part of a key in the store: no other one than a message's own is looked at.
    if !document.name.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') {
        let detail = "`delivery.name` names no message: send it as `queue/dequeue` answered it";
        return Err(Problem::new(Kind::Unprocessable, detail));
    }
    Delivery::try_from(document).map_err(|error| Problem::content("payload", &error))
}

/// The messages that were put aside, the oldest first.
#[utoipa::path(
    post, path = "/lease/v1/{source}/queue/dead", tag = "queues",
    params(("source" = String, Path, description = "The source")), request_body = DeadRequest,
    responses((status = OK, body = DeadLetters)),
)]
pub(in crate::http) async fn dead(desk: Desk, Body(request): Body<DeadRequest>) -> Result<Json<DeadLetters>, Problem> {
    let DeadRequest { namespace, queue, limit } = request;
    let limit = within(limit.unwrap_or(DEAD), DEAD_MAX)?;
    let store = desk.store(&namespace, Right::Read, Absent::Refuse).await?;
    let dead = store.dead_letters(&Queue { namespace, name: queue }, limit).await?;
    Ok(Json(DeadLetters { dead }))
}

/// How many messages a queue has.
#[utoipa::path(
    post, path = "/lease/v1/{source}/queue/stats", tag = "queues",
    params(("source" = String, Path, description = "The source")), request_body = QueueRequest,
    responses((status = OK, body = StatsDocument)),
)]
pub(in crate::http) async fn stats(
    desk: Desk,
    Body(QueueRequest { namespace, queue }): Body<QueueRequest>,
) -> Result<Json<StatsDocument>, Problem> {
    let store = desk.store(&namespace, Right::Read, Absent::Refuse).await?;
    let stats = store.queue_stats(&Queue { namespace, name: queue }).await?;
    Ok(Json(stats.into()))
}
