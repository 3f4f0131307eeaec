//! The datasets and the bars.
//!
//! Sizes and shapes are those of the measurements that the bars were set by: large enough that a page is a small part
//! of a run, small enough that the data stays in memory, so that the disk's mood does not decide.

use crate::choice::title;
use crate::engine::Engine;

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

/// What is swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Expired tokens, which nothing hangs on.
    Tokens,
    /// Finished sessions of applications, with their access and refresh tokens.
    Sessions,
    /// Finished sessions of browsers, with their authentications, unless a session of an application points at them.
    Browsers,
    /// The same where one always does: there is nothing to remove.
    StuckBrowsers,
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
    pub(crate) work: Work,
    /// The peers, in the order in which they run.
    pub(crate) bars: Vec<Bar>,
    /// How long a page of ours may take at the 99th percentile.
    pub(crate) page_p99_ms_max: f64,
}

impl Case {
    /// The name with its database.
    pub(crate) fn title(&self) -> String {
        title(self.engine, self.name)
    }

    /// What is left when all that is expired is gone.
    pub(crate) fn live(&self) -> u64 {
        if self.work == Work::StuckBrowsers { self.rows } else { self.rows - self.expired }
    }
}

/// Every case; with `mas` those of an auth server's sessions instead.
pub(crate) fn all(quick: bool, mas: bool) -> Vec<Case> {
    let mut cases = if mas { sessions() } else { tokens() };
    if quick {
        for case in &mut cases {
            case.rows /= QUICK_DIVISOR;
            case.expired /= QUICK_DIVISOR;
        }
    }
    cases
}

fn sessions() -> Vec<Case> {
    let case = |name, work, rows, expired, bar_min| Case {
        engine: Engine::Postgres,
        name,
        rows,
        expired,
        layout: Layout::Ordered,
        work,
        bars: vec![bar(Contender::PeerLoop, bar_min)],
        page_p99_ms_max: 50.0,
    };
    vec![
        case("finished-sessions", Work::Sessions, 1_000_000, 500_000, Some(3.0)),
        case("user-sessions", Work::Browsers, 1_000_000, 500_000, Some(3.0)),
        case("stuck-user-sessions", Work::StuckBrowsers, 100_000, 100_000, None),
    ]
}

fn tokens() -> Vec<Case> {
    let (mut cases, work) = (Vec::new(), Work::Tokens);
    for (name, layout, expired, [one, peer]) in [
        ("append", Layout::Ordered, 1_000_000, [Some(0.9), Some(8.0)]),
        ("scattered", Layout::Mixed, 1_000_000, [Some(0.9), Some(8.0)]),
        ("append-1pct", Layout::Ordered, 20_000, [Some(0.7), None]),
        ("scattered-1pct", Layout::Mixed, 20_000, [Some(0.7), None]),
    ] {
        let bars = vec![bar(Contender::OneDelete, one), bar(Contender::PeerLoop, peer)];
        let engine = Engine::Postgres;
        cases.push(Case { engine, name, rows: 2_000_000, expired, layout, work, bars, page_p99_ms_max: 50.0 });
    }
    for (name, layout, one) in [("time-ordered", Layout::Ordered, 0.5), ("random", Layout::Mixed, 0.2)] {
        let bars = vec![bar(Contender::OneDelete, Some(one))];
        let engine = Engine::Sqlite;
        cases.push(Case { engine, name, rows: 1_000_000, expired: 500_000, layout, work, bars, page_p99_ms_max: 50.0 });
    }
    for (name, layout, one) in [("time-ordered", Layout::Ordered, 0.6), ("random", Layout::Mixed, 0.45)] {
        let bars = vec![
            bar(Contender::OneDelete, Some(one)),
            bar(Contender::PtArchiver, Some(8.0)),
            bar(Contender::PtArchiverBulk, Some(1.3)),
        ];
        let engine = Engine::Mariadb;
        cases.push(Case { engine, name, rows: 400_000, expired: 200_000, layout, work, bars, page_p99_ms_max: 100.0 });
    }
    cases
}

fn bar(peer: Contender, ratio_min: Option<f64>) -> Bar {
    Bar { peer, ratio_min }
}
