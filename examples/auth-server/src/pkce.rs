//! Proof Key for Code Exchange (RFC 7636), with S256 alone.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The challenge of RFC 7636, appendix B.
pub(crate) const EXAMPLE_CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// Whether a challenge can be the SHA-256 of anything.
pub(crate) fn is_challenge(challenge: &str) -> bool {
    BASE64_URL_SAFE_NO_PAD.decode(challenge).is_ok_and(|bytes| bytes.len() == 32)
}

/// Whether this is the verifier of a challenge, in a time that does not tell how near it is.
pub(crate) fn is_verifier_of(challenge: &str, verifier: &str) -> bool {
    (43..=128).contains(&verifier.len()) && is_hash_of(challenge, verifier)
}

/// Whether `hash` is the SHA-256 of a text, in the letters of base64url.
pub(crate) fn is_hash_of(hash: &str, text: &str) -> bool {
    let expected = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(text.as_bytes()));
    expected.as_bytes().ct_eq(hash.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert!(is_challenge(EXAMPLE_CHALLENGE) && is_verifier_of(EXAMPLE_CHALLENGE, verifier));
        assert!(!is_verifier_of(EXAMPLE_CHALLENGE, &verifier.replace('d', "e")));
        assert!(!is_challenge("E9Mel") && !is_challenge(verifier.get(1..).unwrap()));
    }

    #[test]
    fn a_short_verifier_is_none() {
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(b"short"));
        assert!(is_hash_of(&challenge, "short") && !is_verifier_of(&challenge, "short"));
    }
}
