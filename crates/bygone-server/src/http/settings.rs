//! What whoever runs the API decides.

use std::time::Duration;

use super::security::Tokens;

/// How the API is to behave.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Who may do what. With none, whoever reaches the daemon may do everything: that is for this machine alone.
    pub tokens: Tokens,
    /// Names by which the daemon is called, besides `localhost` and the addresses it listens on.
    pub hosts: Vec<String>,
    /// Bounds.
    pub limits: Limits,
}

/// The bounds of requests.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The largest body.
    pub body_bytes_max: usize,
    /// The largest head: the request line and all headers.
    pub head_bytes_max: usize,
    /// The most headers.
    pub headers_max: usize,
    /// How long a head may take to come, and how long a connection may wait for its next one.
    pub head_within: Duration,
    /// How long a request may take, events apart.
    pub request_within: Duration,
    /// Requests at once.
    pub requests_max: usize,
    /// Operations on lease stores at once, those included that wait for a lease.
    pub operations_max: usize,
    /// The longest that one of them waits for a lease or a message: shorter than a request may take.
    pub wait_max: Duration,
    /// Attachments and staged files on their way in or out at once.
    pub transfers_max: usize,
    /// State, and bodies of operations on lease stores, of more than 64 KiB in memory at once; further ones wait.
    pub large_max: usize,
    /// How long nothing may move of what is streamed.
    pub stall_within: Duration,
    /// Event streams at once.
    pub streams_max: usize,
    /// Connections at once; further ones wait.
    pub connections_max: usize,
    /// How often a stream without events shows that it is alive.
    pub heartbeat: Duration,
    /// How long requests under way may take once the daemon is to end.
    pub end_within: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes_max: 64 * 1_024,
            head_bytes_max: 16 * 1_024,
            headers_max: 64,
            head_within: Duration::from_secs(10),
            request_within: Duration::from_secs(30),
            requests_max: 64,
            operations_max: 256,
            wait_max: Duration::from_secs(25),
            transfers_max: 32,
            large_max: 4,
            stall_within: Duration::from_secs(30),
            streams_max: 32,
            // Those who wait for leases leave room for those who look.
            connections_max: 512,
            heartbeat: Duration::from_secs(15),
            end_within: Duration::from_secs(10),
        }
    }
}
