//! What grows, and how much of it there is.

use crate::engine::Engine;

/// What grows, while all else stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Rows that are due, beside as good as none that live.
    Backlog,
    /// Rows that live, beside as many that are due.
    Live,
    /// Policies of one sweep, each over a small table of its own.
    Policies,
}

impl Kind {
    /// The name in reports.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Backlog => "backlog",
            Self::Live => "live",
            Self::Policies => "policies",
        }
    }

    /// What is counted.
    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Backlog => "µs/row",
            Self::Live => "ms",
            Self::Policies => "ms/policy",
        }
    }

    /// How many of those units a sweep of so many seconds took.
    pub(super) fn cost(self, seconds: f64, size: f64) -> f64 {
        match self {
            Self::Backlog => seconds * 1e6 / size,
            Self::Live => seconds * 1e3,
            Self::Policies => seconds * 1e3 / size,
        }
    }

    /// The other way round: how long it took, in seconds.
    pub(super) fn seconds(self, cost: f64, size: f64) -> f64 {
        cost / self.cost(1.0, size)
    }
}

/// Rows that are due where the living grow.
pub(super) const DUE_BESIDE_LIVE: u64 = 10_000;
/// Rows that live where the backlog grows.
pub(super) const LIVE_BESIDE_BACKLOG: u64 = 10_000;
/// Rows of each of many tables, half of them due.
pub(super) const ROWS_OF_A_TABLE: u64 = 40;

/// One thing that grows on one database.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) engine: Engine,
    pub(super) kind: Kind,
    /// From the smallest on.
    pub(super) sizes: Vec<u64>,
    /// What times are compared with: before it the start of the program is most of them.
    pub(super) time_base: u64,
    /// For the largest: so much of the time, and of the memory, of the smaller at the most.
    pub(super) time_max: f64,
    pub(super) memory_max: Option<f64>,
}

impl Case {
    /// What memory is compared with.
    pub(super) fn memory_base(&self) -> u64 {
        self.sizes[0]
    }

    /// Rows of a table of this size: due, and all.
    pub(super) fn rows(&self, size: u64) -> (u64, u64) {
        match self.kind {
            Kind::Backlog => (size, size + LIVE_BESIDE_BACKLOG),
            Kind::Live => (DUE_BESIDE_LIVE, size + DUE_BESIDE_LIVE),
            Kind::Policies => (ROWS_OF_A_TABLE / 2, ROWS_OF_A_TABLE),
        }
    }

    /// Tables, a policy for each.
    pub(super) fn tables(&self, size: u64) -> u64 {
        if self.kind == Kind::Policies { size } else { 1 }
    }
}

/// Every case.
pub(super) fn all(quick: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for (engine, most) in [(Engine::Postgres, 10_000_000), (Engine::Sqlite, 1_000_000)] {
        let most = if quick { 100_000 } else { most };
        let up_to = |from: u64, most: u64| {
            let next = move |size: &u64| Some(size * 10).filter(|size| *size <= most);
            std::iter::successors(Some(from), next).collect::<Vec<_>>()
        };
        let policies = if quick { vec![1, 100] } else { vec![1, 100, 1_000] };
        let (backlog, live) = (up_to(10_000, most), up_to(if quick { 10_000 } else { 100_000 }, most));
        let time_base = |sizes: &[u64]| sizes[usize::from(sizes.len() > 2)];
        cases.extend([
            Case {
                engine,
                kind: Kind::Backlog,
                time_base: time_base(&backlog),
                sizes: backlog,
                time_max: 1.5,
                memory_max: Some(1.3),
            },
            Case { engine, kind: Kind::Live, time_base: live[0], sizes: live, time_max: 2.0, memory_max: Some(1.3) },
            Case {
                engine,
                kind: Kind::Policies,
                time_base: time_base(&policies),
                sizes: policies,
                time_max: 1.5,
                memory_max: None,
            },
        ]);
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_that_were_asked_for() {
        let sizes: Vec<(Engine, Kind, Vec<u64>, u64)> =
            all(false).into_iter().map(|case| (case.engine, case.kind, case.sizes, case.time_base)).collect();
        let expected = [
            (Engine::Postgres, Kind::Backlog, vec![10_000, 100_000, 1_000_000, 10_000_000], 100_000),
            (Engine::Postgres, Kind::Live, vec![100_000, 1_000_000, 10_000_000], 100_000),
            (Engine::Postgres, Kind::Policies, vec![1, 100, 1_000], 100),
            (Engine::Sqlite, Kind::Backlog, vec![10_000, 100_000, 1_000_000], 100_000),
            (Engine::Sqlite, Kind::Live, vec![100_000, 1_000_000], 100_000),
            (Engine::Sqlite, Kind::Policies, vec![1, 100, 1_000], 100),
        ];
        assert_eq!(sizes, expected);
    }

    #[test]
    fn a_cost_tells_its_time() {
        for kind in [Kind::Backlog, Kind::Live, Kind::Policies] {
            let seconds = kind.seconds(kind.cost(7.5, 1_000.0), 1_000.0);
            assert!((seconds - 7.5).abs() < 1e-9, "{kind:?}: {seconds}");
        }
    }
}
