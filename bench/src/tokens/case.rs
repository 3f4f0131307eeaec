//! What is done, by how many at once, and the bars.

use crate::choice::title;
use crate::engine::Engine;

/// The least that a store must reach of its bare statements.
const BARE_MIN: f64 = 0.85;
/// The least that it must reach over a hundred times as many rows: within one and a half of the time.
const MANY_MIN: f64 = 0.667;
/// How many `jti`s live in the small table.
pub(crate) const FEW_LIVE: u64 = 100_000;

/// What is done again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// An authorization code is made and then taken.
    IssueAndTake,
    /// A `jti` that is new is remembered.
    Remember,
    /// The same where so many live already, beside where few do.
    RememberAmong(u64),
}

impl Work {
    /// What both are measured in.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::IssueAndTake => "pairs/s",
            Self::Remember | Self::RememberAmong(_) => "jtis/s",
        }
    }

    /// The least that ours must reach.
    pub(crate) fn bar(self) -> f64 {
        match self {
            Self::IssueAndTake | Self::Remember => BARE_MIN,
            Self::RememberAmong(_) => MANY_MIN,
        }
    }
}

/// One comparison.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) engine: Engine,
    pub(crate) name: &'static str,
    pub(crate) work: Work,
    /// How many work at once, each with a connection of its own.
    pub(crate) workers: usize,
    /// How often each contender has its turn.
    pub(crate) slices: usize,
    /// What all workers of a contender do together in one turn.
    pub(crate) slice_operations: u64,
}

impl Case {
    /// The name with its database.
    pub(crate) fn title(&self) -> String {
        title(self.engine, self.name)
    }
}

/// Every case.
pub(crate) fn all(quick: bool) -> Vec<Case> {
    let (slices, slice_operations) = if quick { (9, 24) } else { (24, 400) };
    let many = if quick { ("replay-1m", 1_000_000) } else { ("replay-10m", 10_000_000) };
    let case = |engine, name, work, workers| Case { engine, name, work, workers, slices, slice_operations };
    let cases = |engine| {
        [
            case(engine, "issue+take/1", Work::IssueAndTake, 1),
            case(engine, "issue+take/8", Work::IssueAndTake, 8),
            case(engine, "replay", Work::Remember, 1),
            case(engine, many.0, Work::RememberAmong(many.1), 1),
        ]
    };
    Engine::ALL.into_iter().flat_map(cases).collect()
}
