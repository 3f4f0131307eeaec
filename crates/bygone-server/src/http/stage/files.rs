//! Files that are staged, by their ids.

use std::fs::File;
use std::io::{self, Read};

use axum::Extension;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bygone_files::stage::{AttachmentId, Stage};
use futures_util::stream::{self, Stream};
use serde::Deserialize;

use super::area::{blocking, find, open};
use super::upload::lifetime;
use crate::estate::Absent;
use crate::http::App;
use crate::http::extract::{InPath, Name, Parameters};
use crate::http::problem::{Kind, Problem};
use crate::http::security::Caller;
use crate::http::streams::outgoing;
use crate::stages::{StagedDocument, StagedList};

const PAGE: usize = 100;
const PAGE_MAX: usize = 1_000;
/// Read at once.
const PIECE_BYTES: usize = 64 * 1_024;

/// Which files to tell of.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ListQuery {
    limit: Option<usize>,
    after: Option<String>,
}

/// The files that live, in the order of their ids.
#[utoipa::path(
    get, path = "/stage/v1/{source}/files", tag = "stage", responses((status = OK, body = StagedList)),
    params(
        ("source" = String, Path, description = "The source"),
        ("limit" = Option<u32>, Query, description = "At most so many: 100, if nothing is said", minimum = 1, maximum = 1_000),
        ("after" = Option<String>, Query, description = "Only those behind this id", pattern = "^[0-9a-f]{64}$"),
    ),
)]
pub(in crate::http) async fn list(
    State(app): State<App>,
    Name(source): Name,
    Parameters(ListQuery { limit, after }): Parameters<ListQuery>,
) -> Result<Json<StagedList>, Problem> {
    let limit = limit.unwrap_or(PAGE);
    if !(1..=PAGE_MAX).contains(&limit) {
        return Err(Problem::new(Kind::BadRequest, format!("`limit` is {limit}: it goes from 1 to {PAGE_MAX}")));
    }
    let after: Option<AttachmentId> = after
        .map(|after| after.parse())
        .transpose()
        .map_err(|error| Problem::new(Kind::BadRequest, format!("`after` names no file: {error}")))?;
    let stage = open(&app, &source, Absent::Refuse).await?.stage;
    let files = blocking(move || stage.list_after(after).take(limit + 1).collect::<Result<Vec<_>, _>>()).await?;
    Ok(Json(StagedList::page(files, limit)))
}

/// A file that lives, by its id.
#[utoipa::path(
    get, path = "/stage/v1/{source}/files/{file}", tag = "stage", responses((status = OK, body = StagedDocument)),
    params(("source" = String, Path, description = "The source"), ("file" = String, Path, description = "Its id")),
)]
pub(in crate::http) async fn show(
    State(app): State<App>,
    InPath((source, id)): InPath<(String, String)>,
) -> Result<Json<StagedDocument>, Problem> {
    let stage = open(&app, &source, Absent::Refuse).await?.stage;
    let found = find(stage, &id, Stage::get).await?;
    Ok(Json(StagedDocument::from(&found)))
}

/// What a file that lives holds. It is open from the beginning of the answer on: its deadline may pass meanwhile.
#[utoipa::path(
    get, path = "/stage/v1/{source}/files/{file}/content", tag = "stage",
    responses((status = OK, content_type = "application/octet-stream", description = "The content")),
    params(("source" = String, Path, description = "The source"), ("file" = String, Path, description = "Its id")),
)]
pub(in crate::http) async fn content(
    State(app): State<App>,
    InPath((source, id)): InPath<(String, String)>,
) -> Result<Response, Problem> {
    let permit = app.room.for_transfer()?;
    let stage = open(&app, &source, Absent::Refuse).await?.stage;
    let (found, file) = find(stage, &id, Stage::read).await?;
    let mut response = Response::new(outgoing(pieces(file), permit, app.room.stall_within));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(found.size));
    // No browser shows what somebody staged as if it were ours.
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    Ok(response)
}

/// A file, piece by piece.
fn pieces(file: File) -> impl Stream<Item = io::Result<Bytes>> {
    stream::unfold(Some(file), |file| async {
        let mut file = file?;
        let read = tokio::task::spawn_blocking(move || {
            let mut piece = vec![0; PIECE_BYTES];
            let read = file.read(&mut piece)?;
            piece.truncate(read);
            Ok((piece, file))
        });
        match read.await.unwrap_or_else(|error| Err(io::Error::other(error))) {
            Ok((piece, _)) if piece.is_empty() => None,
            Ok((piece, file)) => Some((Ok(piece.into()), Some(file))),
            Err(error) => Some((Err(error), None)),
        }
    })
}

/// How long a file is to live from now on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct TouchQuery {
    ttl_ms: Option<String>,
}

/// Begins the lifetime of a file anew. It only becomes longer.
#[utoipa::path(
    post, path = "/stage/v1/{source}/files/{file}/touch", tag = "stage", responses((status = OK, body = StagedDocument)),
    params(
        ("source" = String, Path, description = "The source"),
        ("file" = String, Path, description = "Its id"),
        ("ttl_ms" = Option<String>, Query, description = "How long it lives from now on, in milliseconds, or `forever`",
            pattern = "^([0-9]{1,15}|forever)$"),
    ),
)]
pub(in crate::http) async fn touch(
    State(app): State<App>,
    InPath((source, id)): InPath<(String, String)>,
    Parameters(TouchQuery { ttl_ms }): Parameters<TouchQuery>,
) -> Result<Json<StagedDocument>, Problem> {
    let ttl = lifetime(ttl_ms.as_deref())?;
    let stage = open(&app, &source, Absent::Refuse).await?.stage;
    let touched = find(stage, &id, move |stage, id| stage.touch(id, ttl)).await?;
    Ok(Json(StagedDocument::from(&touched)))
}

/// Removes a file now, a persistent one too. Refused while somebody holds it.
#[utoipa::path(
    delete, path = "/stage/v1/{source}/files/{file}", tag = "stage",
    responses((status = NO_CONTENT, description = "It is gone")),
    params(("source" = String, Path, description = "The source"), ("file" = String, Path, description = "Its id")),
)]
pub(in crate::http) async fn remove(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    InPath((source, id)): InPath<(String, String)>,
) -> Result<StatusCode, Problem> {
    let stage = open(&app, &source, Absent::Refuse).await?.stage;
    find(stage, &id, |stage, id| Ok(stage.remove(id)?.then_some(()))).await?;
    tracing::info!(source, id, by = caller.name(), "a staged file was removed");
    Ok(StatusCode::NO_CONTENT)
}
