//! Keys on the curve P-256: their JSON form (RFC 7517), and the thumbprint by which one is known (RFC 7638).

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bygone_tokens::{Entropy, TokenError};
use p256::ecdsa::{SigningKey, VerifyingKey};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// A public key.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Jwk {
    kty: String,
    crv: String,
    x: String,
    y: String,
    /// The private part, which has no business here.
    #[serde(default, skip_serializing)]
    d: Option<IgnoredAny>,
}

impl Jwk {
    /// The JSON form of a key.
    pub(crate) fn of(key: &VerifyingKey) -> Self {
        // One byte that says how the point is written, and 32 for each coordinate.
        let point = key.to_sec1_point(false);
        let (x, y) = point.as_bytes()[1..].split_at(32);
        let text = |coordinate| BASE64_URL_SAFE_NO_PAD.encode(coordinate);
        Self { kty: "EC".into(), crv: "P-256".into(), x: text(x), y: text(y), d: None }
    }

    /// The key, if it is one: on this curve, and public.
    pub(crate) fn key(&self) -> Option<VerifyingKey> {
        if self.kty != "EC" || self.crv != "P-256" || self.d.is_some() {
            return None;
        }
        let coordinate = |text: &str| -> Option<[u8; 32]> { BASE64_URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok() };
        let point = [&[4][..], &coordinate(&self.x)?, &coordinate(&self.y)?].concat();
        VerifyingKey::from_sec1_bytes(&point).ok()
    }
}

/// What a key is known by: the hash of its JSON form with nothing but what makes it, in the order of the alphabet.
pub(crate) fn thumbprint(key: &VerifyingKey) -> String {
    let Jwk { kty, crv, x, y, .. } = Jwk::of(key);
    let text = format!(r#"{{"crv":"{crv}","kty":"{kty}","x":"{x}","y":"{y}"}}"#);
    BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(text))
}

/// The server's own key. It lives as long as the program: a restart ends all access tokens, and no refresh token.
pub(crate) struct ServerKey {
    pub(crate) signing: SigningKey,
    pub(crate) id: String,
}

impl ServerKey {
    /// A new key.
    pub(crate) fn random(entropy: &dyn Entropy) -> Result<Self, TokenError> {
        loop {
            let mut bytes = [0; 32];
            entropy.fill(&mut bytes)?;
            // Of 2^32 random numbers one is no key.
            if let Ok(signing) = SigningKey::from_slice(&bytes) {
                let id = thumbprint(signing.verifying_key());
                return Ok(Self { signing, id });
            }
        }
    }

    /// What others verify by.
    pub(crate) fn verifying(&self) -> &VerifyingKey {
        self.signing.verifying_key()
    }

    /// The same in JSON.
    pub(crate) fn public(&self) -> Value {
        let Jwk { kty, crv, x, y, .. } = Jwk::of(self.verifying());
        json!({ "kty": kty, "crv": crv, "x": x, "y": y, "use": "sig", "alg": "ES256", "kid": self.id })
    }
}

#[cfg(test)]
mod tests {
    use bygone_tokens::SystemEntropy;

    use super::*;

    #[test]
    fn a_key_survives_its_json_form() {
        let key = ServerKey::random(&SystemEntropy).unwrap();
        let jwk: Jwk = serde_json::from_value(key.public()).unwrap();
        assert_eq!(jwk.key().as_ref(), Some(key.verifying()));
        assert_eq!(thumbprint(&jwk.key().unwrap()), key.id);
    }

    #[test]
    fn what_is_no_public_key_is_refused() {
        let good = ServerKey::random(&SystemEntropy).unwrap().public();
        let bad = [("kty", "RSA"), ("crv", "P-384"), ("x", "AA"), ("y", &"A".repeat(43)), ("d", "secret")];
        for (name, value) in bad {
            let mut jwk = good.clone();
            jwk[name] = value.into();
            assert!(serde_json::from_value::<Jwk>(jwk).unwrap().key().is_none(), "{name} is {value}");
        }
    }
}
