//! Attachments, streamed.

use axum::Json;
use axum::body::Body as RawBody;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::IntoResponse;
use bygone_lease::{AttachmentReader, Error};
use bytes::Bytes;
use futures_util::stream::{self, Stream};

use super::desk::{Desk, LeaseHeader, Place};
use crate::estate::Absent;
use crate::http::extract::Body;
use crate::http::problem::{Kind, Problem};
use crate::http::security::Right;
use crate::http::streams::{incoming, outgoing};
use crate::leases::{ATTACHMENT, AttachmentDocument, AttachmentList, Detached, KeyRequest, header_text};

/// What an attachment is where nobody said.
const ANYTHING: HeaderValue = HeaderValue::from_static("application/octet-stream");
/// A browser that comes here saves it, and shows nothing that somebody else wrote under our name.
const SAVED: HeaderValue = HeaderValue::from_static("attachment");

/// The attachments of a key.
#[utoipa::path(
    post, path = "/lease/v1/{source}/attachments", tag = "leases",
    params(("source" = String, Path, description = "The source")), request_body = KeyRequest,
    responses((status = OK, body = AttachmentList)),
)]
pub(in crate::http) async fn list(
    desk: Desk,
    Body(KeyRequest { namespace, key }): Body<KeyRequest>,
) -> Result<Json<AttachmentList>, Problem> {
    let store = desk.store(&namespace, Right::Read, Absent::Refuse).await?;
    let found = store.list_attachments(&namespace, &key).await?;
    let attachments = found.iter().map(|one| AttachmentDocument::of(&namespace, &key, one)).collect();
    Ok(Json(AttachmentList { attachments }))
}

/// An attachment.
#[utoipa::path(
    get, path = "/lease/v1/{source}/attachments/{namespace}/{key}/{name}", tag = "leases",
    params(
        ("source" = String, Path, description = "The source"),
        ("namespace" = String, Path, description = "The namespace of the key"),
        ("key" = String, Path, description = "The key"),
        ("name" = String, Path, description = "The name of the attachment"),
    ),
    responses((
        status = OK, body = String, content_type = "*/*", description = "The attachment, with its own type",
        headers(("Bygone-Attachment" = String, description = "What is listed of it, as JSON")),
    )),
)]
pub(in crate::http) async fn download(desk: Desk, place: Place) -> Result<impl IntoResponse, Problem> {
    let Place { namespace, key, name } = place;
    let store = desk.store(&namespace, Right::Read, Absent::Refuse).await?;
    let room = desk.app.room.for_transfer()?;
    let reader = store.get_attachment(&namespace, &key, &name).await?;
    let reader = reader.ok_or_else(|| absent(&key, &name))?;
    let about = AttachmentDocument::of(&namespace, &key, reader.about());
    let told = header_text(&about).map_err(|error| Problem::new(Kind::Failed, error.to_string()))?;
    let media = about.content_type.as_deref().and_then(|media| HeaderValue::from_str(media).ok());
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, media.unwrap_or(ANYTHING));
    headers.insert(header::CONTENT_LENGTH, about.bytes.into());
    headers.insert(header::CONTENT_DISPOSITION, SAVED);
    headers.extend(HeaderValue::from_str(&told).ok().map(|told| (HeaderName::from_static(ATTACHMENT), told)));
    Ok((headers, outgoing(pieces(reader), room, desk.app.room.stall_within)))
}

/// The pieces of an attachment. The last one comes when the whole is known to be what was written: whoever has as many bytes
/// as he was told has the right ones.
fn pieces(reader: AttachmentReader) -> impl Stream<Item = Result<Bytes, Error>> + Send {
    stream::try_unfold((reader, None), |(mut reader, held): (_, Option<Bytes>)| async {
        let mut last = held;
        loop {
            match (last, reader.next().await?) {
                (None, None) => return Ok(None),
                (None, next) => last = next,
                (Some(piece), next) => return Ok(Some((piece, (reader, next)))),
            }
        }
    })
}

/// Attaches the body to a key, under a lease, in place of what has that name.
#[utoipa::path(
    put, path = "/lease/v1/{source}/attachments/{namespace}/{key}/{name}", tag = "leases",
    params(
        ("source" = String, Path, description = "The source"),
        ("namespace" = String, Path, description = "The namespace of the key"),
        ("key" = String, Path, description = "The key"),
        ("name" = String, Path, description = "The name of the attachment"),
        ("Bygone-Lease" = String, Header, description = "The lease, as JSON"),
    ),
    request_body(content = String, content_type = "application/octet-stream", description = "It, of any type"),
    responses((status = OK, body = AttachmentDocument)),
)]
pub(in crate::http) async fn upload(
    desk: Desk,
    place: Place,
    lease: LeaseHeader,
    headers: HeaderMap,
    body: RawBody,
) -> Result<Json<AttachmentDocument>, Problem> {
    let lease = lease.of(&place, &desk)?;
    let store = desk.store(&lease.namespace, Right::Write, Absent::Refuse).await?;
    let _room = desk.app.room.for_transfer()?;
    let media = headers.get(header::CONTENT_TYPE).map(HeaderValue::to_str).transpose();
    let media = media.map_err(|_| Problem::new(Kind::BadRequest, "`Content-Type` is no text"))?;
    let source = incoming(body, desk.app.room.stall_within);
    let put = store.put_attachment(&lease, &place.name, media, source).await?;
    Ok(Json(AttachmentDocument::of(&lease.namespace, &lease.key, &put)))
}

/// Removes an attachment, under a lease.
#[utoipa::path(
    delete, path = "/lease/v1/{source}/attachments/{namespace}/{key}/{name}", tag = "leases",
    params(
        ("source" = String, Path, description = "The source"),
        ("namespace" = String, Path, description = "The namespace of the key"),
        ("key" = String, Path, description = "The key"),
        ("name" = String, Path, description = "The name of the attachment"),
        ("Bygone-Lease" = String, Header, description = "The lease, as JSON"),
    ),
    responses((status = OK, body = Detached)),
)]
pub(in crate::http) async fn remove(desk: Desk, place: Place, lease: LeaseHeader) -> Result<Json<Detached>, Problem> {
    let lease = lease.of(&place, &desk)?;
    let store = desk.store(&lease.namespace, Right::Write, Absent::Refuse).await?;
    let Place { namespace, key, name } = place;
    if !store.delete_attachment(&lease, &name).await? {
        return Err(absent(&key, &name));
    }
    Ok(Json(Detached { namespace, key, name, detached: true }))
}

fn absent(key: &bygone_lease::Key, name: &str) -> Problem {
    Problem::new(Kind::NoSuchAttachment, format!("the key `{key}` has no attachment `{name}`"))
}
