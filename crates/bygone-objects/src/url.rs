//! The URL of a bucket: where it is and how to speak to it, and never how to be let in.

use std::fmt;

use crate::BucketError;

/// The kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Amazon S3 and what speaks its language.
    S3,
    /// Azure Blob Storage.
    Azure,
    /// Google Cloud Storage.
    Google,
}

impl Scheme {
    /// As URLs write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Azure => "az",
            Self::Google => "gs",
        }
    }

    /// Where its credentials are looked for.
    pub fn variables(self) -> &'static str {
        match self {
            Self::S3 => "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            Self::Azure => "AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY, or AZURE_STORAGE_CONNECTION_STRING",
            Self::Google => "GOOGLE_APPLICATION_CREDENTIALS",
        }
    }

    fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::S3 => &["region", "endpoint", "style", "anonymous"],
            Self::Azure => &["account", "endpoint", "anonymous"],
            Self::Google => &["endpoint", "anonymous"],
        }
    }
}

/// A bucket, and the prefix of it that is meant.
///
/// `s3://BUCKET/PREFIX?region=…&endpoint=…&style=path|virtual&anonymous=true`,
/// `az://CONTAINER/PREFIX?account=…&endpoint=…`, `gs://BUCKET/PREFIX?endpoint=…`. The prefix is taken as it is written,
/// without percent-decoding, and is always a folder: without a slash at its end it gets one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketUrl {
    pub(crate) scheme: Scheme,
    pub(crate) bucket: String,
    /// Empty, or with a slash at its end.
    pub(crate) prefix: String,
    pub(crate) region: Option<String>,
    pub(crate) endpoint: Option<String>,
    pub(crate) account: Option<String>,
    pub(crate) virtual_host: Option<bool>,
    pub(crate) anonymous: bool,
}

impl BucketUrl {
    /// Reads a URL. Nothing is contacted.
    pub fn parse(url: &str) -> Result<Self, BucketError> {
        let (place, parameters) = url.split_once('?').unwrap_or((url, ""));
        let unreadable = || BucketError::ReadUrl { url: place.to_owned() };
        let (scheme, rest) = place.split_once("://").ok_or_else(unreadable)?;
        let scheme = match scheme {
            "s3" => Scheme::S3,
            "az" => Scheme::Azure,
            "gs" => Scheme::Google,
            _ => return Err(unreadable()),
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.contains(['@', ':']) {
            return Err(BucketError::KeepSecret { variables: scheme.variables() });
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '$');
        if bucket.is_empty() || !bucket.chars().all(plain) {
            return Err(unreadable());
        }
        let mut read = Self {
            scheme,
            bucket: bucket.to_owned(),
            prefix: folder(prefix)?,
            region: None,
            endpoint: None,
            account: None,
            virtual_host: None,
            anonymous: false,
        };
        for (parameter, value) in url::form_urlencoded::parse(parameters.as_bytes()) {
            read.set(&parameter, &value)?;
        }
        Ok(read)
    }

    fn set(&mut self, parameter: &str, value: &str) -> Result<(), BucketError> {
        if !self.scheme.parameters().contains(&parameter) {
            return Err(BucketError::ReadParameter {
                parameter: parameter.to_owned(),
                scheme: self.scheme.as_str(),
                known: self.scheme.parameters().join(", "),
            });
        }
        let wrong = |parameter, remedy| BucketError::ReadValue { parameter, value: value.to_owned(), remedy };
        match parameter {
            "region" => self.region = Some(value.to_owned()),
            "account" => self.account = Some(value.to_owned()),
            "endpoint" => self.endpoint = Some(endpoint(value)?),
            "style" => {
                self.virtual_host = Some(match value {
                    "path" => false,
                    "virtual" => true,
                    _ => return Err(wrong("style", "it is `path` or `virtual`")),
                });
            }
            _ => {
                self.anonymous = match value {
                    "true" => true,
                    "false" => false,
                    _ => return Err(wrong("anonymous", "it is `true` or `false`")),
                };
            }
        }
        Ok(())
    }

    /// Which kind of store it is.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The prefix: empty, or with a slash at its end.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }
}

/// An endpoint is shown in messages, so it must not hold a secret.
fn endpoint(value: &str) -> Result<String, BucketError> {
    let wrong = |remedy| BucketError::ReadValue { parameter: "endpoint", value: "…".to_owned(), remedy };
    let read = url::Url::parse(value).map_err(|_| wrong("it is a URL such as https://s3.example.org"))?;
    if !read.username().is_empty() || read.password().is_some() || read.query().is_some() {
        return Err(wrong("credentials belong into the environment, not into an endpoint"));
    }
    if !matches!(read.scheme(), "http" | "https") {
        return Err(wrong("it begins with https:// or http://"));
    }
    Ok(value.trim_end_matches('/').to_owned())
}

/// A prefix as a folder: empty, or with a slash at its end. Refused where the client could not name it exactly.
pub fn folder(prefix: &str) -> Result<String, BucketError> {
    if prefix.is_empty() {
        return Ok(String::new());
    }
    let bare = prefix.strip_suffix('/').unwrap_or(prefix);
    if !is_nameable(bare) {
        return Err(BucketError::NamePrefix { prefix: prefix.to_owned() });
    }
    Ok(format!("{bare}/"))
}

/// Whether the client, and what lies between it and the store, leave a key as it is. They trim blanks, drop doubled and
/// leading slashes, resolve dots, and XML has no way to write most control characters.
pub fn is_nameable(key: &str) -> bool {
    key == key.trim()
        && key.split('/').all(|segment| !matches!(segment, "" | "." | ".."))
        && !key.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t'))
}

impl fmt::Display for BucketUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}/{}", self.scheme.as_str(), self.bucket, self.prefix)?;
        if let Some(endpoint) = &self.endpoint {
            write!(f, " at {endpoint}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_folder() {
        let prefix = |url: &str| BucketUrl::parse(url).unwrap().prefix;
        assert_eq!(prefix("s3://b"), "");
        assert_eq!(prefix("s3://b/"), "");
        assert_eq!(prefix("s3://b/logs"), "logs/");
        assert_eq!(prefix("az://c/logs/web/"), "logs/web/");
        assert_eq!(prefix("gs://b/a%20b"), "a%20b/");
    }

    #[test]
    fn the_parameters_are_those_of_the_scheme() {
        let url = "s3://b/p?region=eu-west-1&endpoint=http%3A%2F%2F127.0.0.1%3A8333%2F&style=virtual&anonymous=true";
        let url = BucketUrl::parse(url).unwrap();
        assert_eq!(url.endpoint.as_deref(), Some("http://127.0.0.1:8333"));
        assert_eq!((url.region.as_deref(), url.virtual_host, url.anonymous), (Some("eu-west-1"), Some(true), true));
        assert_eq!(url.to_string(), "s3://b/p/ at http://127.0.0.1:8333");
        let url = BucketUrl::parse("az://c?account=x&endpoint=http://127.0.0.1:1/devstoreaccount1").unwrap();
        assert_eq!(url.endpoint.as_deref(), Some("http://127.0.0.1:1/devstoreaccount1"));
    }

    #[test]
    fn what_is_not_understood_is_refused_with_the_remedy() {
        let refused = |url: &str| BucketUrl::parse(url).unwrap_err().to_string();
        insta::assert_snapshot!(refused("s3:/b"), @"`s3:/b` is not the URL of a bucket: write s3://BUCKET/PREFIX, az://CONTAINER/PREFIX or gs://BUCKET/PREFIX");
        insta::assert_snapshot!(refused("s3://b?regoin=x"), @"`regoin` is not a parameter of s3:// URLs, which are: region, endpoint, style, anonymous");
        insta::assert_snapshot!(refused("gs://b?region=x"), @"`region` is not a parameter of gs:// URLs, which are: endpoint, anonymous");
        insta::assert_snapshot!(refused("s3://b?style=odd"), @"`style` cannot be `odd`: it is `path` or `virtual`");
        insta::assert_snapshot!(refused("s3://b?endpoint=ftp://x"), @"`endpoint` cannot be `…`: it begins with https:// or http://");
        insta::assert_snapshot!(refused("s3://b/a//c"), @"the prefix `a//c` cannot be named exactly: take out leading and doubled slashes, and blanks at its ends");
        assert!(refused("file:/x").contains("is not the URL of a bucket"));
        assert!(refused("s3://b//").contains("cannot be named"));
        assert!(refused("s3://b/../c").contains("cannot be named"));
        assert!(refused("s3:///x").contains("is not the URL of a bucket"));
    }

    #[test]
    fn a_secret_in_the_url_is_refused_and_not_repeated() {
        let urls =
            ["s3://key:hunter2@b/p", "s3://b?endpoint=https://u:hunter2@x", "az://c?endpoint=https://x?sig=hunter2"];
        for url in urls {
            let refused = BucketUrl::parse(url).unwrap_err();
            assert!(!format!("{refused} {refused:?}").contains("hunter2"), "{refused:?}");
        }
    }

    #[test]
    fn a_key_is_nameable_only_as_it_is() {
        for key in ["a", "a b", "ü/é", "100%", "a+b", "n\nl", "q'\"&<>", "..a", "a/.b"] {
            assert!(is_nameable(key), "{key:?}");
        }
        for key in ["", "/a", "a//b", "a/", " a", "a ", "a\u{a0}", "./a", "a/../b", "..", "cr\rx", "nul\0x"] {
            assert!(!is_nameable(key), "{key:?}");
        }
    }
}
