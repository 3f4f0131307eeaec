//! Leases, queues and transactions over HTTP, in a store on disk.

mod attachments;
mod errors;
mod lease;
mod limits;
mod queue;
mod rights;
mod state;
mod txn;

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::api::{Answer, Api};
use crate::jobs::Jobs;

/// Somebody who asks for operations.
pub(super) struct Asker<'a> {
    api: &'a Api,
    token: Option<&'a str>,
}

pub(super) async fn jobs() -> Api {
    Api::over(Jobs::new()).await
}

impl Api {
    pub(super) fn asker(&self) -> Asker<'_> {
        Asker { api: self, token: None }
    }
}

impl<'a> Asker<'a> {
    pub(super) fn with_token(self, token: &'a str) -> Self {
        Self { token: Some(token), ..self }
    }

    pub(super) async fn post(&self, operation: &str, body: &Value) -> Answer {
        self.ask(Method::POST, operation, |request| request.json(body)).await
    }

    pub(super) async fn ask(
        &self,
        method: Method,
        operation: &str,
        with: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Answer {
        let token = self.token;
        let signed = |request: RequestBuilder| match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        self.api.ask(method, &format!("/lease/v1/jobs/{operation}"), |request| with(signed(request))).await
    }

    /// Does something that goes well.
    pub(super) async fn does(&self, operation: &str, body: Value) -> Value {
        self.post(operation, &body).await.is(200).json()
    }

    /// Takes the lease of a key.
    pub(super) async fn acquires(&self, key: &str) -> Value {
        self.does("acquire", json!({ "key": key, "owner": "ada" })).await
    }
}

/// The number of a lease.
pub(super) fn token(lease: &Value) -> u64 {
    lease["fencing_token"].as_u64().unwrap()
}
