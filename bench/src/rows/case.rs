//! The datasets and the bars.
//!
//! Sizes and shapes are those of the measurements that the bars were set by: large enough that a page is a small part
//! of a run, small enough that the data stays in memory, so that the disk's mood does not decide.

use std::num::NonZeroUsize;

use crate::choice::title;
use crate::engine::Engine;

/// With `--quick` everything is this much smaller.
const QUICK_DIVISOR: u64 = 20;

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
    pub(crate) bench: &'static str,
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
    /// How many of ours work side by side.
    pub(crate) workers: NonZeroUsize,
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

fn sized(mut cases: Vec<Case>, quick: bool) -> Vec<Case> {
    if quick {
        for case in &mut cases {
            case.rows /= QUICK_DIVISOR;
            case.expired /= QUICK_DIVISOR;
        }
    }
    cases
}

/// Sessions of an auth server, for a bench of their own.
pub(crate) fn sessions(quick: bool) -> Vec<Case> {
    let case = |name, work, rows, expired, bar_min| Case {
        bench: "mas",
        engine: Engine::Postgres,
        name,
        rows,
        expired,
        layout: Layout::Ordered,
        work,
        bars: vec![bar(Contender::PeerLoop, bar_min)],
        page_p99_ms_max: 50.0,
        workers: NonZeroUsize::MIN,
    };
    let cases = vec![
        case("finished-sessions", Work::Sessions, 1_000_000, 500_000, Some(3.0)),
        case("user-sessions", Work::Browsers, 1_000_000, 500_000, Some(3.0)),
        case("stuck-user-sessions", Work::StuckBrowsers, 100_000, 100_000, None),
    ];
    sized(cases, quick)
}

/// Expired tokens.
pub(crate) fn tokens(quick: bool) -> Vec<Case> {
    sized([postgres(), sqlite(), mariadb()].concat(), quick)
}

/// Expired tokens of which some are left for as long as others work beside whoever removes them.
pub(crate) fn beside_others(quick: bool) -> Case {
    let case = tokens_of(Engine::Postgres, "beside-others", 4_000_000, 3_000_000, Layout::Ordered, Vec::new());
    let (rows, expired) = if quick { (450_000, 400_000) } else { (case.rows, case.expired) };
    Case { bench: "harm", rows, expired, ..case }
}

/// Tokens of a database. Who wants other bounds says so.
fn tokens_of(engine: Engine, name: &'static str, rows: u64, expired: u64, layout: Layout, bars: Vec<Bar>) -> Case {
    let (bench, work, workers) = ("rows", Work::Tokens, NonZeroUsize::MIN);
    Case { bench, engine, name, rows, expired, layout, work, bars, page_p99_ms_max: 50.0, workers }
}

fn postgres() -> Vec<Case> {
    let case = |name, layout, expired, bars| tokens_of(Engine::Postgres, name, 2_000_000, expired, layout, bars);
    let beside = |one, peer| vec![bar(Contender::OneDelete, Some(one)), bar(Contender::PeerLoop, peer)];
    let two = |name, layout| Case {
        workers: NonZeroUsize::MIN.saturating_add(1),
        ..case(name, layout, 1_000_000, vec![bar(Contender::OneDelete, Some(1.3))])
    };
    vec![
        case("append", Layout::Ordered, 1_000_000, beside(0.9, Some(8.0))),
        case("scattered", Layout::Mixed, 1_000_000, beside(0.9, Some(8.0))),
        case("append-1pct", Layout::Ordered, 20_000, beside(0.7, None)),
        case("scattered-1pct", Layout::Mixed, 20_000, beside(0.7, None)),
        two("append-2-workers", Layout::Ordered),
        two("scattered-2-workers", Layout::Mixed),
    ]
}

fn sqlite() -> Vec<Case> {
    let case = |name, layout, one| {
        tokens_of(Engine::Sqlite, name, 1_000_000, 500_000, layout, vec![bar(Contender::OneDelete, Some(one))])
    };
    vec![case("time-ordered", Layout::Ordered, 0.5), case("random", Layout::Mixed, 0.2)]
}

fn mariadb() -> Vec<Case> {
    let case = |name, layout, one| {
        let bars = vec![
            bar(Contender::OneDelete, Some(one)),
            bar(Contender::PtArchiver, Some(8.0)),
            bar(Contender::PtArchiverBulk, Some(1.3)),
        ];
        let tokens = tokens_of(Engine::Mariadb, name, 400_000, 200_000, layout, bars);
        Case { page_p99_ms_max: 100.0, ..tokens }
    };
    vec![case("time-ordered", Layout::Ordered, 0.6), case("random", Layout::Mixed, 0.45)]
}

fn bar(peer: Contender, ratio_min: Option<f64>) -> Bar {
    Bar { peer, ratio_min }
}
