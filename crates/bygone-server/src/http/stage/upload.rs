//! A file that comes: streamed through the hash into the area, in constant memory.
//!
//! The area reads on a thread of its own, which waits for what comes next. What is broken off, or stands still for too
//! long, leaves nothing.

use std::io::{self, Read};
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use bygone_files::stage::{Attachment, Content, Put, Stage, StageError, Ttl};
use serde::Deserialize;
use tokio_util::io::SyncIoBridge;

use super::area::{blocking, open};
use crate::estate::Absent;
use crate::http::App;
use crate::http::extract::{InPath, Parameters};
use crate::http::problem::{Kind, Problem};
use crate::http::streams::incoming;
use crate::stages::StagedDocument;

/// So much of a file that is refused is still read, so that its sender hears why.
const REFUSED_BYTES_MAX: u64 = 4 << 20;

/// How to stage a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct PutQuery {
    ttl_ms: Option<String>,
    #[serde(default)]
    persist: bool,
}

/// Stages what the body holds, and tells where it lies. The same content again begins its lifetime anew, and makes it no
/// shorter. The first file that is put makes the area.
#[utoipa::path(
    put, path = "/stage/v1/{source}/files/{file}", tag = "stage",
    request_body(content = String, content_type = "application/octet-stream", description = "Bytes of any kind and number"),
    responses(
        (status = CREATED, body = StagedDocument, headers(("Location" = String, description = "The file, by its id"))),
        (status = OK, body = StagedDocument, description = "It was there already",
            headers(("Location" = String, description = "The file, by its id"))),
    ),
    params(
        ("source" = String, Path, description = "The source"),
        ("file" = String, Path, description = "What it is called; made safe where it is not"),
        ("ttl_ms" = Option<String>, Query, description = "How long it lives, in milliseconds, or `forever`",
            pattern = "^([0-9]{1,15}|forever)$"),
        ("persist" = Option<bool>, Query, description = "Whether it stays until somebody removes it"),
    ),
)]
pub(in crate::http) async fn put(
    State(app): State<App>,
    uri: Uri,
    InPath((source, name)): InPath<(String, String)>,
    Parameters(PutQuery { ttl_ms, persist }): Parameters<PutQuery>,
    body: Body,
) -> Result<Response, Problem> {
    let put = Put { name: Some(name), ttl: lifetime(ttl_ms.as_deref())?, persist };
    let permit = app.room.for_transfer()?;
    let stage = open(&app, &source, Absent::Make).await?.stage;
    let incoming = SyncIoBridge::new(incoming(body, app.room.stall_within));
    // Also where nobody waits for the answer any more, this is a transfer until it ends.
    let staged = blocking(move || {
        let _permit = permit;
        take(&stage, incoming, &put)
    });
    let staged = staged.await?;
    let status = if staged.cached { StatusCode::OK } else { StatusCode::CREATED };
    // Its place is written as the request writes that of the source.
    let files = uri.path().rsplit_once('/').map_or("", |(files, _)| files);
    let location = [(header::LOCATION, format!("{files}/{}", staged.id))];
    Ok((status, location, Json(StagedDocument::from(&staged))).into_response())
}

/// A lifetime in the words of a request.
pub(super) fn lifetime(ttl_ms: Option<&str>) -> Result<Option<Ttl>, Problem> {
    let said = |text: &str| match text {
        "forever" => Ok(Ttl::Forever),
        millis => millis.parse().map(|millis| Ttl::For(Duration::from_millis(millis))),
    };
    let ttl = ttl_ms.map(said).transpose();
    ttl.map_err(|_| Problem::new(Kind::BadRequest, "`ttl_ms` is no number of milliseconds, and not `forever`"))
}

fn take(stage: &Stage, mut incoming: impl Read, put: &Put) -> Result<Attachment, StageError> {
    let staged = stage.put(Content::reader(&mut incoming), put);
    let is_refused = matches!(&staged, Err(error) if !matches!(error, StageError::Read(_)));
    if is_refused && let Err(error) = io::copy(&mut incoming.take(REFUSED_BYTES_MAX), &mut io::sink()) {
        tracing::debug!(%error, "a file that was refused came no further");
    }
    staged
}
