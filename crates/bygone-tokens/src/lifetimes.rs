//! How long things live. The defaults are those of the specifications and of common practice.

use std::time::Duration;

use crate::error::TokenError;

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);
/// Longer than anything here could live, and short enough that no sum of instants overflows.
const LIFETIME_MAX: Duration = Duration::from_secs(86_400 * 36_500);

/// How long things live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    /// Authorization codes: a minute; RFC 6749 recommends ten at the most, and more is refused.
    pub code: Duration,
    /// A refresh token that is not used: 14 days. Each rotation begins them anew.
    pub refresh: Duration,
    /// A family of refresh tokens, however often it rotates; for ever when absent.
    pub refresh_family: Option<Duration>,
    /// For how long after a rotation the old token gets the same successor once more: 10 seconds. Zero for never.
    pub rotation_grace: Duration,
    /// DPoP nonces: 5 minutes.
    pub nonce: Duration,
    /// How long a `jti` is remembered: a minute. It must cover the window in which proofs are accepted.
    pub replay: Duration,
    /// Pushed authorization requests: 90 seconds; RFC 9126 allows from 5 seconds to 10 minutes.
    pub pushed: Duration,
    /// The least that client metadata is cached: a minute.
    pub metadata_min: Duration,
    /// The most that client metadata is cached: a day.
    pub metadata_max: Duration,
    /// Consent on its way to a code: 5 minutes.
    pub consent: Duration,
    /// Logout targets of a session: a day.
    pub logout: Duration,
    /// Device codes: 10 minutes.
    pub device: Duration,
    /// How long a device waits between two polls: 5 seconds.
    pub device_interval: Duration,
    /// CIBA requests: 5 minutes.
    pub ciba: Duration,
    /// How long a CIBA client waits between two polls: 5 seconds.
    pub ciba_interval: Duration,
    /// How long a row is remembered past its last deadline: a minute. It covers clocks of several hosts that disagree,
    /// and lets a store say "expired" instead of "unknown".
    pub slack: Duration,
}

impl Default for Lifetimes {
    fn default() -> Self {
        Self {
            code: MINUTE,
            refresh: 14 * DAY,
            refresh_family: None,
            rotation_grace: Duration::from_secs(10),
            nonce: 5 * MINUTE,
            replay: MINUTE,
            pushed: Duration::from_secs(90),
            metadata_min: MINUTE,
            metadata_max: DAY,
            consent: 5 * MINUTE,
            logout: DAY,
            device: 10 * MINUTE,
            device_interval: Duration::from_secs(5),
            ciba: 5 * MINUTE,
            ciba_interval: Duration::from_secs(5),
            slack: MINUTE,
        }
    }
}

impl Lifetimes {
    /// Refuses what makes no sense, with what would.
    pub(crate) fn check(&self) -> Result<(), TokenError> {
        let lives = [
            ("code", self.code),
            ("refresh", self.refresh),
            ("refresh_family", self.refresh_family.unwrap_or(DAY)),
            ("nonce", self.nonce),
            ("replay", self.replay),
            ("pushed", self.pushed),
            ("metadata_min", self.metadata_min),
            ("metadata_max", self.metadata_max),
            ("consent", self.consent),
            ("logout", self.logout),
            ("device", self.device),
            ("device_interval", self.device_interval),
            ("ciba", self.ciba),
            ("ciba_interval", self.ciba_interval),
        ];
        for (name, life) in lives {
            if life < Duration::from_micros(1) {
                return Err(TokenError::options(format!("the lifetime `{name}` is zero: nothing would ever be valid")));
            }
        }
        for (name, life) in lives.into_iter().chain([("slack", self.slack), ("rotation_grace", self.rotation_grace)]) {
            if life > LIFETIME_MAX {
                return Err(TokenError::options(format!("the lifetime `{name}` is over a hundred years")));
            }
        }
        if self.code > 10 * MINUTE {
            return Err(TokenError::options(
                "the lifetime `code` is over the ten minutes that RFC 6749 recommends at the most",
            ));
        }
        if self.pushed < Duration::from_secs(5) || self.pushed > 10 * MINUTE {
            return Err(TokenError::options("the lifetime `pushed` is outside of the 5 to 600 seconds of RFC 9126"));
        }
        if self.metadata_min > self.metadata_max {
            return Err(TokenError::options("the lifetime `metadata_min` is over `metadata_max`"));
        }
        Ok(())
    }
}

/// Whole microseconds. A lifetime was checked to be far below the limit.
pub(crate) fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}
