//! An estate that has one of everything: the policy `a-p`, the lease store `jobs` and the staging area `up`.

use std::sync::Arc;

use async_trait::async_trait;
use bygone_core::memory::Shelf;
use bygone_core::{TargetError, Turn};
use bygone_files::stage::StageError;
use bygone_lease::LeaseStore;
use bygone_server::{
    Absent, Bound, Estate, Explanation, Inspection, NoLeases, PolicyCard, SourceCard, StageArea, Staged,
};

use super::stage::Areas;
use crate::jobs::Jobs;
use crate::shelves::Shelves;

#[derive(Debug)]
pub(super) struct Grounds {
    shelves: Shelves,
    jobs: Jobs,
    areas: Areas,
    _directory: tempfile::TempDir,
}

impl Grounds {
    pub(super) fn with(shelf: &Shelf) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let areas = Areas::at(directory.path().join("area"));
        Self { shelves: Shelves::new(&[("a-p", shelf, None)]), jobs: Jobs::new(), areas, _directory: directory }
    }
}

#[async_trait]
impl Estate for Grounds {
    fn policies(&self) -> &[PolicyCard] {
        self.shelves.policies()
    }

    async fn take_turn(&self, source: &str) -> Result<Option<Arc<dyn Turn>>, TargetError> {
        self.shelves.take_turn(source).await
    }

    async fn bind(&self, source: &str, policies: &[String]) -> Bound {
        self.shelves.bind(source, policies).await
    }

    async fn plan(&self, policy: &str) -> Result<serde_json::Value, TargetError> {
        self.shelves.plan(policy).await
    }

    fn sources(&self) -> &[SourceCard] {
        self.shelves.sources()
    }

    async fn inspect(&self, source: &str) -> Result<Inspection, TargetError> {
        self.shelves.inspect(source).await
    }

    async fn explain(&self, policy: &str) -> Result<Explanation, TargetError> {
        self.shelves.explain(policy).await
    }

    fn has_leases(&self, source: &str) -> bool {
        source == "jobs"
    }

    async fn leases(&self, source: &str, absent: Absent) -> Result<LeaseStore, NoLeases> {
        if source == "jobs" { self.jobs.leases(source, absent).await } else { Err(NoLeases::NoSuchSource) }
    }

    async fn stage_area(&self, source: &str, absent: Absent) -> Result<Option<StageArea>, StageError> {
        self.areas.stage_area(source, absent).await
    }

    async fn staged(&self) -> Vec<Staged> {
        self.areas.staged().await
    }
}
