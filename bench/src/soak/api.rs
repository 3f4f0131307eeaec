//! How the daemon is asked: each time over a connection of its own, as a scraper or a browser that comes back does.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use crate::failure::Failure;
use crate::serve::connection::Connection;

/// How long an answer may take: the daemon gives a request no longer.
const LIMIT: Duration = Duration::from_secs(30);

async fn connect(port: u16) -> Result<Connection, Failure> {
    Connection::to(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await
}

/// The body of a good answer.
pub(super) async fn get(port: u16, path: &str) -> Result<Vec<u8>, Failure> {
    let asked = async { connect(port).await?.get(path).await };
    timeout(LIMIT, asked).await.unwrap_or_else(|_| Err(format!("{path}: no answer within {LIMIT:?}").into()))
}

/// Whether it gives a good answer soon.
pub(super) async fn probe(port: u16, path: &str) -> Result<(), Failure> {
    let asked = async { connect(port).await?.get(path).await };
    timeout(Duration::from_secs(2), asked).await??;
    Ok(())
}

/// The same as JSON.
pub(super) async fn document(port: u16, path: &str) -> Result<Value, Failure> {
    Ok(serde_json::from_slice(&get(port, path).await?)?)
}

/// Sends JSON, and gives back what is answered.
pub(super) async fn post(port: u16, path: &str, json: &Value) -> Result<Value, Failure> {
    let text = json.to_string();
    let asked = async { connect(port).await?.post(path, &text).await };
    let answer = timeout(LIMIT, asked).await;
    let body = answer.unwrap_or_else(|_| Err(format!("{path}: no answer within {LIMIT:?}").into()))?;
    Ok(serde_json::from_slice(&body)?)
}
