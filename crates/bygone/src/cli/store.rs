//! The flags that `lease`, `queue` and `txn` share.

use std::path::PathBuf;
use std::time::Duration;

use bygone_lease::{Key, Namespace, QueueName, TxnId, Wait};
use clap::Args;

use super::duration;

/// Which store, and how to tell of it.
#[derive(Debug, Args)]
pub(crate) struct StoreFlags {
    /// The store: file:DIR, s3://BUCKET/PREFIX, az://CONTAINER/PREFIX or gs://BUCKET/PREFIX; or a daemon's:
    /// http://HOST:PORT/lease/v1/SOURCE, https://… or unix:/SOCKET:/lease/v1/SOURCE, with its token in BYGONE_TOKEN.
    #[arg(long, global = true, value_name = "URL", env = "BYGONE_STORE")]
    pub(crate) store: Option<String>,
    /// The namespace: keys and queues of two namespaces never meet.
    #[arg(long, global = true, value_name = "NAME", default_value = "default", value_parser = namespace)]
    pub(crate) namespace: Namespace,
    /// The same as `--format json`.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What is to be written: state, or what a message says.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Content {
    /// A file that holds it; `-` is standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// The text itself.
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
}

/// A lease that was taken before.
#[derive(Debug, Args)]
pub(crate) struct LeaseFile {
    /// A file with the lease as `acquire` printed it; `-` is standard input. Default: what the variable BYGONE_LEASE holds.
    #[arg(long, value_name = "FILE")]
    pub(crate) lease: Option<PathBuf>,
}

pub(crate) fn namespace(text: &str) -> Result<Namespace, String> {
    Namespace::new(text).map_err(|error| error.to_string())
}

pub(crate) fn key(text: &str) -> Result<Key, String> {
    Key::new(text).map_err(|error| error.to_string())
}

pub(crate) fn queue_name(text: &str) -> Result<QueueName, String> {
    QueueName::new(text).map_err(|error| error.to_string())
}

pub(crate) fn txn(text: &str) -> Result<TxnId, String> {
    let id = text.trim().parse().map_err(|_| "it is not the id of a transaction, which `bygone txn begin` prints")?;
    Ok(TxnId(id))
}

/// A length of time as the libraries take it.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    Duration::try_from(duration(text)?).map_err(|_| "it is negative: write 0s or more".to_owned())
}

pub(crate) fn wait(text: &str) -> Result<Wait, String> {
    if text == "forever" { Ok(Wait::Forever) } else { time(text).map(Wait::For) }
}

/// `name=value`.
pub(crate) fn attribute(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}
