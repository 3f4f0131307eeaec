//! Requests to a daemon, and their answers.

use std::sync::Arc;
use std::time::Duration;

use bygone_core::Clock;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use reqwest::{Method, RequestBuilder, Response, redirect};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Address, Trouble, token};
use crate::problem::Problem;

/// How long a connection may take.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// How long an answer may take; the daemon gives up before.
const ANSWER_TIME: Duration = Duration::from_secs(60);
/// How often somebody who waits for long looks whether the other side is there.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// What is asked again is asked so often altogether...
const TRIES: u32 = 3;
/// ... with this pause before the second, and twice that before the third.
const PAUSE: Duration = Duration::from_millis(200);

/// Whether a request does the same when it comes twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// It does: where an answer was lost, it is asked again.
    Yes,
    /// It may do something twice: where an answer was lost, that is told.
    No,
}

/// Somebody who asks a daemon.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    address: Address,
    clock: Arc<dyn Clock>,
}

impl Client {
    /// For an address, with the token of the environment.
    pub(crate) fn new(address: Address, clock: &Arc<dyn Clock>) -> Result<Self, Problem> {
        let mut headers = HeaderMap::new();
        if let Some(token) = token::header()? {
            if address.is_overheard() {
                let message = format!("a token is not sent to {address}: others could read it on the way");
                return Err(Problem::usage(message, "write https://, or go by a tunnel to 127.0.0.1"));
            }
            headers.insert(AUTHORIZATION, token);
        }
        // Set already, in most cases: then that one stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // What a proxy or another place would see, only the daemon is to see.
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("bygone/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .no_proxy()
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT_TIME)
            .tcp_keepalive(KEEPALIVE);
        if let Some(socket) = &address.socket {
            builder = builder.unix_socket(socket.as_path());
        }
        if address.base.scheme() == "http" {
            // No certificate is looked at, so none need be there.
            builder = builder.tls_certs_only([]);
        }
        let http = builder.build();
        let http = http.map_err(|error| Problem::failed(format!("cannot speak HTTP: {}", whole(&error))))?;
        Ok(Self { http, address, clock: Arc::clone(clock) })
    }

    /// The clock that it goes by.
    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// A request for something below the address, which is answered before long.
    pub(crate) fn request(&self, method: Method, parts: &[&str]) -> RequestBuilder {
        self.stream(method, parts).timeout(ANSWER_TIME)
    }

    /// A request that takes as long as what it sends or fetches does.
    pub(crate) fn stream(&self, method: Method, parts: &[&str]) -> RequestBuilder {
        self.http.request(method, self.address.below(parts))
    }

    /// Sends a document, and reads the answer.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        parts: &[&str],
        document: &impl Serialize,
        again: Again,
    ) -> Result<T, Trouble> {
        self.ask(|| self.request(Method::POST, parts).json(document), again).await
    }

    /// Sends a request that is made anew for each try, and reads the answer.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        request: impl Fn() -> RequestBuilder,
        again: Again,
    ) -> Result<T, Trouble> {
        let mut tries = 1;
        loop {
            match self.answer(request()).await {
                Err(trouble) if again == Again::Yes && tries < TRIES && trouble.may_pass() => {
                    tracing::warn!(?trouble, "asked again");
                    self.clock.sleep(PAUSE * tries).await;
                    tries += 1;
                }
                answer => return answer,
            }
        }
    }

    /// Sends a request once, and reads its answer.
    pub(crate) async fn answer<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Trouble> {
        let response = self.send(request).await?;
        let body = response.bytes().await.map_err(|error| Trouble::Lost(whole(&error)))?;
        let body = if body.is_empty() { &b"null"[..] } else { &body };
        serde_json::from_slice(body).map_err(|error| Trouble::Strange(format!("its answer cannot be read: {error}")))
    }

    /// Sends a request once; its answer is good, and its body still to come.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, Trouble> {
        let response = request.send().await.map_err(|error| {
            let is_sent = !error.is_connect() && !error.is_builder();
            if is_sent { Trouble::Lost(whole(&error)) } else { Trouble::Unreachable(whole(&error)) }
        })?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = response.bytes().await.map_err(|error| Trouble::Lost(whole(&error)))?;
        Err(Trouble::of(status, &body))
    }

    /// Trouble with what may be asked again, as a problem.
    pub(crate) fn problem(&self, trouble: Trouble, again: Again) -> Problem {
        trouble.problem(&self.address, again == Again::Yes)
    }
}

/// An error with its causes, which is what says something; without the address, which is told anyway.
pub(crate) fn whole(error: &reqwest::Error) -> String {
    let mut cause = std::error::Error::source(error);
    let mut text = String::new();
    while let Some(error) = cause {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&error.to_string());
        cause = error.source();
    }
    if text.is_empty() { error.to_string() } else { text }
}
