//! A daemon over one staging area in a directory of its own.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use bygone_core::{Boundary, Clock, SystemClock, TargetError, Turn};
use bygone_files::stage::{Quota, Stage, StageError, StageOptions};
use bygone_server::http::{Limits, Right, Rights, Scope, Settings, Tokens};
use bygone_server::{Absent, Bound, Estate, PolicyCard, StageArea, Staged};
use jiff::SignedDuration;
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use crate::http::api::{Answer, Api};
use crate::http::tokens::token;

/// The area of the source `up`.
#[derive(Debug)]
pub(crate) struct Areas {
    directory: PathBuf,
    quota: Quota,
    keep: SignedDuration,
}

impl Areas {
    /// Without bounds, in a directory that is made when it is needed.
    pub(crate) fn at(directory: PathBuf) -> Self {
        Self { directory, quota: Quota::default(), keep: SignedDuration::ZERO }
    }
}

#[async_trait]
impl Estate for Areas {
    fn policies(&self) -> &[PolicyCard] {
        &[]
    }

    async fn take_turn(&self, _: &str) -> Result<Option<Arc<dyn Turn>>, TargetError> {
        Ok(None)
    }

    async fn bind(&self, _: &str, _: &[String]) -> Bound {
        Bound { boundary: Boundary::at(SystemClock::new().now()), jobs: Vec::new() }
    }

    async fn plan(&self, _: &str) -> Result<Value, TargetError> {
        Ok(Value::Null)
    }

    async fn stage_area(&self, source: &str, absent: Absent) -> Result<Option<StageArea>, StageError> {
        if source != "up" {
            return Ok(None);
        }
        if absent == Absent::Refuse && !self.directory.exists() {
            return Err(StageError::NoArea(self.directory.clone()));
        }
        let stage = Stage::open(&self.directory, StageOptions { quota: self.quota, ..StageOptions::default() })?;
        Ok(Some(StageArea { stage, keep: self.keep }))
    }

    async fn staged(&self) -> Vec<Staged> {
        let inspected = Stage::inspect(&self.directory).and_then(|area| area.metrics());
        inspected.map(|metrics| Staged { source: "up".to_owned(), metrics }).into_iter().collect()
    }
}

/// The daemon, and the directory of the area.
pub(super) struct Yard {
    pub(super) api: Api,
    directory: tempfile::TempDir,
}

impl Yard {
    pub(super) async fn new() -> Self {
        Self::with(Quota::default(), SignedDuration::ZERO, Settings::default()).await
    }

    pub(super) async fn limited(quota: Quota, limits: Limits) -> Self {
        Self::with(quota, SignedDuration::ZERO, Settings { limits, ..Settings::default() }).await
    }

    pub(super) async fn with(quota: Quota, keep: SignedDuration, settings: Settings) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let areas = Areas { directory: directory.path().join("area"), quota, keep };
        Self { api: Api::with(areas, settings).await, directory }
    }

    pub(super) fn area(&self) -> PathBuf {
        self.directory.path().join("area")
    }

    /// Stages a text.
    pub(super) async fn put(&self, name: &str, text: &str) -> Answer {
        let path = format!("/stage/v1/up/files/{name}");
        self.api.ask(Method::PUT, &path, |request| request.body(text.to_owned())).await
    }

    pub(super) async fn ask(&self, method: Method, path: &str) -> Answer {
        self.api.ask(method, &format!("/stage/v1/up/{path}"), |request| request).await
    }

    pub(super) async fn totals(&self) -> (u64, u64) {
        let totals = self.ask(Method::GET, "totals").await.is(200).json();
        (totals["total_count"].as_u64().unwrap(), totals["total_bytes"].as_u64().unwrap())
    }

    /// Every file of the directory beside bygone's own, and what is on its way.
    pub(super) fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(self.area()).unwrap().map(Result::unwrap) {
            if entry.file_name() != ".bygone" {
                let inside = std::fs::read_dir(entry.path()).unwrap().map(Result::unwrap);
                found.extend(inside.map(|file| file.file_name().into_string().unwrap()));
            }
        }
        found.extend(std::fs::read_dir(self.area().join(".bygone/tmp")).unwrap().map(|_| "on its way".to_owned()));
        found.sort();
        found
    }

    /// Everything beside the area.
    pub(super) fn outside(&self) -> Vec<String> {
        let found = std::fs::read_dir(self.directory.path()).unwrap().map(Result::unwrap);
        let found = found.map(|entry| entry.file_name().into_string().unwrap());
        found.filter(|name| name != "area").collect()
    }
}

/// Tokens with and without rights.
pub(super) fn guarded() -> Settings {
    let rights = |said: &[(&str, Right)]| Rights::new(said.iter().map(|(name, right)| ((*name).to_owned(), *right)));
    let none = |text: &str| token(text, None, None);
    let tokens = Tokens::new([
        token("admin", Scope::Admin, None),
        token("operator", Scope::Operate, None),
        token("tied", Scope::Admin, None).with_stages(rights(&[("up", Right::Read)])),
        none("reader").with_stages(rights(&[("*", Right::Read)])),
        none("writer").with_stages(rights(&[("up", Right::Write)])),
        none("stranger").with_stages(rights(&[("*", Right::Write), ("up", Right::Read)])),
        none("elsewhere").with_stages(rights(&[("other", Right::Write)])),
    ]);
    Settings { tokens, ..Settings::default() }
}

pub(super) fn bearer(text: &str) -> impl FnOnce(RequestBuilder) -> RequestBuilder {
    let text = text.to_owned();
    move |request| request.bearer_auth(text)
}
