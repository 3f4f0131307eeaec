//! Faults between a client and a server that is well.
//!
//! A proxy on the loopback hands HTTP requests on and answers back. For each of them the test says what goes wrong: nothing,
//! a refusal, a cut before the server sees it, or, worst of all, a cut after the server has done it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::access::HOST;
use crate::error::{KitError, must};

/// The longest head of a request that is read.
const HEAD_BYTES_MAX: usize = 65_536;

/// A request on its way.
#[derive(Debug, Clone)]
pub struct Seen {
    /// How many came before it.
    pub number: u64,
    /// Its method.
    pub method: String,
    /// Its path and query.
    pub target: String,
    /// Its first line and headers.
    pub head: String,
    /// Its body.
    pub body: String,
}

impl Seen {
    /// Whether it asks for something to be deleted, alone or in bulk.
    pub fn deletes(&self) -> bool {
        self.method == "DELETE" || (self.method == "POST" && self.target.contains("?delete"))
    }

    /// Whether it asks for a listing.
    pub fn lists(&self) -> bool {
        self.method == "GET" && (self.target.contains("list-type=2") || self.target.contains("comp=list"))
    }
}

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Nothing goes wrong.
    None,
    /// The server does not see it; the client gets this status.
    Status(u16),
    /// The server does not see it; the client gets this answer and thinks that all is well.
    Answer(String),
    /// The server does not see it; the connection is cut.
    Cut,
    /// The server does it; the connection is cut instead of an answer.
    LostReply,
    /// The server does it; the answer is cut in its middle.
    TornReply,
    /// The server does it; the client hears nothing at all, and the connection stays open.
    Silence,
    /// The answer has this header instead of its own.
    Header(&'static str, String),
}

/// Decides what becomes of each request.
type Plan = dyn Fn(&Seen) -> Fault + Send + Sync;

/// A proxy that stops with its value.
#[derive(Debug)]
pub struct FaultProxy {
    port: u16,
    accepting: JoinHandle<()>,
}

impl FaultProxy {
    /// Starts a proxy for the server on a loopback port.
    ///
    /// # Panics
    /// If there is no free port.
    pub async fn before(server: u16, plan: impl Fn(&Seen) -> Fault + Send + Sync + 'static) -> Self {
        let listener = must(TcpListener::bind((HOST, 0)).await.map_err(KitError::Port));
        let port = must(listener.local_addr().map_err(KitError::Port)).port();
        let (plan, numbers): (Arc<Plan>, _) = (Arc::new(plan), Arc::new(AtomicU64::new(0)));
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (plan, numbers) = (Arc::clone(&plan), Arc::clone(&numbers));
                // A connection that breaks is what this is for.
                tokio::spawn(async move { serve(client, server, &*plan, &numbers).await.ok() });
            }
        });
        Self { port, accepting }
    }

    /// The loopback port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// One request per connection: the answer is whole when the server closes its own.
async fn serve(mut client: TcpStream, server: u16, plan: &Plan, numbers: &AtomicU64) -> io::Result<()> {
    let Some((head, body)) = read_request(&mut client).await? else { return Ok(()) };
    let mut first = head.lines().next().unwrap_or_default().split(' ');
    let seen = Seen {
        number: numbers.fetch_add(1, Ordering::SeqCst),
        method: first.next().unwrap_or_default().to_owned(),
        target: first.next().unwrap_or_default().to_owned(),
        head: head.clone(),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    let fault = plan(&seen);
    match &fault {
        Fault::Cut => return Ok(()),
        Fault::Status(status) => {
            let answer = format!("HTTP/1.1 {status} Fault\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            return client.write_all(answer.as_bytes()).await;
        }
        Fault::Answer(body) => {
            let length = body.len();
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
            return client.write_all(answer.as_bytes()).await;
        }
        _ => {}
    }
    let answer = forward(server, &head, &body).await?;
    match &fault {
        Fault::LostReply => Ok(()),
        Fault::TornReply => client.write_all(&answer[..answer.len() / 2]).await,
        Fault::Silence => client.read_to_end(&mut Vec::new()).await.map(drop),
        Fault::Header(name, value) => client.write_all(&with_header(&answer, name, value)).await,
        _ => client.write_all(&answer).await,
    }
}

/// The head of a request and its body; `None` if the client went away.
async fn read_request(client: &mut TcpStream) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if bytes.len() > HEAD_BYTES_MAX || client.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length = header(&head, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0_usize);
    while bytes.len() < end + length {
        if client.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some((head, bytes[end..end + length].to_vec())))
}

async fn forward(server: u16, head: &str, body: &[u8]) -> io::Result<Vec<u8>> {
    let mut upstream = TcpStream::connect((HOST, server)).await?;
    let own = |line: &&str| !line.to_lowercase().starts_with("connection:");
    let head = head.trim_end().split("\r\n").filter(own).collect::<Vec<_>>().join("\r\n");
    upstream.write_all(format!("{head}\r\nconnection: close\r\n\r\n").as_bytes()).await?;
    upstream.write_all(body).await?;
    let mut answer = Vec::new();
    upstream.read_to_end(&mut answer).await?;
    Ok(answer)
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(own, _)| own.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim())
}

fn with_header(answer: &[u8], name: &str, value: &str) -> Vec<u8> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(answer.len());
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let others =
        head.split("\r\n").filter(|line| !line.split_once(':').is_some_and(|(own, _)| own.eq_ignore_ascii_case(name)));
    let mut changed = others.collect::<Vec<_>>().join("\r\n").into_bytes();
    changed.extend(format!("\r\n{name}: {value}").bytes());
    changed.extend(&answer[end..]);
    changed
}
