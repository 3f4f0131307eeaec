//! Client metadata documents, cached (draft-ietf-oauth-client-id-metadata-document, RFC 9111).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::error::TokenError;
use crate::freshness::Freshness;
use crate::lifetimes::micros;
use crate::schema::CLIENT_ID_METADATA;
use crate::secret::Digest;
use crate::store::{Store, instant};
use crate::table::DATA;
use crate::tokens::Shared;

/// The cache of client metadata documents.
#[derive(Clone)]
pub struct ClientMetadata(Store);

/// A response to a request for a document.
#[derive(Clone, Copy, Debug)]
pub struct Fetched<'a> {
    /// Its status.
    pub status: u16,
    /// Its headers, under names in any case.
    pub headers: &'a [(&'a str, &'a str)],
    /// Its body.
    pub body: &'a str,
}

/// Whether a response was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cached {
    /// It was.
    Stored,
    /// It forbids that, or is stale already. What was cached before is gone.
    NotStorable,
    /// It is an error. What was cached before stays for its time.
    Error,
    /// It is no document of this client. What was cached before stays for its time.
    Invalid,
}

#[derive(Serialize, Deserialize)]
struct Data {
    url: String,
    document: Json,
}

impl ClientMetadata {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self(Store::new(shared, &CLIENT_ID_METADATA))
    }

    /// The document of a client, while it is fresh.
    pub async fn get(&self, url: &str) -> Result<Option<Json>, TokenError> {
        let found = self.0.table().get(&[key_of(url)], self.0.now()).await?;
        Ok(found.map(|row| row.document::<Data>(DATA)).transpose()?.map(|data| data.document))
    }

    /// Keeps what a request for a document was answered with, if it may be kept: a JSON object whose `client_id` is the
    /// url itself, for as long as its headers say, within the bounds of the lifetimes.
    pub async fn put(&self, url: &str, fetched: Fetched<'_>) -> Result<Cached, TokenError> {
        if fetched.status != 200 {
            return Ok(Cached::Error);
        }
        let document = serde_json::from_str::<Json>(fetched.body).ok();
        let Some(document) = document.filter(|json| json.get("client_id").and_then(Json::as_str) == Some(url)) else {
            return Ok(Cached::Invalid);
        };
        let (now, lifetimes, table) = (self.0.now(), self.0.lifetimes(), self.0.table());
        let fresh = match Freshness::of(fetched.headers.iter().copied(), instant(now)) {
            Freshness::Never => {
                table.remove(&[key_of(url)]).await?;
                return Ok(Cached::NotStorable);
            }
            Freshness::Unsaid => lifetimes.metadata_min,
            Freshness::For(time) => time.clamp(lifetimes.metadata_min, lifetimes.metadata_max),
        };
        let row = self.0.shared.row(now, now + micros(fresh)).with("url", Digest::of(url));
        let data = table.written(&Data { url: url.to_owned(), document })?;
        table.replace(&row.with(DATA, data)).await?;
        Ok(Cached::Stored)
    }

    /// Forgets one document; says whether there was one.
    pub async fn delete(&self, url: &str) -> Result<bool, TokenError> {
        let now = self.0.now();
        let known = self.0.table().get(&[key_of(url)], now).await?.is_some();
        Ok(self.0.table().remove(&[key_of(url)]).await? > 0 && known)
    }

    /// Forgets all documents.
    pub async fn delete_all(&self) -> Result<(), TokenError> {
        self.0.table().remove(&[]).await.map(|_| ())
    }
}

fn key_of(url: &str) -> (&'static str, Digest) {
    ("url", Digest::of(url))
}
