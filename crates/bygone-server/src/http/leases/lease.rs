//! Leases: taken, kept, given back.

use axum::Json;
use bygone_lease::{Acquire, Lease, TxnId};

use super::desk::Desk;
use super::millis;
use crate::estate::Absent;
use crate::http::extract::Body;
use crate::http::problem::Problem;
use crate::http::security::Right;
use crate::leases::{AcquireRequest, KeepaliveRequest, LeaseDocument, LeaseRequest, ReleasedDocument};

/// Takes a lease. Whoever lost the answer asks again with the same `request`, and gets the same lease.
#[utoipa::path(
    post, path = "/lease/v1/{source}/acquire", tag = "leases",
    params(("source" = String, Path, description = "The source")), request_body = AcquireRequest,
    responses((status = OK, body = LeaseDocument)),
)]
pub(in crate::http) async fn acquire(
    desk: Desk,
    Body(request): Body<AcquireRequest>,
) -> Result<Json<LeaseDocument>, Problem> {
    let AcquireRequest { namespace, key, owner, ttl_ms, wait_ms, request, if_not_exists, txn } = request;
    let store = desk.store(&namespace, Right::Write, Absent::Make).await?;
    let acquire = Acquire {
        ttl: millis(ttl_ms),
        wait: desk.wait(wait_ms),
        request,
        if_not_exists,
        txn: txn.map(TxnId),
        ..Acquire::new(namespace, key, owner)
    };
    let lease = desk.attend(acquire.wait, store.acquire(&acquire)).await?;
    Ok(Json((&lease).into()))
}

/// Extends a lease.
#[utoipa::path(
    post, path = "/lease/v1/{source}/keepalive", tag = "leases",
    params(("source" = String, Path, description = "The source")), request_body = KeepaliveRequest,
    responses((status = OK, body = LeaseDocument)),
)]
pub(in crate::http) async fn keepalive(
    desk: Desk,
    Body(request): Body<KeepaliveRequest>,
) -> Result<Json<LeaseDocument>, Problem> {
    let (lease, ttl) = (Lease::from(request.lease), millis(request.ttl_ms));
    let store = desk.store(&lease.namespace, Right::Write, Absent::Refuse).await?;
    Ok(Json((&store.keepalive(&lease, ttl).await?).into()))
}

/// Gives a lease back. Doing so twice, or after its end, is no error.
#[utoipa::path(
    post, path = "/lease/v1/{source}/release", tag = "leases",
    params(("source" = String, Path, description = "The source")), request_body = LeaseRequest,
    responses((status = OK, body = ReleasedDocument)),
)]
pub(in crate::http) async fn release(
    desk: Desk,
    Body(request): Body<LeaseRequest>,
) -> Result<Json<ReleasedDocument>, Problem> {
    let lease = Lease::from(request.lease);
    let store = desk.store(&lease.namespace, Right::Write, Absent::Refuse).await?;
    Ok(Json(store.release(&lease).await?.into()))
}
