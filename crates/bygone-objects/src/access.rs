//! From a URL and an environment to a client.

use opendal::services::{Azblob, Gcs, S3};
use opendal::{HttpTransporter, OperationContext, Operator};
use opendal_http_transport_reqwest::ReqwestTransport;

use crate::{BucketError, BucketUrl, Environment, Scheme};

/// The account of Azure's emulator, and the key that everybody knows it by.
const EMULATOR_ACCOUNT: &str = "devstoreaccount1";
const EMULATOR_KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// A bucket and how to be let into it.
#[derive(Clone, Debug)]
pub struct Access {
    url: BucketUrl,
    environment: Environment,
}

/// A transport that sends each request once. Others are built around it.
pub fn plain_transport() -> HttpTransporter {
    // A provider that was installed before is as good as this one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    HttpTransporter::new(ReqwestTransport::default())
}

impl Access {
    /// Checks that everything is there that a client needs. Nobody is contacted.
    pub fn new(url: BucketUrl, environment: Environment) -> Result<Self, BucketError> {
        let access = Self { url, environment };
        access.operator("", plain_transport())?;
        Ok(access)
    }

    /// Where the bucket is.
    pub fn url(&self) -> &BucketUrl {
        &self.url
    }

    /// Opens the client for what lies below `prefix`, which is itself below that of the URL. Its requests go by
    /// `transport`, one by one.
    pub fn operator(&self, prefix: &str, transport: HttpTransporter) -> Result<Operator, BucketError> {
        let root = format!("/{}{prefix}", self.url.prefix);
        let opened = match self.url.scheme {
            Scheme::S3 => Operator::new(self.s3(&root)?),
            Scheme::Azure => Operator::new(self.azure(&root)?),
            Scheme::Google => Operator::new(self.google(&root)),
        };
        // The client's own display may hold what it was given; its message does not.
        let opened = opened.map_err(|error| self.refused(&error))?;
        Ok(opened.with_context(OperationContext::new().with_http_transport(transport)))
    }

    fn refused(&self, error: &opendal::Error) -> BucketError {
        BucketError::Open { url: self.url.to_string(), reason: error.message().to_owned() }
    }

    fn s3(&self, root: &str) -> Result<S3, BucketError> {
        let (url, environment) = (&self.url, &self.environment);
        let endpoint =
            url.endpoint.as_deref().or_else(|| environment.first(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]));
        let region = url.region.as_deref().or_else(|| environment.first(&["AWS_REGION", "AWS_DEFAULT_REGION"]));
        // Servers that are not Amazon's take any region.
        let region = region.or_else(|| endpoint.map(|_| "us-east-1")).ok_or(BucketError::Find {
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
        Ok(if environment.asks_machine() { s3 } else { s3.disable_config_load().disable_ec2_metadata() })
    }

    fn azure(&self, root: &str) -> Result<Azblob, BucketError> {
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
                return Err(BucketError::Find {
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
        if environment.asks_machine() { google } else { google.disable_config_load().disable_vm_metadata() }
    }
}
