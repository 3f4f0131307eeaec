//! TLS, for those who come from other machines.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use super::Io;

/// A certificate with its key, ready for use.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

/// Why a certificate cannot be used. Nothing of the key is told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// There is no certificate in it.
    #[error("the certificate is no PEM with a CERTIFICATE in it")]
    Certificate,
    /// There is no key in it.
    #[error("the key is no PEM with a PRIVATE KEY in it")]
    Key,
    /// They do not go together, or are of a kind that is not known.
    #[error("the certificate and its key cannot be used")]
    Unusable(#[source] rustls::Error),
}

impl Tls {
    /// From a chain of certificates, the own one first, and the key of that.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificates).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty()).ok_or(TlsError::Certificate)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsError::Key)?;
        let provider = Arc::new(ring::default_provider());
        let versions = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = versions.and_then(|config| config.with_no_client_auth().with_single_cert(chain, key));
        let mut config = config.map_err(TlsError::Unusable)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    pub(super) async fn accept(&self, stream: Box<dyn Io>) -> io::Result<Box<dyn Io>> {
        Ok(Box::new(self.0.accept(stream).await?))
    }
}
