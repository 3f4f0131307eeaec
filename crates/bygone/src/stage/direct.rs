//! An area that is opened here.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bygone_core::{Budget, CancellationToken, Clock, ErrorKind, Report};
use bygone_files::stage::{
    AttachmentId, Content, Ingest, Put, Quota, Reconcile, Stage, StageError, StageOptions, Ttl, WhenFull,
};
use bygone_server::stages::{StagedDocument, TotalsDocument};
use jiff::SignedDuration;

use super::area::{Area, How};
use super::{STDIN, STDIN_NAME};
use crate::cli::stage::{self as flags, StageVerb};
use crate::exit::Exit;
use crate::output;
use crate::problem::Problem;

/// Opens the area of a directory. Only what is staged makes one.
pub(super) fn open(path: &Path, verb: &StageVerb, clock: &Arc<dyn Clock>) -> Result<Stage, Problem> {
    if !matches!(verb, StageVerb::Put(_)) {
        Stage::inspect(path).map_err(|error| problem(&error))?;
    }
    Stage::open(path, options(verb, clock)).map_err(|error| problem(&error))
}

/// One look at one file costs the same in an area of any size; whoever looks at all of them gets the truth about each.
fn options(verb: &StageVerb, clock: &Arc<dyn Clock>) -> StageOptions {
    let reconcile = match verb {
        StageVerb::List | StageVerb::Metrics | StageVerb::Reset => Reconcile::Full,
        _ => Reconcile::AfterCrash,
    };
    let mut options = StageOptions { reconcile, clock: Arc::clone(clock), ..StageOptions::default() };
    if let StageVerb::Put(put) = verb {
        options.quota = Quota {
            max_bytes: put.max_bytes.map(|size| size.as_u64()),
            max_count: put.max_count,
            min_free: put.min_free.map(|size| size.as_u64()),
            when_full: if put.evict { WhenFull::Evict } else { WhenFull::Refuse },
        };
        options.ingest = match put.by {
            flags::Ingest::Copy => Ingest::Copy,
            flags::Ingest::Reflink => Ingest::Reflink,
            flags::Ingest::HardLink => Ingest::HardLink,
        };
    }
    options
}

#[async_trait]
impl Area for Stage {
    async fn put(&self, files: &[PathBuf], how: &How) -> Vec<Result<StagedDocument, Problem>> {
        let contents = files.iter().map(|file| {
            let is_stdin = file == Path::new(STDIN);
            let content = if is_stdin { Content::reader(io::stdin()) } else { Content::file(file) };
            let name = how.name.clone().or_else(|| is_stdin.then(|| STDIN_NAME.to_owned()));
            (content, Put { name, ttl: how.ttl, persist: how.persist })
        });
        let told = |staged: Result<_, StageError>| match staged {
            Ok(attachment) => Ok(StagedDocument::from(&attachment)),
            Err(error) => Err(problem(&error)),
        };
        self.put_all(contents).map(told).collect()
    }

    async fn get(&self, id: &AttachmentId) -> Result<Option<StagedDocument>, Problem> {
        let found = Self::get(self, id).map_err(|error| problem(&error))?;
        Ok(found.as_ref().map(Into::into))
    }

    async fn list(&self) -> Result<Vec<StagedDocument>, Problem> {
        let files = Self::list(self).map(|found| found.map(|found| StagedDocument::from(&found)));
        files.collect::<Result<_, _>>().map_err(|error| problem(&error))
    }

    async fn touch(&self, id: &AttachmentId, ttl: Option<Ttl>) -> Result<Option<StagedDocument>, Problem> {
        let touched = Self::touch(self, id, ttl).map_err(|error| problem(&error))?;
        Ok(touched.as_ref().map(Into::into))
    }

    async fn remove(&self, id: &AttachmentId) -> Result<bool, Problem> {
        Self::remove(self, id).map_err(|error| problem(&error))
    }

    async fn totals(&self) -> Result<TotalsDocument, Problem> {
        self.metrics().map(Into::into).map_err(|error| problem(&error))
    }

    async fn cleanup(&self, cancel: CancellationToken) -> Result<Report, Problem> {
        let observer = output::progress::observer();
        Ok(Self::cleanup(self, SignedDuration::ZERO, Budget::default(), observer, cancel).await)
    }
}

pub(super) fn problem(error: &StageError) -> Problem {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    let mut problem = Problem::failed(text);
    problem.exit = match error.kind() {
        ErrorKind::Busy => Exit::Busy,
        kind => Exit::of_kind(kind),
    };
    problem
}
