//! A staging area as the verbs use it: opened here, or a daemon's.

use std::path::PathBuf;

use async_trait::async_trait;
use bygone_core::{CancellationToken, Report};
use bygone_files::stage::{AttachmentId, Ttl};
use bygone_server::stages::{StagedDocument, TotalsDocument};

use crate::problem::Problem;

/// How files are staged.
#[derive(Clone, Debug)]
pub(super) struct How {
    /// The name of the one file that there is, if it is not to keep its own.
    pub(super) name: Option<String>,
    pub(super) ttl: Option<Ttl>,
    pub(super) persist: bool,
}

/// What can be done with an area, wherever it is.
#[async_trait]
pub(super) trait Area: Send + Sync {
    /// Stages files, each by itself; their answers are in their order.
    async fn put(&self, files: &[PathBuf], how: &How) -> Vec<Result<StagedDocument, Problem>>;

    /// A file that lives.
    async fn get(&self, id: &AttachmentId) -> Result<Option<StagedDocument>, Problem>;

    /// All files that live.
    async fn list(&self) -> Result<Vec<StagedDocument>, Problem>;

    /// Begins the lifetime of a file anew.
    async fn touch(&self, id: &AttachmentId, ttl: Option<Ttl>) -> Result<Option<StagedDocument>, Problem>;

    /// Removes a file; false where none lived.
    async fn remove(&self, id: &AttachmentId) -> Result<bool, Problem>;

    /// How much is staged.
    async fn totals(&self) -> Result<TotalsDocument, Problem>;

    /// Removes what is past its deadline.
    async fn cleanup(&self, cancel: CancellationToken) -> Result<Report, Problem>;
}
