//! What is done, by how many at once, and the bars.

use std::time::Duration;

/// Which keys a client takes leases of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    /// The same one again and again, which nobody else wants.
    Own,
    /// Another one each time.
    New,
}

/// Clients that take leases and give them back.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) clients: usize,
    pub(crate) keys: Keys,
    /// The least multiple of Redis, and of etcd; `None` where they run only to be seen.
    pub(crate) bars: [Option<f64>; 2],
    /// How long a turn lasts.
    pub(crate) turn: Duration,
    /// How often each contender has its turn for one run.
    pub(crate) turns: usize,
}

/// Leases that are over, and that nobody comes back for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SweepCase {
    pub(crate) name: &'static str,
    pub(crate) leases: u64,
    /// The least that must be swept a second.
    pub(crate) rate_min: f64,
    pub(crate) turns: usize,
}

/// Every case with peers, in the order in which they run.
pub(crate) fn all(quick: bool) -> Vec<Case> {
    let (turn, turns) = if quick { (Duration::from_millis(250), 5) } else { (Duration::from_secs(1), 15) };
    let case = |name, clients, keys, bars| Case { name, clients, keys, bars, turn, turns };
    vec![
        case("cycle/1", 1, Keys::Own, [Some(1.0), None]),
        case("cycle/8", 8, Keys::Own, [None, None]),
        case("cycle/64", 64, Keys::Own, [Some(2.0), Some(15.0)]),
        case("new-keys/64", 64, Keys::New, [None, None]),
    ]
}

/// The sweep.
pub(crate) fn sweep(quick: bool) -> SweepCase {
    let (leases, turns) = if quick { (10_000, 1) } else { (100_000, 5) };
    SweepCase { name: "sweep", leases, rate_min: 20_000.0, turns }
}
