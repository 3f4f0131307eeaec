//! Stores by their URL: what programs and people name one by.
//!
//! | URL | what it is |
//! |---|---|
//! | `file:/path`, `file:///path`, `file:path` | [`Disk`], in that directory |
//! | `s3://BUCKET/PREFIX`, `az://CONTAINER/PREFIX`, `gs://BUCKET/PREFIX` | [`Objects`], below that prefix |
//!
//! A URL never holds a secret: buckets are entered by what the [`Environment`] says.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bygone_core::{Clock, ClockReading, SystemClock};
use bygone_objects::{Access, BucketError, BucketUrl, Environment};
use bytes::Bytes;

use crate::Error;
use crate::chance::{Chance, SystemChance};
use crate::options::Options;
use crate::storage::{
    Capabilities, Careful, Disk, Expected, Listing, Objects, PROOF, Storage, StorageError, Stored, Version,
};
use crate::store::LeaseStore;

/// How long one request may take, sent once: long enough for the largest value over a slow wire.
const REQUEST_TIME: Duration = Duration::from_secs(30);

/// Where a lease store is.
#[derive(Clone, Debug)]
pub struct StoreUrl(Place);

#[derive(Clone, Debug)]
enum Place {
    Directory(PathBuf),
    Bucket(Box<Access>),
}

/// What is wrong with the URL of a store. No message repeats what could be a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreUrlError {
    /// It does not begin with a scheme.
    #[error(
        "`{url}` is not a URL: write file:/DIRECTORY, s3://BUCKET/PREFIX, az://CONTAINER/PREFIX or gs://BUCKET/PREFIX"
    )]
    FindScheme {
        /// What was given.
        url: String,
    },
    /// It has the scheme of something else.
    #[error("`{scheme}:` is not the scheme of a lease store: write file:/DIRECTORY, s3://…, az://… or gs://…")]
    KnowScheme {
        /// The scheme.
        scheme: String,
    },
    /// A `file:` URL of another machine.
    #[error("a `file:` URL names no host, since the directory is on this machine: write file:/DIRECTORY")]
    LeaveHostOut,
    /// A `file:` URL without a path.
    #[error("`file:` names no directory: write file:/DIRECTORY")]
    FindDirectory,
    /// The URL of a bucket, with something wrong in it or missing beside it.
    #[error(transparent)]
    ReadBucket(#[from] BucketError),
}

/// Opens the store of a URL, and makes it where there is none, with the defaults and by this process's environment.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let url = format!("file:{}", directory.path().display());
/// let store = bygone_lease::open(&url).await?;
/// # drop(store);
/// # Ok(())
/// # }
/// ```
pub async fn open(url: &str) -> Result<LeaseStore, OpenError> {
    Ok(StoreUrl::parse(url, Environment::of_process())?.open(Options::default()).await?)
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL is wrong.
    #[error(transparent)]
    Url(#[from] StoreUrlError),
    /// The store is.
    #[error(transparent)]
    Store(#[from] Error),
}

impl StoreUrl {
    /// Reads a URL. Nobody is contacted.
    pub fn parse(url: &str, environment: Environment) -> Result<Self, StoreUrlError> {
        let Some((scheme, rest)) = url.split_once(':') else {
            return Err(StoreUrlError::FindScheme { url: url.to_owned() });
        };
        Ok(Self(match scheme {
            "file" => Place::Directory(directory(rest)?),
            "s3" | "az" | "gs" => Place::Bucket(Box::new(Access::new(BucketUrl::parse(url)?, environment)?)),
            _ => return Err(StoreUrlError::KnowScheme { scheme: scheme.to_owned() }),
        }))
    }

    /// Whether a store was made there. Nothing is written.
    pub async fn exists(&self) -> Result<bool, Error> {
        match &self.0 {
            Place::Directory(directory) => Ok(Disk::is_in(directory)),
            Place::Bucket(access) => {
                let (clock, patience) = (Arc::new(SystemClock::new()), Options::default().patience);
                let bucket = Objects::open((**access).clone(), Arc::clone(&clock) as _, REQUEST_TIME)?;
                // A bucket is tried before it is used, and remembers that.
                Ok(Careful::new(bucket, clock, Arc::new(SystemChance), patience).get(PROOF).await?.is_some())
            }
        }
    }

    /// Opens the store, and makes it where there is none.
    pub async fn open(&self, options: Options) -> Result<LeaseStore, Error> {
        self.open_by(options, Arc::new(SystemClock::new()), Arc::new(SystemChance)).await
    }

    /// The same by another clock and another source of chance.
    pub async fn open_by(
        &self,
        options: Options,
        clock: Arc<dyn Clock>,
        chance: Arc<dyn Chance>,
    ) -> Result<LeaseStore, Error> {
        match &self.0 {
            Place::Directory(directory) => LeaseStore::open_by(Disk::open(directory)?, options, clock, chance).await,
            Place::Bucket(access) => {
                let bucket = Objects::open((**access).clone(), Arc::clone(&clock), REQUEST_TIME)?;
                LeaseStore::open_by(bucket, options, clock, chance).await
            }
        }
    }

    /// Opens a store that is there, only to look: whatever would write is refused before it comes to the store.
    pub async fn inspect_by(
        &self,
        options: Options,
        clock: Arc<dyn Clock>,
        chance: Arc<dyn Chance>,
    ) -> Result<LeaseStore, Error> {
        if !self.exists().await? {
            let reason = format!("there is no lease store at {self}");
            return Err(StorageError::Refused { reason }.into());
        }
        match &self.0 {
            Place::Directory(directory) => {
                LeaseStore::open_by(LookOnly(Disk::open(directory)?), options, clock, chance).await
            }
            Place::Bucket(access) => {
                let bucket = Objects::open((**access).clone(), Arc::clone(&clock), REQUEST_TIME)?;
                LeaseStore::open_by(LookOnly(bucket), options, clock, chance).await
            }
        }
    }

    /// The directory, if it is one.
    pub fn directory(&self) -> Option<&std::path::Path> {
        match &self.0 {
            Place::Directory(directory) => Some(directory),
            Place::Bucket(_) => None,
        }
    }
}

/// The path of a `file:` URL, taken literally.
fn directory(rest: &str) -> Result<PathBuf, StoreUrlError> {
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(path) if path.starts_with('/') => path,
        Some(_) => return Err(StoreUrlError::LeaveHostOut),
    };
    if path.trim_start_matches('/').is_empty() {
        return Err(StoreUrlError::FindDirectory);
    }
    Ok(PathBuf::from(path))
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::Directory(directory) => write!(f, "file:{}", directory.display()),
            Place::Bucket(access) => access.url().fmt(f),
        }
    }
}

/// A store that nothing can be written to, by mistake or otherwise.
#[derive(Debug)]
struct LookOnly<S>(S);

fn refused() -> StorageError {
    StorageError::Refused { reason: "it was opened only to be looked at, and nothing may be written".to_owned() }
}

#[async_trait]
impl<S: Storage> Storage for LookOnly<S> {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn get(&self, key: &str) -> Result<Option<Stored>, StorageError> {
        self.0.get(key).await
    }

    async fn put(&self, _: &str, _: Bytes, _: Expected<'_>) -> Result<Version, StorageError> {
        Err(refused())
    }

    async fn delete(&self, _: &str, _: &Version) -> Result<(), StorageError> {
        Err(refused())
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Listing, StorageError> {
        self.0.list(prefix, after, limit).await
    }

    async fn read_clock(&self) -> Result<Option<ClockReading>, StorageError> {
        self.0.read_clock().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Acquire, Key, Namespace};

    fn parse(url: &str) -> Result<StoreUrl, StoreUrlError> {
        StoreUrl::parse(url, Environment::of([("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")]))
    }

    #[test]
    fn a_directory_is_named_in_three_ways() {
        for (url, path) in
            [("file:/var/x", "/var/x"), ("file:///var/x", "/var/x"), ("file:x/y", "x/y"), ("file:/a b", "/a b")]
        {
            assert_eq!(parse(url).unwrap().directory(), Some(std::path::Path::new(path)), "{url}");
        }
        assert_eq!(parse("file:///var/x").unwrap().to_string(), "file:/var/x");
    }

    #[test]
    fn a_bucket_is_named_by_its_url() {
        let bucket = parse("s3://b/leases?region=eu-west-1").unwrap();
        assert_eq!((bucket.to_string().as_str(), bucket.directory()), ("s3://b/leases/", None));
    }

    #[test]
    fn what_is_not_understood_is_refused_with_the_remedy() {
        let refused = |url: &str| parse(url).unwrap_err().to_string();
        insta::assert_snapshot!(refused("/var/lib/x"), @"`/var/lib/x` is not a URL: write file:/DIRECTORY, s3://BUCKET/PREFIX, az://CONTAINER/PREFIX or gs://BUCKET/PREFIX");
        insta::assert_snapshot!(refused("file:"), @"`file:` names no directory: write file:/DIRECTORY");
        insta::assert_snapshot!(refused("file:///"), @"`file:` names no directory: write file:/DIRECTORY");
        insta::assert_snapshot!(refused("file://host/x"), @"a `file:` URL names no host, since the directory is on this machine: write file:/DIRECTORY");
        insta::assert_snapshot!(refused("s3:/b"), @"`s3:/b` is not the URL of a bucket: write s3://BUCKET/PREFIX, az://CONTAINER/PREFIX or gs://BUCKET/PREFIX");
        let secret = refused("postgres://ada:hunter2@host/db");
        assert!(secret.contains("`postgres:` is not the scheme of a lease store") && !secret.contains("hunter2"));
    }

    #[tokio::test]
    async fn a_store_is_made_by_opening_and_not_by_looking() {
        let directory = tempfile::tempdir().unwrap();
        let url = parse(&format!("file:{}/store", directory.path().display())).unwrap();
        assert!(!url.exists().await.unwrap());
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "a question makes nothing");
        let clock = Arc::new(SystemClock::new());
        let absent = url.inspect_by(Options::default(), clock, Arc::new(SystemChance)).await.unwrap_err();
        assert!(absent.to_string().contains("there is no lease store at file:/"), "{absent}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nor does a look");
        url.open(Options::default()).await.unwrap();
        assert!(url.exists().await.unwrap());
    }

    #[tokio::test]
    async fn whoever_only_looks_cannot_write() {
        let directory = tempfile::tempdir().unwrap();
        let url = parse(&format!("file:{}", directory.path().display())).unwrap();
        let (namespace, key) = (Namespace::new("n").unwrap(), Key::new("k").unwrap());
        let ask = Acquire::new(namespace.clone(), key.clone(), "a");
        let store = url.open(Options::default()).await.unwrap();
        let lease = store.acquire(&ask).await.unwrap();
        let clock = Arc::new(SystemClock::new());
        let looking = url.inspect_by(Options::default(), clock, Arc::new(SystemChance)).await.unwrap();
        assert_eq!(looking.describe(&namespace, &key).await.unwrap().unwrap().owner.as_deref(), Some("a"));
        let refused = looking.release(&lease).await.unwrap_err();
        assert!(refused.to_string().contains("nothing may be written"), "{refused}");
        assert!(store.describe(&namespace, &key).await.unwrap().unwrap().owner.is_some());
    }
}
