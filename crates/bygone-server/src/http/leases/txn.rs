//! Transactions.

use axum::Json;
use bygone_lease::{Acquire, TxnId};

use super::desk::Desk;
use super::millis;
use super::room::LargeBody;
use super::state::expected;
use crate::estate::Absent;
use crate::http::extract::Body;
use crate::http::problem::Problem;
use crate::http::security::Right;
use crate::leases::{
    BeginRequest, BegunDocument, CommittedDocument, LeaseDocument, ReplayRequest, ReplayedDocument, RolledBackDocument,
    StageRequest, TxnRequest, bytes_of,
};

/// Begins a transaction.
#[utoipa::path(
    post, path = "/lease/v1/{source}/txn/begin", tag = "transactions",
    params(("source" = String, Path, description = "The source")), request_body = BeginRequest,
    responses((status = OK, body = BegunDocument)),
)]
pub(in crate::http) async fn begin(
    desk: Desk,
    Body(BeginRequest { ttl_ms }): Body<BeginRequest>,
) -> Result<Json<BegunDocument>, Problem> {
    let store = desk.store_of_txns(Absent::Make).await?;
    // Other processes over the store may work on it, too.
    let txn = store.begin_shared(millis(ttl_ms)).await?;
    Ok(Json(BegunDocument::of(txn, store.txn_expires_at(txn).await?)))
}

/// Takes the lease of a key and stages a change of its state, in one step.
#[utoipa::path(
    post, path = "/lease/v1/{source}/txn/stage", tag = "transactions",
    params(("source" = String, Path, description = "The source")), request_body = StageRequest,
    responses((status = OK, body = LeaseDocument)),
)]
pub(in crate::http) async fn stage(
    desk: Desk,
    LargeBody(request, _room): LargeBody<StageRequest>,
) -> Result<Json<LeaseDocument>, Problem> {
    let StageRequest { txn, namespace, key, owner, ttl_ms, state, state_base64, if_version } = request;
    let state = bytes_of(state, state_base64).map_err(|error| Problem::content("state", &error))?;
    let store = desk.store(&namespace, Right::Write, Absent::Make).await?;
    let (ttl, txn) = (millis(ttl_ms), Some(TxnId(txn)));
    let acquire = Acquire { ttl, txn, ..Acquire::new(namespace, key, owner) };
    Ok(Json((&store.stage(&acquire, &state, expected(if_version)).await?).into()))
}

/// Makes everything that was staged in a transaction come true at once.
#[utoipa::path(
    post, path = "/lease/v1/{source}/txn/commit", tag = "transactions",
    params(("source" = String, Path, description = "The source")), request_body = TxnRequest,
    responses((status = OK, body = CommittedDocument)),
)]
pub(in crate::http) async fn commit(
    desk: Desk,
    Body(TxnRequest { txn }): Body<TxnRequest>,
) -> Result<Json<CommittedDocument>, Problem> {
    let (store, txn) = (desk.store_of_txns(Absent::Refuse).await?, TxnId(txn));
    store.commit(txn).await?;
    Ok(Json(CommittedDocument::of(txn)))
}

/// Undoes everything that was staged in a transaction. Doing so twice is no error.
#[utoipa::path(
    post, path = "/lease/v1/{source}/txn/rollback", tag = "transactions",
    params(("source" = String, Path, description = "The source")), request_body = TxnRequest,
    responses((status = OK, body = RolledBackDocument)),
)]
pub(in crate::http) async fn rollback(
    desk: Desk,
    Body(TxnRequest { txn }): Body<TxnRequest>,
) -> Result<Json<RolledBackDocument>, Problem> {
    let (store, txn) = (desk.store_of_txns(Absent::Refuse).await?, TxnId(txn));
    Ok(Json(RolledBackDocument::of(txn, store.rollback(txn).await?)))
}

/// Ends transactions that others left. It happens by itself beside other operations.
#[utoipa::path(
    post, path = "/lease/v1/{source}/txn/replay", tag = "transactions",
    params(("source" = String, Path, description = "The source")), request_body = ReplayRequest,
    responses((status = OK, body = ReplayedDocument)),
)]
pub(in crate::http) async fn replay(
    desk: Desk,
    Body(ReplayRequest {}): Body<ReplayRequest>,
) -> Result<Json<ReplayedDocument>, Problem> {
    let store = desk.store_of_txns(Absent::Refuse).await?;
    Ok(Json(ReplayedDocument { ended: store.replay().await? }))
}
