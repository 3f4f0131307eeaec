//! Secrets: made of 256 random bits, shown once, and known from then on by their SHA-256 alone.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;

use crate::entropy::Entropy;
use crate::error::TokenError;

/// Keeps the key that seals apart from the digest that is stored, although both come from the same secret.
const SEAL: &[u8] = b"bygone-tokens seal\0";
const SEAL_NONCE_BYTES: usize = 24;

/// A secret that was just made. It is wiped from memory when dropped, and `Debug` does not show it.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// 256 random bits as 43 characters that need no escaping in a url.
    pub(crate) fn random(entropy: &dyn Entropy) -> Result<Self, TokenError> {
        Ok(Self(URL_SAFE_NO_PAD.encode(random_bytes::<32>(entropy)?).into()))
    }

    /// The same secret behind a fixed beginning.
    pub(crate) fn behind(&self, beginning: &str) -> Self {
        Self(format!("{beginning}{}", self.expose()).into())
    }

    pub(crate) fn from_text(text: String) -> Self {
        Self(text.into())
    }

    /// The text, for the answer to whom it is meant for.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// What stands in the database for a secret, and for every name that rows are found by: whatever its length and letters,
/// it is 32 bytes, and no collation of a database makes two of them the same.
#[derive(Clone, Copy)]
pub(crate) struct Digest([u8; 32]);

impl Digest {
    /// The SHA-256 of a text.
    pub(crate) fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    /// Of several texts, each behind its length, so that no two lists are the same text.
    pub(crate) fn of_all<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hash = Sha256::new();
        for text in texts {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text.as_bytes());
        }
        Self(hash.finalize().into())
    }

    /// A random one, to tell one caller from another.
    pub(crate) fn random(entropy: &dyn Entropy) -> Result<Self, TokenError> {
        random_bytes(entropy).map(Self)
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn to_text(self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// Compares in a time that does not tell where they differ.
    pub(crate) fn is(&self, bytes: &[u8]) -> bool {
        self.0.ct_eq(bytes).into()
    }
}

/// Nothing that could be looked up elsewhere.
impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest(…)")
    }
}

/// Closes a text so that only who presents `secret` again can read it: the database alone cannot.
pub(crate) fn seal(secret: &str, text: &str, entropy: &dyn Entropy) -> Result<Vec<u8>, TokenError> {
    let nonce = random_bytes::<SEAL_NONCE_BYTES>(entropy)?;
    let closed = cipher(secret).encrypt(&XNonce::from(nonce), text.as_bytes()).map_err(|_| TokenError::Sealed)?;
    Ok([nonce.as_slice(), &closed].concat())
}

/// Opens what [`seal`] closed.
pub(crate) fn unseal(secret: &str, sealed: &[u8]) -> Result<String, TokenError> {
    let (nonce, closed) = sealed.split_first_chunk::<SEAL_NONCE_BYTES>().ok_or(TokenError::Sealed)?;
    let open = cipher(secret).decrypt(&XNonce::from(*nonce), closed).map_err(|_| TokenError::Sealed)?;
    String::from_utf8(open).map_err(|_| TokenError::Sealed)
}

fn cipher(secret: &str) -> XChaCha20Poly1305 {
    let key: [u8; 32] = Sha256::new().chain_update(SEAL).chain_update(secret.as_bytes()).finalize().into();
    XChaCha20Poly1305::new(&Key::from(key))
}

pub(crate) fn random_bytes<const N: usize>(entropy: &dyn Entropy) -> Result<[u8; N], TokenError> {
    let mut bytes = [0; N];
    entropy.fill(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::SystemEntropy;

    #[test]
    fn a_secret_has_256_bits_and_is_not_shown() {
        let (one, two) = (Secret::random(&SystemEntropy).unwrap(), Secret::random(&SystemEntropy).unwrap());
        assert_eq!(URL_SAFE_NO_PAD.decode(one.expose()).unwrap().len(), 32);
        assert_ne!(one.expose(), two.expose());
        let digest = Digest::of(one.expose());
        for shown in [format!("{one:?}"), format!("{digest:?}"), format!("{:#?}", Some(&one))] {
            assert!(!shown.contains(one.expose()) && !shown.contains(&digest.to_text()), "{shown}");
        }
    }

    #[test]
    fn a_digest_is_the_plain_sha_256() {
        // The example of FIPS 180.
        let bytes = *Digest::of("abc").bytes().first_chunk::<4>().unwrap();
        assert_eq!(u32::from_be_bytes(bytes), 0xba78_16bf);
        assert!(Digest::of("abc").is(Digest::of("abc").bytes()));
        assert!(!Digest::of("abc").is(Digest::of("abd").bytes()));
        assert!(!Digest::of("abc").is(&Digest::of("abc").bytes()[..31]));
    }

    #[test]
    fn lists_that_read_the_same_are_not_the_same() {
        let of = |texts: &[&str]| Digest::of_all(texts.iter().copied()).to_text();
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["ab"]), of(&["ab", ""]));
    }

    #[test]
    fn only_the_same_secret_opens_a_seal() {
        let sealed = seal("one", "the next token", &SystemEntropy).unwrap();
        assert_eq!(unseal("one", &sealed).unwrap(), "the next token");
        assert!(unseal("two", &sealed).is_err());
        assert!(unseal("one", &sealed[..20]).is_err());
        let mut bent = sealed.clone();
        bent[30] ^= 1;
        assert!(unseal("one", &bent).is_err());
        assert_ne!(seal("one", "the next token", &SystemEntropy).unwrap(), sealed);
    }
}
