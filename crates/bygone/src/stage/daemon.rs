//! An area that a daemon has open.

use std::io;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use bygone_core::{CancellationToken, Report};
use bygone_files::stage::{AttachmentId, Name, StageError, Ttl};
use bygone_server::stages::{StagedDocument, StagedList, TotalsDocument};
use futures_util::stream;
use reqwest::{Body, Method, RequestBuilder};
use tokio_util::io::ReaderStream;

use super::area::{Area, How};
use super::{STDIN, STDIN_NAME, direct};
use crate::problem::Problem;
use crate::remote::{Again, Client, Trouble};

/// Files of one page of a list.
const PAGE: usize = 1_000;
/// Sent at once.
const PIECE_BYTES: usize = 64 * 1_024;
/// Where the files are, below the area.
const FILES: &str = "files";

#[async_trait]
impl Area for Client {
    async fn put(&self, files: &[PathBuf], how: &How) -> Vec<Result<StagedDocument, Problem>> {
        let mut staged = Vec::with_capacity(files.len());
        for file in files {
            staged.push(put(self, file, how).await);
        }
        staged
    }

    async fn get(&self, id: &AttachmentId) -> Result<Option<StagedDocument>, Problem> {
        let found = self.ask(|| self.request(Method::GET, &[FILES, &id.to_string()]), Again::Yes).await;
        if_any(self, found, Again::Yes)
    }

    async fn list(&self) -> Result<Vec<StagedDocument>, Problem> {
        let (mut files, mut after) = (Vec::new(), None::<String>);
        loop {
            let page = || {
                let request = self.request(Method::GET, &[FILES]).query(&[("limit", PAGE)]);
                request.query(&after.as_ref().map(|after| [("after", after)]))
            };
            let page: Result<StagedList, Trouble> = self.ask(page, Again::Yes).await;
            let page = page.map_err(|trouble| self.problem(trouble, Again::Yes))?;
            files.extend(page.files);
            match page.next_after {
                Some(next) => after = Some(next),
                None => return Ok(files),
            }
        }
    }

    async fn touch(&self, id: &AttachmentId, ttl: Option<Ttl>) -> Result<Option<StagedDocument>, Problem> {
        let touch = || timed(self.request(Method::POST, &[FILES, &id.to_string(), "touch"]), ttl);
        let touched = self.ask(touch, Again::Yes).await;
        if_any(self, touched, Again::Yes)
    }

    async fn remove(&self, id: &AttachmentId) -> Result<bool, Problem> {
        let removed = self.ask::<()>(|| self.request(Method::DELETE, &[FILES, &id.to_string()]), Again::No).await;
        Ok(if_any(self, removed, Again::No)?.is_some())
    }

    async fn totals(&self) -> Result<TotalsDocument, Problem> {
        let totals = self.ask(|| self.request(Method::GET, &["totals"]), Again::Yes).await;
        totals.map_err(|trouble| self.problem(trouble, Again::Yes))
    }

    async fn cleanup(&self, _: CancellationToken) -> Result<Report, Problem> {
        // What is gone is gone: a second report would tell of less.
        let report = self.ask(|| self.request(Method::POST, &["cleanup"]), Again::No).await;
        report.map_err(|trouble| self.problem(trouble, Again::No))
    }
}

/// Streams a file to the daemon. One that is there can be sent again, which makes no second copy; standard input cannot.
async fn put(client: &Client, file: &Path, how: &How) -> Result<StagedDocument, Problem> {
    let is_stdin = file == Path::new(STDIN);
    let again = if is_stdin { Again::No } else { Again::Yes };
    if !is_stdin {
        check(file).map_err(|error| direct::problem(&error))?;
    }
    let own = if is_stdin { Some(STDIN_NAME.into()) } else { file.file_name().map(|name| name.to_string_lossy()) };
    let name = how.name.as_deref().or(own.as_deref()).unwrap_or_default();
    // The daemon would do the same; and a name of dots would mean another place on the way there.
    let name = Name::sanitised(name);
    let request = || {
        let request = timed(client.stream(Method::PUT, &[FILES, name.as_str()]), how.ttl);
        request.query(&[("persist", how.persist)]).body(if is_stdin { stdin() } else { content(file) })
    };
    client.ask(request, again).await.map_err(|trouble| client.problem(trouble, again))
}

/// What would be refused by who opens an area himself, in the same words.
fn check(file: &Path) -> Result<(), StageError> {
    match std::fs::metadata(file) {
        Ok(found) if found.is_file() => Ok(()),
        Ok(found) if found.is_dir() => Err(StageError::IsDirectory(file.to_owned())),
        Ok(_) => Err(StageError::NotAFile(file.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(StageError::Missing(file.to_owned())),
        Err(error) => Err(StageError::Read(error)),
    }
}

fn content(file: &Path) -> Body {
    match std::fs::File::open(file) {
        Ok(file) => Body::wrap_stream(ReaderStream::with_capacity(tokio::fs::File::from_std(file), PIECE_BYTES)),
        // It was there a moment ago: the request breaks off, and so nothing is staged.
        Err(error) => Body::wrap_stream(stream::once(std::future::ready(Err::<Vec<u8>, _>(error)))),
    }
}

fn stdin() -> Body {
    Body::wrap_stream(ReaderStream::with_capacity(tokio::io::stdin(), PIECE_BYTES))
}

/// Says a lifetime in whole milliseconds, rather longer than shorter.
fn timed(request: RequestBuilder, ttl: Option<Ttl>) -> RequestBuilder {
    let millis = ttl.map(|ttl| match ttl {
        Ttl::Forever => "forever".to_owned(),
        Ttl::For(time) => time.as_nanos().div_ceil(1_000_000).to_string(),
    });
    request.query(&millis.map(|millis| [("ttl_ms", millis)]))
}

/// What is absent is no trouble.
fn if_any<T>(client: &Client, found: Result<T, Trouble>, again: Again) -> Result<Option<T>, Problem> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(trouble) if trouble.word() == Some("no-such-file") => Ok(None),
        Err(trouble) => Err(client.problem(trouble, again)),
    }
}
