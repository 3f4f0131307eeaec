//! The datasets and the bars.
//!
//! Sizes and shapes are those of the measurements that the bars were set by: large enough that a page is a small part
//! of a run, small enough that the data stays in memory, so that the disk's mood does not decide.

use super::Engine;

/// With `--quick` everything is this much smaller.
const QUICK_DIVISOR: u64 = 10;

/// Who takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    /// All at once, by the database itself.
    OneDelete,
    /// Batches of 1,000 rows: a CTE that selects for update and deletes by id, a transaction each.
    PeerLoop,
    /// `--purge --limit 1000 --commit-each`.
    PtArchiver,
    /// The same with `--bulk-delete`.
    PtArchiverBulk,
    /// Ours.
    Bygone,
}

impl Contender {
    /// The name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OneDelete => "one DELETE",
            Self::PeerLoop => "peer's loop",
            Self::PtArchiver => "pt-archiver",
            Self::PtArchiverBulk => "pt-archiver --bulk-delete",
            Self::Bygone => "bygone",
        }
    }
}

/// How the rows lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// In time order: rows (or keys) that are neighbours on disk expire one after the other.
    Ordered,
    /// At random.
    Mixed,
}

/// The least that ours must reach, as a multiple of a peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bar {
    /// The peer.
    pub(crate) peer: Contender,
    /// The multiple; `None` where the peer runs only to be seen.
    pub(crate) ratio_min: Option<f64>,
}

/// One dataset and what must be reached on it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) engine: Engine,
    pub(crate) name: &'static str,
    /// Rows in the table.
    pub(crate) rows: u64,
    /// How many of them are expired.
    pub(crate) expired: u64,
    pub(crate) layout: Layout,
    /// The peers, in the order in which they run.
    pub(crate) bars: Vec<Bar>,
    /// How long a page of ours may take at the 99th percentile.
    pub(crate) page_p99_ms_max: f64,
}

impl Case {
    /// The name with its database.
    pub(crate) fn title(&self) -> String {
        format!("{}/{}", self.engine.as_str(), self.name)
    }

    /// What is left when all that is expired is gone.
    pub(crate) fn live(&self) -> u64 {
        self.rows - self.expired
    }
}

/// Every case.
pub(crate) fn all(quick: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, layout, expired, [one, peer]) in [
        ("append", Layout::Ordered, 1_000_000, [Some(0.9), Some(8.0)]),
        ("scattered", Layout::Mixed, 1_000_000, [Some(0.9), Some(8.0)]),
        ("append-1pct", Layout::Ordered, 20_000, [Some(0.7), None]),
        ("scattered-1pct", Layout::Mixed, 20_000, [Some(0.7), None]),
    ] {
        let bars = vec![bar(Contender::OneDelete, one), bar(Contender::PeerLoop, peer)];
        let engine = Engine::Postgres;
        cases.push(Case { engine, name, rows: 2_000_000, expired, layout, bars, page_p99_ms_max: 50.0 });
    }
    for (name, layout, one) in [("time-ordered", Layout::Ordered, 0.5), ("random", Layout::Mixed, 0.2)] {
        let bars = vec![bar(Contender::OneDelete, Some(one))];
        let engine = Engine::Sqlite;
        cases.push(Case { engine, name, rows: 1_000_000, expired: 500_000, layout, bars, page_p99_ms_max: 50.0 });
    }
    for (name, layout, one) in [("time-ordered", Layout::Ordered, 0.6), ("random", Layout::Mixed, 0.45)] {
        let bars = vec![
            bar(Contender::OneDelete, Some(one)),
            bar(Contender::PtArchiver, Some(8.0)),
            bar(Contender::PtArchiverBulk, Some(1.3)),
        ];
        let engine = Engine::Mariadb;
        cases.push(Case { engine, name, rows: 400_000, expired: 200_000, layout, bars, page_p99_ms_max: 100.0 });
    }
    if quick {
        for case in &mut cases {
            case.rows /= QUICK_DIVISOR;
            case.expired /= QUICK_DIVISOR;
        }
    }
    cases
}

fn bar(peer: Contender, ratio_min: Option<f64>) -> Bar {
    Bar { peer, ratio_min }
}
