//! A bucket that policies can be bound to.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bygone_core::{Clock, ClockReading, TargetError};
use opendal::services::{Azblob, Gcs, S3};
use opendal::{HttpTransporter, OperationContext, Operator};
use opendal_http_transport_reqwest::ReqwestTransport;

use super::store::Store;
use super::wire::Wire;
use super::{BucketUrl, PrefixError, Scheme};

/// The account of Azure's emulator, and the key that everybody knows it by.
const EMULATOR_ACCOUNT: &str = "devstoreaccount1";
const EMULATOR_KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// Where credentials come from. Shown nowhere.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    /// Whether the machine may be asked too: profiles, roles of instances and workloads.
    machine: bool,
}

impl Environment {
    /// The variables of this process, and what the machine knows.
    pub fn of_process() -> Self {
        Self { variables: std::env::vars().collect(), machine: true }
    }

    /// These variables and nothing else.
    pub fn of<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { variables: variables.collect(), machine: false }
    }

    /// The first of these variables that is set and not empty.
    fn first(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.variables.get(*name).filter(|value| !value.is_empty()).map(String::as_str))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").finish_non_exhaustive()
    }
}

/// How long to put up with a store.
#[derive(Clone, Debug)]
pub struct Patience {
    /// How often a request is sent before it has failed.
    pub attempts: u32,
    /// How long one attempt may take.
    pub request_time: Duration,
    /// The longest pause after the first attempt; it doubles with each.
    pub first_pause: Duration,
    /// The longest pause of all.
    pub pause_max: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            attempts: 6,
            request_time: Duration::from_secs(30),
            first_pause: Duration::from_millis(100),
            pause_max: Duration::from_secs(5),
        }
    }
}

/// A bucket, ready to be spoken to. Opening it contacts nobody.
#[derive(Clone, Debug)]
pub struct Bucket {
    url: BucketUrl,
    environment: Environment,
    clock: Arc<dyn Clock>,
    patience: Patience,
}

impl Bucket {
    /// Opens a bucket with the credentials of an environment.
    pub fn open(url: BucketUrl, environment: Environment, clock: Arc<dyn Clock>) -> Result<Self, PrefixError> {
        let bucket = Self { url, environment, clock, patience: Patience::default() };
        bucket.operator("")?;
        Ok(bucket)
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// Its URL.
    pub fn url(&self) -> &BucketUrl {
        &self.url
    }

    /// The store's clock, by the `Date` of its answer to one small request. It has whole seconds, cut off: the reading is
    /// never later than the store's true time.
    pub async fn read_clock(&self) -> Result<ClockReading, TargetError> {
        self.store("")?.read_clock().await
    }

    /// A way of its own to the objects below `prefix`, which is below that of the URL.
    pub(super) fn store(&self, prefix: &str) -> Result<Store, PrefixError> {
        // A provider that was installed before is as good as this one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let transport = HttpTransporter::new(ReqwestTransport::default());
        let wire = Wire::new(transport, Arc::clone(&self.clock), self.url.scheme, self.patience.clone());
        let context = OperationContext::new().with_http_transport(HttpTransporter::new(wire.clone()));
        let operator = self.operator(prefix)?.with_context(context);
        let place = format!("{}{prefix}", self.url.prefix);
        Ok(Store::new(operator, wire, self.url.clone(), place, Arc::clone(&self.clock)))
    }

    fn operator(&self, prefix: &str) -> Result<Operator, PrefixError> {
        let root = format!("/{}{prefix}", self.url.prefix);
        let opened = match self.url.scheme {
            Scheme::S3 => Operator::new(self.s3(&root)?),
            Scheme::Azure => Operator::new(self.azure(&root)?),
            Scheme::Google => Operator::new(self.google(&root)),
        };
        // The client's own display may hold what it was given; its message does not.
        opened.map_err(|error| self.refused(&error))
    }

    fn refused(&self, error: &opendal::Error) -> PrefixError {
        PrefixError::Open { url: self.url.to_string(), reason: error.message().to_owned() }
    }

    fn s3(&self, root: &str) -> Result<S3, PrefixError> {
        let (url, environment) = (&self.url, &self.environment);
        let endpoint =
            url.endpoint.as_deref().or_else(|| environment.first(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]));
        let region = url.region.as_deref().or_else(|| environment.first(&["AWS_REGION", "AWS_DEFAULT_REGION"]));
        // Servers that are not Amazon's take any region.
        let region = region.or_else(|| endpoint.map(|_| "us-east-1")).ok_or(PrefixError::Find {
            scheme: "s3",
            what: "a region",
            remedy: "set AWS_REGION, or put ?region=… behind the URL",
        })?;
        let mut s3 = S3::default().root(root).bucket(&url.bucket).region(region);
        if let Some(endpoint) = endpoint {
            s3 = s3.endpoint(endpoint);
        }
        // Amazon wants the bucket in the host name; others mostly cannot.
        if url.virtual_host.unwrap_or(endpoint.is_none()) {
            s3 = s3.enable_virtual_host_style();
        }
        if url.anonymous {
            return Ok(s3.skip_signature());
        }
        if let (Some(key), Some(secret)) =
            (environment.first(&["AWS_ACCESS_KEY_ID"]), environment.first(&["AWS_SECRET_ACCESS_KEY"]))
        {
            s3 = s3.access_key_id(key).secret_access_key(secret);
            if let Some(token) = environment.first(&["AWS_SESSION_TOKEN"]) {
                s3 = s3.session_token(token);
            }
        }
        Ok(if environment.machine { s3 } else { s3.disable_config_load().disable_ec2_metadata() })
    }

    fn azure(&self, root: &str) -> Result<Azblob, PrefixError> {
        let (url, environment) = (&self.url, &self.environment);
        let whole = environment.first(&["AZURE_STORAGE_CONNECTION_STRING"]);
        let mut azure = match whole {
            Some(text) if !url.anonymous => {
                Azblob::from_connection_string(text).map_err(|error| self.refused(&error))?
            }
            _ => Azblob::default(),
        };
        azure = azure.root(root).container(&url.bucket);
        let account = url
            .account
            .as_deref()
            .or_else(|| environment.first(&["AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"]));
        match (&url.endpoint, account, whole) {
            (Some(endpoint), ..) => azure = azure.endpoint(endpoint),
            (None, Some(account), _) => azure = azure.endpoint(&format!("https://{account}.blob.core.windows.net")),
            (None, None, Some(_)) => {}
            (None, None, None) => {
                return Err(PrefixError::Find {
                    scheme: "az",
                    what: "an account",
                    remedy: "set AZURE_STORAGE_ACCOUNT, or put ?account=… behind the URL",
                });
            }
        }
        if url.anonymous {
            return Ok(azure.skip_signature());
        }
        let emulated =
            url.endpoint.as_deref().is_some_and(|endpoint| endpoint.ends_with(&format!("/{EMULATOR_ACCOUNT}")));
        let key = environment.first(&["AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY"]);
        let (account, key) = match (emulated, whole) {
            (true, None) => (account.or(Some(EMULATOR_ACCOUNT)), key.or(Some(EMULATOR_KEY))),
            _ => (account, key),
        };
        if let Some(account) = account {
            azure = azure.account_name(account);
        }
        if let Some(key) = key {
            azure = azure.account_key(key);
        }
        if let Some(token) = environment.first(&["AZURE_STORAGE_SAS_TOKEN"]) {
            azure = azure.sas_token(token);
        }
        Ok(azure)
    }

    fn google(&self, root: &str) -> Gcs {
        let (url, environment) = (&self.url, &self.environment);
        let mut google = Gcs::default().root(root).bucket(&url.bucket);
        if let Some(endpoint) = &url.endpoint {
            google = google.endpoint(endpoint);
        }
        if url.anonymous {
            return google.skip_signature();
        }
        if let Some(path) = environment.first(&["GOOGLE_APPLICATION_CREDENTIALS"]) {
            google = google.credential_path(path);
        }
        if environment.machine { google } else { google.disable_config_load().disable_vm_metadata() }
    }
}
