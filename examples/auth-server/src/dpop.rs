//! Proofs that whoever sends a request has a key (RFC 9449).

use axum::http::HeaderMap;
use bygone_tokens::{NonceUse, Replay};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use url::Url;

use crate::app::App;
use crate::error::OAuthError;
use crate::jwt::Unverified;
use crate::keys::thumbprint;
use crate::pkce::is_hash_of;

/// How old a proof may be.
const AGE_MAX: SignedDuration = SignedDuration::from_secs(60);
/// How far a client's clock may be ahead.
const AHEAD_MAX: SignedDuration = SignedDuration::from_secs(10);

/// What a proof is held against.
pub(crate) struct Request<'a> {
    pub(crate) headers: &'a HeaderMap,
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// The access token that comes with it.
    pub(crate) access_token: Option<&'a str>,
}

/// A proof that holds.
pub(crate) struct Proof {
    /// The key's thumbprint.
    pub(crate) jkt: String,
    nonce: Option<String>,
}

#[derive(Deserialize)]
struct Claims {
    jti: String,
    htm: String,
    htu: String,
    iat: i64,
    nonce: Option<String>,
    ath: Option<String>,
}

/// Checks the proof of a request. From then on it is good for nothing: each is accepted once.
pub(crate) async fn check(app: &App, request: &Request<'_>) -> Result<Proof, OAuthError> {
    let mut proofs = request.headers.get_all("dpop").iter();
    let (Some(proof), None) = (proofs.next(), proofs.next()) else {
        return Err(refused("the request needs one DPoP header"));
    };
    let proof = proof.to_str().ok().and_then(|text| Unverified::read(text, "dpop+jwt"));
    let proof = proof.ok_or(refused("the proof is no JWT of type dpop+jwt with ES256"))?;
    let key = proof.key().ok_or(refused("the proof has no public key on P-256"))?;
    let claims: Claims = proof.claims(&key).ok_or(refused("the proof's signature or claims are wrong"))?;

    if claims.jti.is_empty() || claims.htm != request.method || !is_url(&claims.htu, &app.issuer, request.path) {
        return Err(refused("the proof is for another request"));
    }
    if let Some(token) = request.access_token
        && !claims.ath.is_some_and(|ath| is_hash_of(&ath, token))
    {
        return Err(refused("the proof is for another access token"));
    }
    let until = accepted_until(claims.iat, app.clock.now()).ok_or(refused("the proof is too old, or of the future"))?;
    let jkt = thumbprint(&key);
    // Two clients may choose the same `jti`: it is the key's. A thumbprint has one length, so nothing else reads the same.
    match app.tokens.replays().remember_until(&format!("{jkt} {}", claims.jti), until).await? {
        Replay::Fresh => Ok(Proof { jkt, nonce: claims.nonce }),
        Replay::Seen => Err(refused("the proof was used before")),
    }
}

/// Accepts the nonce of a proof, once. Who has none learns one from the answer.
pub(crate) async fn accept_nonce(app: &App, proof: &Proof) -> Result<(), OAuthError> {
    let refusal = OAuthError::new("use_dpop_nonce", "the proof needs the nonce of the DPoP-Nonce header");
    let nonce = proof.nonce.as_deref().ok_or(refusal)?;
    match app.tokens.nonces().accept(nonce).await? {
        NonceUse::Accepted => Ok(()),
        NonceUse::Used | NonceUse::Expired | NonceUse::Unknown => Err(refusal),
    }
}

/// Whether a proof's url is that of a path here, whatever stands behind it.
fn is_url(htu: &str, issuer: &str, path: &str) -> bool {
    let (Ok(mut url), Ok(expected)) = (Url::parse(htu), Url::parse(&format!("{issuer}{path}"))) else { return false };
    url.set_query(None);
    url.set_fragment(None);
    url == expected
}

/// Up to when a proof of that second is accepted, if it is now: for as long it has to be remembered.
fn accepted_until(iat: i64, now: Timestamp) -> Option<Timestamp> {
    let issued_at = Timestamp::from_second(iat).ok()?;
    let until = issued_at.checked_add(AGE_MAX).ok()?;
    (until > now && issued_at.duration_since(now) <= AHEAD_MAX).then_some(until)
}

fn refused(description: &'static str) -> OAuthError {
    OAuthError::new("invalid_dpop_proof", description)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_accepted_for_a_minute() {
        let now = Timestamp::from_second(1_000).unwrap();
        let is_accepted = |iat| accepted_until(iat, now).is_some();
        assert!(is_accepted(941) && is_accepted(1_000) && is_accepted(1_010));
        assert!(!is_accepted(940) && !is_accepted(1_011));
        assert!(!is_accepted(i64::MIN) && !is_accepted(i64::MAX) && !is_accepted(Timestamp::MAX.as_second()));
    }

    #[test]
    fn a_url_is_the_same_without_what_stands_behind_it() {
        let is_token = |htu| is_url(htu, "http://127.0.0.1:8787", "/token");
        assert!(is_token("http://127.0.0.1:8787/token") && is_token("HTTP://127.0.0.1:8787/token?a=b#c"));
        for other in
            ["", "/token", "http://127.0.0.1:8787/userinfo", "http://127.0.0.1/token", "https://127.0.0.1:8787/token"]
        {
            assert!(!is_token(other), "{other}");
        }
    }
}
