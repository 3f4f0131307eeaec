//! Device codes (RFC 8628): a device polls with one code while a person types another.

use std::sync::Arc;

use bygone_sql::Value;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::decision::{Approval, Consumed, Decided, Polled, consume, decide, pending, poll};
use crate::error::TokenError;
use crate::lifetimes::micros;
use crate::schema::DEVICE_CODES;
use crate::secret::{Digest, Secret, random_bytes};
use crate::store::{Store, instant};
use crate::table::{Alive, DATA, Only};
use crate::tokens::Shared;

/// Letters that are hard to mistake and make no words (RFC 8628, section 6.1).
const ALPHABET: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
const USER_CODE_LETTERS: usize = 8;
/// How many codes are tried: with a million of them in use, two of them are already most unlikely to be taken.
const ATTEMPTS: usize = 10;

/// The store of device codes.
#[derive(Clone)]
pub struct DeviceCodes(Store);

/// What a device asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceRequest {
    /// The client.
    pub client_id: String,
    /// What it asks for.
    pub scope: Vec<String>,
    /// For which resources (RFC 8707).
    pub resource: Vec<String>,
    /// The thumbprint of the key that it will use (RFC 9449).
    pub dpop_jkt: Option<String>,
}

/// Codes that were just made.
#[derive(Clone, Debug)]
pub struct IssuedDeviceCode {
    /// What the device polls with.
    pub device_code: Secret,
    /// What the person types, as in `WDJB-MJHT`.
    pub user_code: String,
    /// Until when.
    pub expires_at: Timestamp,
    /// How long to wait between two polls.
    pub interval_seconds: u64,
}

impl DeviceCodes {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self(Store::new(shared, &DEVICE_CODES))
    }

    /// Makes codes.
    pub async fn create(&self, request: &DeviceRequest) -> Result<IssuedDeviceCode, TokenError> {
        let (now, device_code, table) = (self.0.now(), self.0.secret()?, self.0.table());
        let expires_at = now + micros(self.0.lifetimes().device);
        let interval = self.0.lifetimes().device_interval;
        for _ in 0..ATTEMPTS {
            let user_code = self.user_code()?;
            let row = self.0.shared.row(now, expires_at).with("user_code", Digest::of(&user_code));
            let row = row.with("device_code", Digest::of(device_code.expose())).with("status", pending());
            let row = row.with("client", Digest::of(&request.client_id)).with(DATA, table.written(request)?);
            let row = row.with("poll_interval", Value::Int(micros(interval)));
            if table.put(&row, now).await? {
                let (first, second) = user_code.split_at(USER_CODE_LETTERS / 2);
                let user_code = format!("{first}-{second}");
                let (expires_at, interval_seconds) = (instant(expires_at), interval.as_secs());
                return Ok(IssuedDeviceCode { device_code, user_code, expires_at, interval_seconds });
            }
        }
        Err(TokenError::options("no user code is free: too many device codes are waiting at once"))
    }

    /// Eight letters, each as likely as the others: a byte that would favour some is thrown away.
    fn user_code(&self) -> Result<String, TokenError> {
        let fair = u8::MAX - u8::MAX % 20;
        let mut code = String::with_capacity(USER_CODE_LETTERS);
        while code.len() < USER_CODE_LETTERS {
            let bytes = random_bytes::<16>(&*self.0.shared.entropy)?;
            let letters =
                bytes.iter().filter(|byte| **byte < fair).map(|byte| char::from(ALPHABET[usize::from(byte % 20)]));
            code.extend(letters.take(USER_CODE_LETTERS - code.len()));
        }
        Ok(code)
    }

    /// What is asked for under a code that a person typed, while nobody has decided.
    pub async fn find(&self, user_code: &str) -> Result<Option<DeviceRequest>, TokenError> {
        let only = [Only::Is("status", pending())];
        let found = self.0.table().list(&[key_of(user_code)], &only, Alive::Unexpired, self.0.now()).await?;
        found.first().map(|row| row.document(DATA)).transpose()
    }

    /// Approves a request, unless somebody has decided before.
    pub async fn approve(&self, user_code: &str, approval: &Approval) -> Result<Decided, TokenError> {
        decide(&self.0, &[key_of(user_code)], Some(approval)).await
    }

    /// Denies a request, unless somebody has decided before.
    pub async fn deny(&self, user_code: &str) -> Result<Decided, TokenError> {
        decide(&self.0, &[key_of(user_code)], None).await
    }

    /// Asks for the decision. Who asks too soon is told to slow down.
    pub async fn poll(&self, client_id: &str, device_code: &str) -> Result<Polled, TokenError> {
        poll(&self.0, &[("device_code", Digest::of(device_code))], client_id).await
    }

    /// Takes what was approved, once.
    pub async fn consume(&self, client_id: &str, device_code: &str) -> Result<Consumed<DeviceRequest>, TokenError> {
        Ok(match consume(&self.0, &[("device_code", Digest::of(device_code))], client_id).await? {
            Ok(row) => Consumed::Granted { request: row.document(DATA)?, approval: row.document("granted")? },
            Err(refusal) => refusal.into(),
        })
    }
}

/// People type in small letters, leave the dash out, or put spaces around it.
fn key_of(user_code: &str) -> (&'static str, Digest) {
    let letters = user_code.chars().filter(|c| !c.is_whitespace() && *c != '-').map(|c| c.to_ascii_uppercase());
    ("user_code", Digest::of(&letters.collect::<String>()))
}
