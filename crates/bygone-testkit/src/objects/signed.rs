//! Signed requests to an object store, and their answers.

use std::fmt::Write as _;
use std::time::Duration;

use http::{Method, Request, StatusCode, Uri};
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use reqsign_core::{Context, Signer};

/// The version of Azure's language that is spoken.
const AZURE_VERSION: &str = "2023-11-03";

/// How long a connection may wait for its next request. Servers hang up after some seconds, and a request that meets that
/// moment fails.
const IDLE_MAX: Duration = Duration::from_secs(1);

/// A client of one store.
#[derive(Debug, Clone)]
pub(super) struct Signed {
    endpoint: String,
    signer: AnySigner,
    client: Client<HttpConnector, String>,
}

#[derive(Debug, Clone)]
enum AnySigner {
    S3(Signer<reqsign_aws_v4::Credential>),
    Azure(Signer<reqsign_azure_storage::Credential>),
}

/// What a store answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: String,
}

impl Signed {
    pub(super) fn s3(endpoint: &str, key: &str, secret: &str) -> Self {
        let provider = reqsign_aws_v4::StaticCredentialProvider::new(key, secret);
        let signer = Signer::new(Context::new(), provider, reqsign_aws_v4::RequestSigner::new("s3", "us-east-1"));
        Self::new(endpoint, AnySigner::S3(signer))
    }

    pub(super) fn azure(endpoint: &str, account: &str, key: &str) -> Self {
        let provider = reqsign_azure_storage::StaticCredentialProvider::new_shared_key(account, key);
        let signer = Signer::new(Context::new(), provider, reqsign_azure_storage::RequestSigner::new());
        Self::new(endpoint, AnySigner::Azure(signer))
    }

    fn new(endpoint: &str, signer: AnySigner) -> Self {
        let mut client = Client::builder(TokioExecutor::new());
        client.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_MAX);
        Self { endpoint: endpoint.to_owned(), signer, client: client.build_http() }
    }

    pub(super) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    pub(super) fn is_azure(&self) -> bool {
        matches!(self.signer, AnySigner::Azure(_))
    }

    /// Sends a request to a path that is percent-encoded already, with its query.
    pub(super) async fn send(&self, method: Method, path: &str, body: &str) -> Result<Answer, String> {
        let uri: Uri = format!("{}{path}", self.endpoint).parse().map_err(|error| format!("{path}: {error}"))?;
        let mut request = Request::builder().method(&method).uri(uri).header("content-length", body.len());
        if self.is_azure() {
            request = request.header("x-ms-version", AZURE_VERSION);
            if method == Method::PUT && !path.contains("restype=") {
                request = request.header("x-ms-blob-type", "BlockBlob");
            }
        }
        let (mut parts, ()) = request.body(()).map_err(|error| error.to_string())?.into_parts();
        match &self.signer {
            AnySigner::S3(signer) => signer.sign(&mut parts, None).await.map_err(|error| error.to_string())?,
            AnySigner::Azure(signer) => signer.sign(&mut parts, None).await.map_err(|error| error.to_string())?,
        }
        let sent = self.client.request(Request::from_parts(parts, body.to_owned())).await;
        let (parts, body) = sent.map_err(|error| format!("{method} {path}: {error}"))?.into_parts();
        let body = body.collect().await.map_err(|error| format!("{method} {path}: {error}"))?.to_bytes();
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(Answer { status: parts.status, body })
    }

    /// The same for a request that must succeed.
    pub(super) async fn must_send(&self, method: Method, path: &str, body: &str) -> Result<Answer, String> {
        let answer = self.send(method.clone(), path, body).await?;
        if answer.status.is_success() {
            Ok(answer)
        } else {
            Err(format!("{method} {path}: {} {}", answer.status, answer.body))
        }
    }

    /// Makes a place and puts something there. A place that is there already is as good.
    pub(super) async fn try_out(&self, place: &str, object: &str) -> Result<(), String> {
        let made = self.send(Method::PUT, place, "").await?;
        if !made.status.is_success() && made.status != StatusCode::CONFLICT {
            return Err(format!("{} {}", made.status, made.body));
        }
        self.must_send(Method::PUT, object, "ready").await.map(drop)
    }
}

/// Percent-encodes everything but what never has to be; `keep` stays too.
pub(super) fn encode(text: &str, keep: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        let character = char::from(byte);
        if byte.is_ascii_alphanumeric() || "-._~".contains(character) || (byte.is_ascii() && keep.contains(character)) {
            out.push(character);
        } else {
            // Writing into a string does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

/// Undoes what a listing with encoded names did.
pub(super) fn decode(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let hexadecimal: String = bytes.by_ref().take(2).map(char::from).collect();
                u8::from_str_radix(&hexadecimal, 16).unwrap_or(b'?')
            }
            other => other,
        });
    }
    String::from_utf8_lossy(&out).into_owned()
}
