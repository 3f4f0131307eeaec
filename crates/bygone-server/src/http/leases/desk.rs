//! Where operations meet their store.

use std::time::Duration;

use axum::extract::path::ErrorKind;
use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path, RawPathParams};
use axum::http::request::Parts;
use bygone_lease::{Key, Lease, LeaseStore, Moment, Namespace, Wait};
use serde::Deserialize;
use serde_json::error::Category;

use crate::estate::Absent;
use crate::http::App;
use crate::http::problem::{Kind, Problem};
use crate::http::security::{Caller, Right};
use crate::leases::{LEASE, LeaseDocument};

/// Twice the longest lease.
const HOUR: Duration = Duration::from_secs(3_600);

/// Somebody who wants something of a store.
pub(in crate::http) struct Desk {
    pub(super) app: App,
    caller: Caller,
    pub(super) source: String,
}

impl FromRequestParts<App> for Desk {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        // Whoever came this far was let in.
        let caller = parts.extensions.get::<Caller>().cloned();
        let caller =
            caller.ok_or_else(|| Problem::new(Kind::Unauthorized, "send a token: `Authorization: Bearer ...`"))?;
        let parameters = RawPathParams::from_request_parts(parts, app).await;
        let parameters = parameters.map_err(|error| Problem::new(Kind::BadRequest, error.body_text()))?;
        let source = parameters.iter().find(|(name, _)| *name == "source").map(|(_, source)| source.to_owned());
        Ok(Self { app: app.clone(), caller, source: source.unwrap_or_default() })
    }
}

impl Desk {
    /// The store, for work in a namespace.
    pub(super) async fn store(
        &self,
        namespace: &Namespace,
        right: Right,
        absent: Absent,
    ) -> Result<LeaseStore, Problem> {
        self.caller.may(namespace.as_str(), right)?;
        self.open(absent).await
    }

    /// The same for work on transactions, which are of no namespace: the right to write in any is enough. What is staged in one
    /// was staged by those who might.
    pub(super) async fn store_of_txns(&self, absent: Absent) -> Result<LeaseStore, Problem> {
        self.caller.may_somewhere(Right::Write)?;
        self.open(absent).await
    }

    /// The lease of who brings something. Where his document says that it lasts for ages, what is left behind if he breaks off
    /// must not wait for that: no lease lasts for longer than an hour without being extended.
    pub(super) fn held(&self, document: LeaseDocument) -> Lease {
        let latest = Moment::from(self.app.daemon.clock().now()).plus(HOUR);
        let lease = Lease::from(document);
        Lease { expires_at: lease.expires_at.max(Moment::default()).min(latest), ..lease }
    }

    async fn open(&self, absent: Absent) -> Result<LeaseStore, Problem> {
        let estate = self.app.daemon.estate();
        estate.leases(&self.source, absent).await.map_err(|why| Problem::no_leases(&self.source, why))
    }

    /// How long to wait for something: no longer than a request may take.
    pub(super) fn wait(&self, wait_ms: Option<u64>) -> Wait {
        match wait_ms.map(Duration::from_millis) {
            None | Some(Duration::ZERO) => Wait::None,
            Some(wait) => Wait::For(wait.min(self.app.room.wait_max)),
        }
    }

    /// Waits, but not for so long that the daemon could not end.
    pub(super) async fn attend<T>(
        &self,
        wait: Wait,
        work: impl Future<Output = Result<T, bygone_lease::Error>>,
    ) -> Result<T, Problem> {
        if wait == Wait::None {
            return Ok(work.await?);
        }
        tokio::select! {
            biased;
            done = work => Ok(done?),
            () = self.app.stop.cancelled() => Err(Problem::new(Kind::Ending, "the daemon is ending: ask again")),
        }
    }
}

/// A key in the path, and perhaps the name of an attachment of it.
#[derive(Debug, Deserialize)]
pub(in crate::http) struct Place {
    pub(super) namespace: Namespace,
    pub(super) key: Key,
    #[serde(default)]
    pub(super) name: String,
}

impl FromRequestParts<App> for Place {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let read = Path::from_request_parts(parts, app).await;
        read.map(|Path(place)| place).map_err(|error| {
            let is_text = match &error {
                PathRejection::FailedToDeserializePathParams(error) => {
                    !matches!(error.kind(), ErrorKind::InvalidUtf8InPathParam { .. })
                }
                _ => false,
            };
            let kind = if is_text { Kind::Unprocessable } else { Kind::BadRequest };
            Problem::new(kind, error.body_text())
        })
    }
}

/// The lease of who writes, as its header says.
pub(in crate::http) struct LeaseHeader(LeaseDocument);

impl<S: Send + Sync> FromRequestParts<S> for LeaseHeader {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let mut said = parts.headers.get_all(LEASE).iter();
        let (Some(said), None) = (said.next(), said.next()) else {
            return Err(Problem::new(Kind::BadRequest, "send the lease once, as JSON in the header `Bygone-Lease`"));
        };
        let read = serde_json::from_slice::<LeaseDocument>(said.as_bytes());
        read.map(Self).map_err(|error| {
            let kind = if error.classify() == Category::Data { Kind::Unprocessable } else { Kind::BadRequest };
            Problem::new(kind, format!("`Bygone-Lease` holds no lease: {error}"))
        })
    }
}

impl LeaseHeader {
    /// The lease, which must be of the key in the path.
    pub(super) fn of(self, place: &Place, desk: &Desk) -> Result<Lease, Problem> {
        let Self(lease) = self;
        if lease.namespace == place.namespace && lease.key == place.key {
            return Ok(desk.held(lease));
        }
        let detail =
            format!("the lease is of `{}` in `{}`, and the path names another key", lease.key, lease.namespace);
        Err(Problem::new(Kind::Unprocessable, detail))
    }
}
