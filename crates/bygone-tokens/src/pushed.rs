//! Pushed authorization requests (RFC 9126): parameters that wait behind a reference only their client can use, once.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value as Json;

use crate::error::TokenError;
use crate::lifetimes::micros;
use crate::schema::PUSHED_AUTHORIZATION_REQUESTS;
use crate::secret::{Digest, Secret};
use crate::store::{Store, instant};
use crate::table::{Alive, Change, DATA, Only};
use crate::tokens::Shared;

/// What a `request_uri` begins with (RFC 9126, section 2.2).
const URN: &str = "urn:ietf:params:oauth:request_uri:";

/// The store of pushed authorization requests.
#[derive(Clone)]
pub struct PushedRequests(Store);

/// A reference that was just made.
#[derive(Clone, Debug)]
pub struct PushedRequest {
    /// What the client presents at the authorization endpoint.
    pub request_uri: Secret,
    /// Until when.
    pub expires_at: Timestamp,
}

impl PushedRequests {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self(Store::new(shared, &PUSHED_AUTHORIZATION_REQUESTS))
    }

    /// Keeps the parameters of a client's request.
    pub async fn put(&self, client_id: &str, parameters: &Json) -> Result<PushedRequest, TokenError> {
        let (now, request_uri) = (self.0.now(), self.0.secret()?.behind(URN));
        let expires_at = now + micros(self.0.lifetimes().pushed);
        let table = self.0.table();
        let row = self.0.shared.row(now, expires_at).with("request_uri", Digest::of(request_uri.expose()));
        let row = row.with("client", Digest::of(client_id)).with(DATA, table.written(parameters)?);
        table.put_new(&row, now).await?;
        Ok(PushedRequest { request_uri, expires_at: instant(expires_at) })
    }

    /// The parameters, if the reference is this client's, has not been taken and has not expired. It stays good: for
    /// showing a page before the decision.
    pub async fn fetch(&self, client_id: &str, request_uri: &str) -> Result<Option<Json>, TokenError> {
        let only = [Only::Is("client", Digest::of(client_id).into()), Only::Null("taken_at")];
        let key = [("request_uri", Digest::of(request_uri))];
        let found = self.0.table().list(&key, &only, Alive::Unexpired, self.0.now()).await?;
        found.first().map(|row| row.document(DATA)).transpose()
    }

    /// The same, and the reference is used up. Of several callers one gets the parameters; another client uses up nothing.
    pub async fn take(&self, client_id: &str, request_uri: &str) -> Result<Option<Json>, TokenError> {
        let (now, key) = (self.0.now(), [("request_uri", Digest::of(request_uri))]);
        let take = Change::take("taken_at", now).only(Only::Is("client", Digest::of(client_id).into()));
        let taken = self.0.table().change(&key, &take, now).await?;
        taken.map(|row| row.document(DATA)).transpose()
    }
}
