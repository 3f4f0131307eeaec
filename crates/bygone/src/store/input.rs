//! What commands are given: leases and deliveries that others printed, state, payloads.

use std::io::Read as _;
use std::path::Path;

use bygone_lease::{Delivery, Lease};
use bygone_server::leases::{DeliveryDocument, LeaseDocument};
use serde::de::DeserializeOwned;
use tokio::io::AsyncRead;

use crate::cli::queue::DeliveryFile;
use crate::cli::store::{Content, LeaseFile};
use crate::problem::Problem;

/// What stands for standard input, or output.
pub(crate) const STDIN: &str = "-";

/// The lease that a command is about.
pub(crate) fn lease(file: &LeaseFile, content: Option<&Content>) -> Result<Lease, Problem> {
    let is_stdin = |path: &Path| path == Path::new(STDIN);
    let content_is_stdin = content.and_then(|content| content.file.as_deref()).is_some_and(is_stdin);
    if content_is_stdin && file.lease.as_deref().is_some_and(is_stdin) {
        return Err(Problem::usage(
            "standard input cannot be both the lease and what is to be written",
            "put one of them into a file, or the lease into BYGONE_LEASE",
        ));
    }
    let help = "give it as `bygone lease acquire` printed it: `--lease FILE`, `--lease -`, or in BYGONE_LEASE";
    let (text, place) = given(file.lease.as_deref(), "BYGONE_LEASE", "which lease?", help)?;
    let mut found: Vec<LeaseDocument> = parsed(&text, &place, "a lease", help)?;
    match (found.pop(), found.len()) {
        (Some(document), 0) => Ok(document.into()),
        _ => Err(Problem::usage(format!("{place} holds no lease, or several"), help)),
    }
}

/// The deliveries that a command is about: at least one.
pub(crate) fn deliveries(file: &DeliveryFile) -> Result<Vec<Delivery>, Problem> {
    let help = "give it as `bygone queue receive` printed it: `--delivery FILE`, `--delivery -`, or in BYGONE_DELIVERY";
    let (text, place) = given(file.delivery.as_deref(), "BYGONE_DELIVERY", "which delivery?", help)?;
    let found: Vec<DeliveryDocument> = parsed(&text, &place, "a delivery", help)?;
    if found.is_empty() {
        return Err(Problem::usage(format!("{place} holds no delivery"), help));
    }
    let delivery = |document: DeliveryDocument| {
        Delivery::try_from(document)
            .map_err(|error| Problem::usage(format!("{place} holds no delivery: {error}"), help))
    };
    found.into_iter().map(delivery).collect()
}

/// The state or payload that a command is given.
pub(crate) fn content(content: &Content) -> Result<Vec<u8>, Problem> {
    match (&content.text, &content.file) {
        (Some(text), _) => Ok(text.clone().into_bytes()),
        (None, Some(file)) => read(file),
        (None, None) => Err(Problem::usage("there is nothing to write", "name a file, or `-`, or write `--text TEXT`")),
    }
}

/// The same for what may be of any size: it is read as it is written.
pub(crate) async fn stream(content: &Content) -> Result<Box<dyn AsyncRead + Unpin + Send>, Problem> {
    let file = match (&content.text, &content.file) {
        (None, Some(file)) if file == Path::new(STDIN) => return Ok(Box::new(tokio::io::stdin())),
        (None, Some(file)) => file,
        _ => return Ok(Box::new(std::io::Cursor::new(self::content(content)?))),
    };
    let opened = async {
        let opened = tokio::fs::File::open(file).await?;
        let is_directory = opened.metadata().await?.is_dir();
        if is_directory { Err(std::io::ErrorKind::IsADirectory.into()) } else { Ok(opened) }
    };
    Ok(Box::new(opened.await.map_err(|error| unreadable(file, &error))?))
}

/// A text and where it comes from: a file, or a variable.
fn given(file: Option<&Path>, variable: &str, question: &str, help: &str) -> Result<(String, String), Problem> {
    let Some(file) = file else {
        return match std::env::var(variable) {
            Ok(text) if !text.trim().is_empty() => Ok((text, variable.to_owned())),
            _ => Err(Problem::usage(question, help)),
        };
    };
    let place = if file == Path::new(STDIN) { "standard input".to_owned() } else { file.display().to_string() };
    match String::from_utf8(read(file)?) {
        Ok(text) => Ok((text, place)),
        Err(_) => Err(Problem::usage(format!("{place} is not text"), help)),
    }
}

fn read(file: &Path) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    let read = if file == Path::new(STDIN) {
        std::io::stdin().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::read(file).map(|found| bytes = found)
    };
    match read {
        Ok(()) => Ok(bytes),
        Err(error) => Err(unreadable(file, &error)),
    }
}

fn unreadable(file: &Path, error: &std::io::Error) -> Problem {
    Problem::usage(
        format!("cannot read {}: {error}", file.display()),
        "name a file that can be read, or `-` for standard input",
    )
}

/// JSON documents one after another, or one list of them: both are printed.
fn parsed<T: DeserializeOwned>(text: &str, place: &str, what: &str, help: &str) -> Result<Vec<T>, Problem> {
    let wrong = |error: serde_json::Error| Problem::usage(format!("{place} does not hold {what}: {error}"), help);
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text).map_err(wrong);
    }
    serde_json::Deserializer::from_str(text).into_iter().collect::<Result<_, _>>().map_err(wrong)
}
