//! Somebody who asks over a connection of his own, and waits for the whole answer before he asks again.

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::failure::Failure;

/// A connection that is kept.
pub(crate) struct Connection(BufReader<TcpStream>);

impl Connection {
    pub(crate) async fn to(address: std::net::SocketAddr) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address).await?;
        // What is asked goes out at once, as clients do it.
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    /// The body of an answer, which must be a good one.
    pub(crate) async fn get(&mut self, path: &str) -> Result<Vec<u8>, Failure> {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")).await
    }

    /// The same, with JSON sent.
    pub(crate) async fn post(&mut self, path: &str, json: &str) -> Result<Vec<u8>, Failure> {
        let length = json.len();
        let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n");
        self.ask(&format!("{head}Content-Length: {length}\r\n\r\n{json}")).await
    }

    async fn ask(&mut self, request: &str) -> Result<Vec<u8>, Failure> {
        let Self(stream) = self;
        stream.get_mut().write_all(request.as_bytes()).await?;
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let from = head.len();
            if stream.read_line(&mut head).await? == 0 {
                return Err(format!("the connection was closed after {head:?}").into());
            }
            if let Some(value) = head[from..].to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        if !head.starts_with("HTTP/1.1 200") || body.is_empty() {
            return Err(format!("{request}: {head}{}", String::from_utf8_lossy(&body)).into());
        }
        Ok(body)
    }
}
