//! A daemon with its API, and somebody who asks it.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bygone_core::{CancellationToken, Clock, SystemClock};
use bygone_server::http::{self, Address, Limits, Listener, Settings};
use bygone_server::{AlarmRules, Daemon, Estate, Ledger};
use reqwest::{Client, Method, RequestBuilder, StatusCode, header::HeaderMap};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

pub(crate) struct Api {
    pub(crate) daemon: Daemon,
    pub(crate) address: Address,
    pub(crate) client: Client,
    pub(crate) stop: CancellationToken,
    pub(crate) serving: JoinHandle<()>,
    running: JoinHandle<()>,
    end_daemon: CancellationToken,
    pub(crate) directory: tempfile::TempDir,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

pub(crate) fn local() -> Address {
    "127.0.0.1:0".parse().unwrap()
}

pub(crate) fn limited(limits: Limits) -> Settings {
    Settings { limits, ..Settings::default() }
}

impl Api {
    pub(crate) async fn over(estate: impl Estate + 'static) -> Self {
        Self::with(estate, Settings::default()).await
    }

    pub(crate) async fn with(estate: impl Estate + 'static, settings: Settings) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = Listener::bind(&local(), None, &settings.tokens).await.unwrap();
        Self::at(listener, estate, settings, directory, Arc::new(SystemClock::new())).await
    }

    pub(crate) async fn at(
        listener: Listener,
        estate: impl Estate + 'static,
        settings: Settings,
        directory: tempfile::TempDir,
        clock: Arc<dyn Clock>,
    ) -> Self {
        // The client has TLS without a provider of its own.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let ledger = Ledger::open(&directory.path().join("ledger.db"), Arc::clone(&clock)).await.unwrap();
        let daemon = Daemon::new(Arc::new(estate), ledger, clock, AlarmRules::default()).await.unwrap();
        let (stop, end_daemon) = (CancellationToken::new(), CancellationToken::new());
        let running = tokio::spawn({
            let (daemon, stop) = (daemon.clone(), end_daemon.clone());
            async move { daemon.run(stop).await }
        });
        while !daemon.is_running() {
            tokio::task::yield_now().await;
        }
        let address = listener.address();
        let serving = tokio::spawn(http::serve(vec![listener], daemon.clone(), settings, stop.clone()));
        let client = Client::builder().no_proxy().build().unwrap();
        Self { daemon, address, client, stop, serving, running, end_daemon, directory }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        match &self.address {
            Address::Tcp(address) => format!("http://{address}{path}"),
            Address::Unix(_) => format!("http://localhost{path}"),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, |request| request).await
    }

    pub(crate) async fn post(&self, path: &str) -> Answer {
        self.ask(Method::POST, path, |request| request).await
    }

    /// Asks for a sweep.
    pub(crate) async fn sweep(&self, body: Value) -> Answer {
        self.ask(Method::POST, "/api/v1/sweeps", |request| request.json(&body)).await
    }

    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        with: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Answer {
        let answer = with(self.client.request(method.clone(), self.url(path))).send().await.unwrap();
        let (status, headers) = (answer.status(), answer.headers().clone());
        let answer = Answer { status, headers, text: answer.text().await.unwrap() };
        answer.is_documented(&method, path);
        answer
    }

    /// Sends bytes as they are, and reads until the other side closes.
    pub(crate) async fn send_raw(&self, bytes: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(bytes.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // The other side may not wait for all of it, but closes long before this.
        let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut answer)).await;
        assert!(read.is_ok(), "the connection is still open");
        String::from_utf8(answer).unwrap()
    }

    /// Sends bytes that may be no request, says that no more will come where that is so, and reads until the other side closes.
    pub(crate) async fn send_bytes(&self, bytes: &[u8], is_all: bool) -> Vec<u8> {
        let mut stream = self.connect().await;
        // The other side may have heard enough before the end.
        let _ = stream.write_all(bytes).await;
        if is_all {
            let _ = stream.shutdown().await;
        }
        let mut answer = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut answer)).await;
        assert!(read.is_ok(), "the connection is still open after {}", String::from_utf8_lossy(bytes));
        answer
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        let Address::Tcp(address) = self.address else { panic!("{}", self.address) };
        TcpStream::connect(address).await.unwrap()
    }

    /// Ends the daemon, and leaves the API.
    pub(crate) async fn end_daemon(&mut self) {
        self.end_daemon.cancel();
        (&mut self.running).await.unwrap();
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// It is this, and nothing else.
    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    /// A problem as RFC 9457 has it, with a detail that says this much.
    pub(crate) fn refused_with(self, status: u16, word: &str, detail: &str) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(self.header("content-type"), "application/problem+json");
        let problem = self.json();
        assert_eq!(problem["type"], format!("urn:bygone:problem:{word}"));
        assert_eq!(problem["status"], status);
        assert!(problem["title"].as_str().is_some_and(|title| !title.is_empty()), "{problem}");
        assert!(problem["detail"].as_str().is_some_and(|told| told.contains(detail)), "{problem}");
        let more = usize::from(problem["retry_after_ms"].is_u64());
        assert_eq!((problem.as_object().unwrap().len(), word == "held"), (4 + more, more == 1), "{problem}");
        self
    }

    /// The document knows that this may come back from there.
    fn is_documented(&self, method: &Method, path: &str) {
        static DOCUMENT: LazyLock<Value> = LazyLock::new(|| serde_json::to_value(http::document()).unwrap());
        let path = path.split('?').next().unwrap();
        let known = DOCUMENT["paths"].as_object().unwrap().iter().find(|(template, _)| matches(template, path));
        let Some((template, item)) = known else { return assert_eq!(self.status, 404, "{path} is not documented") };
        let operation = &item[method.as_str().to_lowercase()];
        if operation.is_null() {
            return assert_eq!(self.status, 405, "{method} {template} is not documented");
        }
        let said = &operation["responses"][self.status.as_str()];
        assert!(said.is_object(), "{method} {template} answered {}: {}", self.status, self.text);
        if self.text.is_empty() && said["content"].is_null() {
            return;
        }
        let media = self.header("content-type").split(';').next().unwrap().to_owned();
        let is_known = said["content"][&media].is_object() || said["content"]["*/*"].is_object();
        assert!(is_known, "{method} {template} {} sent {media}", self.status);
    }
}

fn matches(template: &str, path: &str) -> bool {
    let (template, path): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
    let same = |(template, part): (&&str, &&str)| template.starts_with('{') || template == part;
    template.len() == path.len() && template.iter().zip(&path).all(same)
}
