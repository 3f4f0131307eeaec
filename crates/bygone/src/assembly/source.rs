//! Sources, opened once for all policies over them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Clock, ClockReading, ErrorKind, TargetError};
use bygone_files::prefix::{Bucket, BucketUrl, Environment, PrefixError};
use bygone_sql::{SharedSource, Source, SourceOptions, SourceUrl};
use jiff::Timestamp;

use super::{Access, unsigned};
use crate::config::{Config, Place};

/// Longer than the making of any index takes.
const LONG: Duration = Duration::from_secs(24 * 3_600);

/// A source that answers.
pub(super) enum Opened {
    /// A database, on one connection.
    Database(SharedSource),
    /// A directory; nothing of it is open yet.
    Directory(PathBuf),
    /// A bucket.
    Bucket(Box<Bucket>),
}

/// An error that several policies share.
pub(super) struct Shared {
    kind: ErrorKind,
    message: String,
    help: Option<String>,
}

impl Shared {
    pub(super) fn to_error(&self) -> TargetError {
        let error = TargetError::new(self.kind, self.message.clone()).about("source");
        match &self.help {
            Some(help) => error.with_help(help.clone()),
            None => error,
        }
    }
}

impl From<TargetError> for Shared {
    fn from(error: TargetError) -> Self {
        Self { kind: error.kind(), message: error.full_message(), help: error.help().map(str::to_owned) }
    }
}

/// A connection for statements that may take as long as they need.
pub(crate) async fn open_for_long(config: &Config, name: &str) -> Result<SharedSource, TargetError> {
    let mut options = source_options(config, name, Access::Write)?;
    (options.statement_timeout, options.lock_timeout) = (Some(LONG), Some(LONG));
    Ok(Source::open(options).await?.shared())
}

pub(crate) fn source_options(config: &Config, name: &str, access: Access) -> Result<SourceOptions, TargetError> {
    let source = &config.sources[name];
    Ok(SourceOptions {
        name: name.to_owned(),
        url: SourceUrl::parse(source.url.expose())?,
        schema: source.schema.clone(),
        table_prefix: source.table_prefix.clone(),
        statement_timeout: source.statement_timeout.map(unsigned),
        lock_timeout: source.lock_timeout.map(unsigned),
        read_only: access == Access::Read,
    })
}

/// Opens a source and reads its clock, where it has one of its own.
pub(super) async fn open(
    config: &Config,
    name: &str,
    access: Access,
    clock: &Arc<dyn Clock>,
) -> Result<(Opened, Option<Timestamp>), TargetError> {
    let source = &config.sources[name];
    match source.place {
        Place::Database => {
            let mut source = Source::open(source_options(config, name, access)?).await?;
            let now = checked(config, source.read_clock(&**clock).await?)?;
            Ok((Opened::Database(source.shared()), Some(now)))
        }
        // A file system has this machine's clock.
        Place::Directory => Ok((Opened::Directory(directory(source.url.expose())?), None)),
        Place::Bucket => {
            let url = BucketUrl::parse(source.url.expose()).map_err(PrefixError::from)?;
            let bucket = Bucket::open(url, Environment::of_process(), Arc::clone(clock))?;
            let now = checked(config, bucket.read_clock().await?)?;
            Ok((Opened::Bucket(Box::new(bucket)), Some(now)))
        }
    }
}

fn checked(config: &Config, reading: ClockReading) -> Result<Timestamp, TargetError> {
    reading.checked(config.skew_max).map_err(|skewed| {
        TargetError::new(ErrorKind::Skewed, skewed.to_string())
            .with_help("set both clocks by NTP; `[clock] skew_max` raises the limit")
    })
}

/// The path of a `file:` URL, taken literally: `file:/path`, `file:///path` or `file:path`.
pub(crate) fn directory(url: &str) -> Result<PathBuf, TargetError> {
    let path = url.strip_prefix("file:").unwrap_or(url);
    match path.strip_prefix("//") {
        None => Ok(PathBuf::from(path)),
        Some(path) if path.starts_with('/') => Ok(PathBuf::from(path)),
        Some(_) => {
            Err(TargetError::new(ErrorKind::Unfit, "a `file:` URL names no host: the directory is on this machine")
                .with_help("write `file:/path/to/directory`, or `file:path` from where bygone is run")
                .about("source"))
        }
    }
}
