//! Client-initiated backchannel authentication (OpenID CIBA): a client asks, a person decides elsewhere.

use std::sync::Arc;

use bygone_sql::Value;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::decision::{Approval, Consumed, Decided, Polled, consume, decide, pending, poll};
use crate::error::TokenError;
use crate::lifetimes::micros;
use crate::schema::CIBA_REQUESTS;
use crate::secret::{Digest, Secret, seal, unseal};
use crate::store::{Store, instant};
use crate::table::DATA;
use crate::tokens::Shared;

/// The store of CIBA requests.
#[derive(Clone)]
pub struct CibaRequests(Store);

/// How the client learns of the decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryMode {
    /// It polls.
    #[default]
    Poll,
    /// It is told that there is one, and fetches it.
    Ping,
    /// It is told the decision itself.
    Push,
}

/// What a client asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CibaRequest {
    /// The client.
    pub client_id: String,
    /// Who is asked.
    pub hint_subject: String,
    /// What it asks for.
    pub scope: Vec<String>,
    /// For which resources (RFC 8707).
    pub resource: Vec<String>,
    /// How they should be authenticated.
    pub acr_values: Vec<String>,
    /// What is shown on both devices.
    pub binding_message: Option<String>,
    /// The thumbprint of the key that it will use (RFC 9449).
    pub dpop_jkt: Option<String>,
    /// How the client learns of the decision.
    pub delivery_mode: DeliveryMode,
}

/// A request that was just made.
#[derive(Clone, Debug)]
pub struct IssuedCibaRequest {
    /// What the client asks with.
    pub auth_req_id: Secret,
    /// Until when.
    pub expires_at: Timestamp,
    /// How long to wait between two polls.
    pub interval_seconds: u64,
}

impl CibaRequests {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self(Store::new(shared, &CIBA_REQUESTS))
    }

    /// Keeps a request. The client's notification token is kept in a form that only the `auth_req_id` opens.
    pub async fn create(
        &self,
        request: &CibaRequest,
        notification_token: Option<&str>,
    ) -> Result<IssuedCibaRequest, TokenError> {
        let (now, auth_req_id, table) = (self.0.now(), self.0.secret()?, self.0.table());
        let expires_at = now + micros(self.0.lifetimes().ciba);
        let interval = self.0.lifetimes().ciba_interval;
        let row = self.0.shared.row(now, expires_at).with("auth_req_id", Digest::of(auth_req_id.expose()));
        let row = row.with("client", Digest::of(&request.client_id)).with(DATA, table.written(request)?);
        let row = row.with("status", pending()).with("poll_interval", Value::Int(micros(interval)));
        let row = match notification_token {
            Some(token) => {
                let sealed = seal(auth_req_id.expose(), token, &*self.0.shared.entropy)?;
                row.with("notification", Value::Blob(sealed))
            }
            None => row,
        };
        table.put_new(&row, now).await?;
        Ok(IssuedCibaRequest { auth_req_id, expires_at: instant(expires_at), interval_seconds: interval.as_secs() })
    }

    /// What is asked for, while it has not expired: for the page on which it is decided.
    pub async fn find(&self, auth_req_id: &str) -> Result<Option<CibaRequest>, TokenError> {
        let found = self.0.table().get(&[key_of(auth_req_id)], self.0.now()).await?;
        found.map(|row| row.document(DATA)).transpose()
    }

    /// The client's notification token, to tell it of the decision with.
    pub async fn notification_token(&self, auth_req_id: &str) -> Result<Option<Secret>, TokenError> {
        let found = self.0.table().get(&[key_of(auth_req_id)], self.0.now()).await?;
        let open = |row: crate::table::Found| row.bytes("notification").map(|sealed| unseal(auth_req_id, sealed));
        Ok(found.and_then(open).transpose()?.map(Secret::from_text))
    }

    /// Approves a request, unless somebody has decided before.
    pub async fn approve(&self, auth_req_id: &str, approval: &Approval) -> Result<Decided, TokenError> {
        decide(&self.0, &[key_of(auth_req_id)], Some(approval)).await
    }

    /// Denies a request, unless somebody has decided before.
    pub async fn deny(&self, auth_req_id: &str) -> Result<Decided, TokenError> {
        decide(&self.0, &[key_of(auth_req_id)], None).await
    }

    /// Asks for the decision. Who asks too soon is told to slow down.
    pub async fn poll(&self, client_id: &str, auth_req_id: &str) -> Result<Polled, TokenError> {
        poll(&self.0, &[key_of(auth_req_id)], client_id).await
    }

    /// Takes what was approved, once.
    pub async fn consume(&self, client_id: &str, auth_req_id: &str) -> Result<Consumed<CibaRequest>, TokenError> {
        Ok(match consume(&self.0, &[key_of(auth_req_id)], client_id).await? {
            Ok(row) => Consumed::Granted { request: row.document(DATA)?, approval: row.document("granted")? },
            Err(refusal) => refusal.into(),
        })
    }
}

fn key_of(auth_req_id: &str) -> (&'static str, Digest) {
    ("auth_req_id", Digest::of(auth_req_id))
}
