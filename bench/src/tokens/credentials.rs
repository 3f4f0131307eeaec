//! What the contenders put into their tables: of the same sizes, and never the same twice.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bygone_core::{Clock, SystemClock};
use bygone_tokens::{CodeGrant, FamilyId};

use crate::failure::Failure;
use crate::noise::noise;

/// How long a `jti` is remembered: so that many live at once.
pub(crate) const REMEMBERED: Duration = Duration::from_secs(86_400);
/// What lives already lives for another hour: all of it ends before what is remembered from now on.
pub(crate) const LIVE_FROM_US: i64 = 3_600_000_000;
/// How long a code is good, and how long anything is remembered past its deadline.
const MINUTE_US: i64 = 60_000_000;

static SEED: AtomicU64 = AtomicU64::new(0);

fn fresh() -> u128 {
    noise(SEED.fetch_add(1, Ordering::Relaxed))
}

/// 32 bytes, as a digest has them.
pub(crate) fn digest() -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&fresh().to_be_bytes());
    bytes[16..].copy_from_slice(&fresh().to_be_bytes());
    bytes
}

/// As long as a uuid.
pub(crate) fn jti() -> String {
    format!("{:032x}", fresh())
}

/// What a code stands for, as a client with PKCE asks for it.
pub(crate) fn grant() -> CodeGrant {
    CodeGrant {
        client_id: "https://app.example.org/oauth/client.json".to_owned(),
        subject: "01J9Z3K8T0V5Q2W7X4Y6B1N3M5".to_owned(),
        scope: ["openid", "profile", "email", "offline_access"].map(str::to_owned).into(),
        resource: vec!["https://api.example.org/".to_owned()],
        redirect_uri: "https://app.example.org/oauth/callback".to_owned(),
        code_challenge: Some("E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM".to_owned()),
        code_challenge_method: Some("S256".to_owned()),
        nonce: Some("n-0S6_WzA2Mj8Rt5Vb1Xc7Yd".to_owned()),
        ..CodeGrant::default()
    }
}

/// The same as the document that the store keeps: the grant, and the family that comes of it.
pub(crate) fn document() -> Result<String, Failure> {
    let mut document = serde_json::to_value(grant())?;
    document["family"] = FamilyId::of_code("a code").as_str().into();
    Ok(document.to_string())
}

/// The times of a row, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) now: i64,
    pub(crate) expires_at: i64,
    pub(crate) horizon: i64,
}

impl Times {
    /// Of a code that is made now.
    pub(crate) fn of_code() -> Self {
        Self::lasting(MINUTE_US)
    }

    /// Of a `jti` that is seen now.
    pub(crate) fn of_jti() -> Self {
        Self::lasting(i64::try_from(REMEMBERED.as_micros()).unwrap_or(i64::MAX))
    }

    fn lasting(micros: i64) -> Self {
        let now = SystemClock::new().now().as_microsecond();
        let expires_at = now.saturating_add(micros);
        Self { now, expires_at, horizon: expires_at.saturating_add(MINUTE_US) }
    }
}
