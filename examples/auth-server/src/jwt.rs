//! Signed tokens (RFC 7515, RFC 7519), with ES256 alone: no other algorithm can be asked for, so none can be mistaken.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use p256::ecdsa::signature::{Signer as _, Verifier as _};
use p256::ecdsa::{Signature, VerifyingKey};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use crate::keys::{Jwk, ServerKey};

/// More than any token here has.
const TOKEN_BYTES_MAX: usize = 8 * 1024;

/// What stands before the claims.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    typ: String,
    alg: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    kid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jwk: Option<Jwk>,
    /// Extensions that must be understood; none is.
    #[serde(default, skip_serializing)]
    crit: Option<IgnoredAny>,
}

/// A token whose signature nobody has looked at yet: it has no claims until then.
pub(crate) struct Unverified<'a> {
    header: Header,
    signed: &'a str,
    payload: Vec<u8>,
    signature: Signature,
}

impl<'a> Unverified<'a> {
    /// Reads a token of one type.
    pub(crate) fn read(token: &'a str, typ: &str) -> Option<Self> {
        if token.len() > TOKEN_BYTES_MAX {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        let header: Header = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(header).ok()?).ok()?;
        if header.typ != typ || header.alg != "ES256" || header.crit.is_some() {
            return None;
        }
        let payload = BASE64_URL_SAFE_NO_PAD.decode(payload).ok()?;
        let signature = Signature::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(signature).ok()?).ok()?;
        Some(Self { header, signed, payload, signature })
    }

    /// The key that it says it is signed by.
    pub(crate) fn key(&self) -> Option<VerifyingKey> {
        self.header.jwk.as_ref().and_then(Jwk::key)
    }

    /// The claims, if this key has signed them.
    pub(crate) fn claims<T: DeserializeOwned>(&self, key: &VerifyingKey) -> Option<T> {
        key.verify(self.signed.as_bytes(), &self.signature).ok()?;
        serde_json::from_slice(&self.payload).ok()
    }
}

/// Signs claims with the server's key.
pub(crate) fn sign(typ: &str, claims: &impl Serialize, key: &ServerKey) -> Result<String, serde_json::Error> {
    let header = Header { typ: typ.into(), alg: "ES256".into(), kid: Some(key.id.clone()), jwk: None, crit: None };
    let text = |json: Vec<u8>| BASE64_URL_SAFE_NO_PAD.encode(json);
    let signed = format!("{}.{}", text(serde_json::to_vec(&header)?), text(serde_json::to_vec(claims)?));
    let signature: Signature = key.signing.sign(signed.as_bytes());
    Ok(format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature.to_bytes())))
}

#[cfg(test)]
mod tests {
    use bygone_tokens::SystemEntropy;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_its_key_and_type_open_a_token() {
        let (key, other) = (ServerKey::random(&SystemEntropy).unwrap(), ServerKey::random(&SystemEntropy).unwrap());
        let claims = json!({ "sub": "alice" });
        let token = sign("at+jwt", &claims, &key).unwrap();
        let read = Unverified::read(&token, "at+jwt").unwrap();
        assert_eq!(read.claims::<Value>(key.verifying()), Some(claims));
        assert_eq!(read.claims::<Value>(other.verifying()), None);
        assert!(Unverified::read(&token, "logout+jwt").is_none());
    }

    #[test]
    fn what_is_no_token_is_refused() {
        let header = |json: Value| BASE64_URL_SAFE_NO_PAD.encode(json.to_string());
        let signature = "A".repeat(86);
        let none = header(json!({ "typ": "at+jwt", "alg": "none" }));
        let critical = header(json!({ "typ": "at+jwt", "alg": "ES256", "crit": ["b64"], "b64": false }));
        let long = "a".repeat(TOKEN_BYTES_MAX + 1);
        let texts = ["", ".", "..", "…", &format!("{none}.e30."), &format!("{critical}.e30.{signature}"), &long];
        for text in texts {
            assert!(Unverified::read(text, "at+jwt").is_none(), "{text}");
        }
    }
}
