//! A bucket of a test's own, and a plain client for it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::{StreamExt, stream};
use http::Method;

use super::signed::{Signed, decode, encode};
use crate::error::{KitError, must};
use crate::process::Process;

/// Requests under way at once while a bucket is filled.
const AT_ONCE: usize = 16;

static COUNTER: AtomicU64 = AtomicU64::new(0);

/// A bucket, or a container, that nobody else uses. It is thrown away together with its server.
#[derive(Debug, Clone)]
pub struct TestBucket {
    signed: Signed,
    name: String,
    account: String,
    secret: String,
}

impl TestBucket {
    pub(super) async fn create(signed: Signed, account: &str, secret: &str) -> Result<Self, KitError> {
        let Process { pid, started } = Process::current();
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = format!("test-{pid}-{started}-{count}");
        let bucket = Self { signed, name, account: account.to_owned(), secret: secret.to_owned() };
        let query = if bucket.signed.is_azure() { "?restype=container" } else { "" };
        let made = bucket.signed.must_send(Method::PUT, &format!("{}{query}", bucket.root()), "").await;
        made.map_err(|why| KitError::Store { action: "make a bucket", why })?;
        Ok(bucket)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The port that its server listens on.
    ///
    /// # Panics
    /// If the kit has lost its way.
    pub fn port(&self) -> u16 {
        let port = self.signed.endpoint().rsplit(':').next().and_then(|port| port.parse().ok());
        port.unwrap_or_else(|| panic!("no port in {}", self.signed.endpoint()))
    }

    /// The URL by which bygone opens it.
    pub fn url(&self) -> String {
        self.url_by(self.port())
    }

    /// The same through another loopback port, such as that of a proxy.
    pub fn url_by(&self, port: u16) -> String {
        let name = &self.name;
        if self.signed.is_azure() {
            format!("az://{name}?endpoint=http://127.0.0.1:{port}/{}", self.account)
        } else {
            format!("s3://{name}?endpoint=http://127.0.0.1:{port}")
        }
    }

    /// The variables that let somebody in.
    pub fn credentials(&self) -> Vec<(&'static str, String)> {
        let (account, secret) = (self.account.clone(), self.secret.clone());
        if self.signed.is_azure() {
            vec![("AZURE_STORAGE_ACCOUNT", account), ("AZURE_STORAGE_KEY", secret)]
        } else {
            vec![("AWS_ACCESS_KEY_ID", account), ("AWS_SECRET_ACCESS_KEY", secret)]
        }
    }

    fn root(&self) -> String {
        if self.signed.is_azure() { format!("/{}/{}", self.account, self.name) } else { format!("/{}", self.name) }
    }

    fn path(&self, key: &str) -> String {
        format!("{}/{}", self.root(), encode(key, "/"))
    }

    /// Writes an object.
    ///
    /// # Panics
    /// If the store refuses.
    pub async fn put(&self, key: &str, body: &str) {
        must(self.try_put(key, body).await);
    }

    /// Writes an object, if the store takes one of that key.
    pub async fn try_put(&self, key: &str, body: &str) -> Result<(), KitError> {
        let put = self.signed.must_send(Method::PUT, &self.path(key), body).await;
        put.map(drop).map_err(|why| KitError::Store { action: "put an object", why })
    }

    /// Writes many objects, each with its key for contents.
    ///
    /// # Panics
    /// If the store refuses one.
    pub async fn put_all(&self, keys: impl IntoIterator<Item = String>) {
        let puts = stream::iter(keys).map(|key| async move { self.put(&key, &key).await });
        puts.buffer_unordered(AT_ONCE).collect::<()>().await;
    }

    /// Removes an object.
    ///
    /// # Panics
    /// If the store refuses.
    pub async fn delete(&self, key: &str) {
        let deleted = self.signed.must_send(Method::DELETE, &self.path(key), "").await;
        must(deleted.map_err(|why| KitError::Store { action: "delete an object", why }));
    }

    /// What an object holds.
    ///
    /// # Panics
    /// If there is none.
    pub async fn get(&self, key: &str) -> String {
        let got = self.signed.must_send(Method::GET, &self.path(key), "").await;
        must(got.map_err(|why| KitError::Store { action: "get an object", why })).body
    }

    /// Keeps a version of everything from now on. Only on S3.
    ///
    /// # Panics
    /// If the store refuses.
    pub async fn keep_versions(&self) {
        let body = "<VersioningConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
                    <Status>Enabled</Status></VersioningConfiguration>";
        let set = self.signed.must_send(Method::PUT, &format!("{}?versioning=", self.root()), body).await;
        must(set.map_err(|why| KitError::Store { action: "keep versions", why }));
    }

    /// Every key with its size, in order, by a listing of the kit's own.
    ///
    /// # Panics
    /// If the store refuses.
    pub async fn objects(&self) -> BTreeMap<String, u64> {
        let mut objects = BTreeMap::new();
        let mut token = String::new();
        loop {
            let (query, key, next) = if self.signed.is_azure() {
                let after = if token.is_empty() { String::new() } else { format!("&marker={token}") };
                (format!("?comp=list{after}&restype=container"), "Name", "NextMarker")
            } else {
                let after = if token.is_empty() { String::new() } else { format!("continuation-token={token}&") };
                (format!("?{after}encoding-type=url&list-type=2"), "Key", "NextContinuationToken")
            };
            let listed = self.signed.must_send(Method::GET, &format!("{}{query}", self.root()), "").await;
            let body = must(listed.map_err(|why| KitError::Store { action: "list a bucket", why })).body;
            let (item, size) = if self.signed.is_azure() { ("Blob", "Content-Length") } else { ("Contents", "Size") };
            for item in elements(&body, item) {
                let key = elements(item, key).next().unwrap_or_default();
                let key = if self.signed.is_azure() { unescape(key) } else { decode(&unescape(key)) };
                let size = elements(item, size).next().and_then(|size| size.parse().ok()).unwrap_or_default();
                objects.insert(key, size);
            }
            match elements(&body, next).next() {
                Some(next) if !next.is_empty() => token = encode(&unescape(next), ""),
                _ => return objects,
            }
        }
    }

    /// Every key, in order.
    pub async fn keys(&self) -> Vec<String> {
        self.objects().await.into_keys().collect()
    }
}

fn elements<'a>(xml: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    xml.split(&open).skip(1).filter_map(|rest| rest.split(&close).next()).collect::<Vec<_>>().into_iter()
}

fn unescape(text: &str) -> String {
    [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#34;", "\""),
        ("&apos;", "'"),
        ("&#39;", "'"),
        ("&#xA;", "\n"),
        ("&#10;", "\n"),
        ("&amp;", "&"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}
