//! The state of keys, as JSON where it is small, and as it is where it is not.

use axum::Json;
use axum::body::Body as RawBody;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse, Response};
use bygone_lease::{Error, IfVersion, Key, Lease, LeaseStore, Namespace, Versioned};
use bytes::Bytes;
use tokio::io::AsyncReadExt;
use tokio::sync::OwnedSemaphorePermit;

use super::desk::{Desk, LeaseHeader, Place};
use super::room::{LARGE_BODY, LargeBody, SMALL_BODY, is_small};
use crate::estate::Absent;
use crate::http::extract::{Body, Parameters};
use crate::http::problem::{Kind, Problem};
use crate::http::security::Right;
use crate::http::streams::{incoming, outgoing, pieces_of};
use crate::leases::{
    DescriptionDocument, GetRequest, KeyRequest, RemoveRequest, StateDocument, StateParameters, UpdateRequest, VERSION,
    VersionDocument, bytes_of,
};

/// The most that state may have; a store may allow less.
const STATE: usize = 64 << 20;

/// Whose state is wanted.
enum Wanted {
    Key(Namespace, Key),
    Held(Lease),
}

impl Wanted {
    fn of(request: GetRequest) -> Result<Self, Problem> {
        match (request.namespace, request.key, request.lease) {
            (namespace, Some(key), None) => Ok(Self::Key(namespace.unwrap_or_default(), key)),
            (None, None, Some(lease)) => Ok(Self::Held(lease.into())),
            _ => Err(Problem::new(Kind::Unprocessable, "name a `key`, and its `namespace`, or else a `lease`")),
        }
    }

    fn namespace(&self) -> &Namespace {
        match self {
            Self::Key(namespace, _) | Self::Held(Lease { namespace, .. }) => namespace,
        }
    }

    fn key(&self) -> &Key {
        match self {
            Self::Key(_, key) | Self::Held(Lease { key, .. }) => key,
        }
    }

    async fn ask(&self, store: &LeaseStore, bytes_max: usize) -> Result<Option<Versioned>, Error> {
        match self {
            Self::Key(namespace, key) => store.get_up_to(namespace, key, bytes_max).await,
            Self::Held(lease) => store.get_held_up_to(lease, bytes_max).await,
        }
    }

    /// The state, and the room that it takes if it is large.
    async fn fetch(&self, desk: &Desk, bytes_max: usize) -> Result<(Versioned, Option<OwnedSemaphorePermit>), Problem> {
        let store = desk.store(self.namespace(), Right::Read, Absent::Refuse).await?;
        let (found, room) = match self.ask(&store, SMALL_BODY).await {
            Err(Error::TooLarge { .. }) => {
                let room = desk.app.room.for_large().await?;
                (self.ask(&store, bytes_max).await.map_err(|error| refused(desk, error))?, Some(room))
            }
            found => (found?, None),
        };
        let none = || Problem::new(Kind::NoSuchKey, format!("the key `{}` has no state", self.key()));
        Ok((found.ok_or_else(none)?, room))
    }
}

/// What is too large to be told in JSON is to be had otherwise.
fn refused(desk: &Desk, error: Error) -> Problem {
    let Error::TooLarge { bytes, most } = error else { return error.into() };
    let place = format!("GET /lease/v1/{}/state/{{namespace}}/{{key}}", desk.source);
    Problem::new(Kind::TooLarge, format!("the state has {bytes} bytes, and JSON tells at most {most}: ask by {place}"))
}

/// The state of a key.
#[utoipa::path(
    post, path = "/lease/v1/{source}/get", tag = "leases",
    params(("source" = String, Path, description = "The source")), request_body = GetRequest,
    responses((status = OK, body = StateDocument)),
)]
pub(in crate::http) async fn get(desk: Desk, Body(request): Body<GetRequest>) -> Result<Response, Problem> {
    let wanted = Wanted::of(request)?;
    let (found, room) = wanted.fetch(&desk, LARGE_BODY).await?;
    let document = StateDocument::of(wanted.namespace().clone(), wanted.key().clone(), &found);
    let Some(room) = room else { return Ok(Json(document).into_response()) };
    let json = serde_json::to_vec(&document).map_err(|error| Problem::new(Kind::Failed, error.to_string()))?;
    Ok(sent(&desk, Bytes::from(json), "application/json", Some(room)))
}

/// The state of a key, as it is.
#[utoipa::path(
    get, path = "/lease/v1/{source}/state/{namespace}/{key}", tag = "leases",
    params(
        ("source" = String, Path, description = "The source"),
        ("namespace" = String, Path, description = "The namespace of the key"),
        ("key" = String, Path, description = "The key"),
    ),
    responses((
        status = OK, body = String, content_type = "application/octet-stream", description = "The state",
        headers(("Bygone-Version" = u64, description = "Its version")),
    )),
)]
pub(in crate::http) async fn download(desk: Desk, place: Place) -> Result<impl IntoResponse, Problem> {
    let (found, room) = Wanted::Key(place.namespace, place.key).fetch(&desk, STATE).await?;
    let version = [(HeaderName::from_static(VERSION), found.version.to_string())];
    Ok((version, sent(&desk, found.state, "application/octet-stream", room)))
}

/// Bytes, as fast as they are taken; the room that they take is given back then.
fn sent(desk: &Desk, bytes: Bytes, media: &'static str, room: Option<OwnedSemaphorePermit>) -> Response {
    let headers = [(header::CONTENT_TYPE, media.to_owned()), (header::CONTENT_LENGTH, bytes.len().to_string())];
    (headers, outgoing(pieces_of(bytes), room, desk.app.room.stall_within)).into_response()
}

/// Changes the state of a key, under a lease.
#[utoipa::path(
    post, path = "/lease/v1/{source}/update", tag = "leases",
    params(("source" = String, Path, description = "The source")), request_body = UpdateRequest,
    responses((status = OK, body = VersionDocument)),
)]
pub(in crate::http) async fn update(
    desk: Desk,
    LargeBody(request, _room): LargeBody<UpdateRequest>,
) -> Result<Json<VersionDocument>, Problem> {
    let UpdateRequest { lease, state, state_base64, if_version, release } = request;
    let state = bytes_of(state, state_base64).map_err(|error| Problem::content("state", &error))?;
    write(&desk, desk.held(lease), &state, StateParameters { if_version, release }).await
}

/// Changes the state of a key to the body, under a lease.
#[utoipa::path(
    put, path = "/lease/v1/{source}/state/{namespace}/{key}", tag = "leases",
    params(
        ("source" = String, Path, description = "The source"),
        ("namespace" = String, Path, description = "The namespace of the key"),
        ("key" = String, Path, description = "The key"),
        ("Bygone-Lease" = String, Header, description = "The lease, as JSON"),
        StateParameters,
    ),
    request_body(content = String, content_type = "application/octet-stream", description = "The state"),
    responses((status = OK, body = VersionDocument)),
)]
pub(in crate::http) async fn upload(
    desk: Desk,
    place: Place,
    lease: LeaseHeader,
    Parameters(how): Parameters<StateParameters>,
    headers: HeaderMap,
    body: RawBody,
) -> Result<Json<VersionDocument>, Problem> {
    let lease = lease.of(&place, &desk)?;
    // Who may not write is told before he has sent it.
    desk.store(&lease.namespace, Right::Write, Absent::Refuse).await?;
    let _room = if is_small(&headers) { None } else { Some(desk.app.room.for_large().await?) };
    let mut state = Vec::new();
    let more_than_all = u64::try_from(STATE).unwrap_or(u64::MAX).saturating_add(1);
    let read = incoming(body, desk.app.room.stall_within).take(more_than_all).read_to_end(&mut state).await;
    read.map_err(|error| Problem::new(Kind::BadRequest, format!("the body ended too early: {error}")))?;
    write(&desk, lease, &state, how).await
}

async fn write(
    desk: &Desk,
    lease: Lease,
    state: &[u8],
    StateParameters { if_version, release }: StateParameters,
) -> Result<Json<VersionDocument>, Problem> {
    let store = desk.store(&lease.namespace, Right::Write, Absent::Refuse).await?;
    let if_version = expected(if_version);
    let version = if release {
        store.update_and_release(&lease, state, if_version).await?
    } else {
        store.update(&lease, state, if_version).await?
    };
    Ok(changed(lease, version))
}

/// Removes the state and the attachments of a key, under a lease.
#[utoipa::path(
    post, path = "/lease/v1/{source}/remove", tag = "leases",
    params(("source" = String, Path, description = "The source")), request_body = RemoveRequest,
    responses((status = OK, body = VersionDocument)),
)]
pub(in crate::http) async fn remove(
    desk: Desk,
    Body(request): Body<RemoveRequest>,
) -> Result<Json<VersionDocument>, Problem> {
    let lease = Lease::from(request.lease);
    let store = desk.store(&lease.namespace, Right::Write, Absent::Refuse).await?;
    let version = store.remove(&lease, expected(request.if_version)).await?;
    Ok(changed(lease, version))
}

fn changed(lease: Lease, version: u64) -> Json<VersionDocument> {
    Json(VersionDocument { namespace: lease.namespace, key: lease.key, version })
}

pub(super) fn expected(version: Option<u64>) -> IfVersion {
    version.map_or(IfVersion::Any, IfVersion::Is)
}

/// What is known of a key, without its state.
#[utoipa::path(
    post, path = "/lease/v1/{source}/describe", tag = "leases",
    params(("source" = String, Path, description = "The source")), request_body = KeyRequest,
    responses((status = OK, body = DescriptionDocument)),
)]
pub(in crate::http) async fn describe(
    desk: Desk,
    Body(KeyRequest { namespace, key }): Body<KeyRequest>,
) -> Result<Json<DescriptionDocument>, Problem> {
    let store = desk.store(&namespace, Right::Read, Absent::Refuse).await?;
    let found = store.describe(&namespace, &key).await?;
    let found = found.ok_or_else(|| Problem::new(Kind::NoSuchKey, format!("nothing is known of the key `{key}`")))?;
    Ok(Json(DescriptionDocument::of(namespace, key, found)))
}
