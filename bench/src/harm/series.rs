//! Rounds: each contender on a copy of its own, with the foreground alone before and after it.
//!
//! The foreground wanders with the machine by more than what is measured. So nothing is compared with a figure of another
//! minute: what it does beside a contender stands against what it did just before and just after, in the same copy.

use std::path::PathBuf;
use std::time::Duration;

use bygone_core::{CancellationToken, Clock, SystemClock};
use jiff::Timestamp;

use super::contender::Contender;
use super::foreground::{Foreground, Load, Transaction, Window};
use crate::failure::Failure;
use crate::output;
use crate::report::thousands;
use crate::rows::case::Case;
use crate::rows::postgres::PostgresBed;
use crate::rows::series::Bed;
use crate::stopwatch::rate;

/// Until connections are made and the first plans are there.
const WARM_UP: Duration = Duration::from_secs(1);

/// How long the phases last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) alone: Duration,
    /// At the most; shorter where nothing is left.
    pub(super) beside: Duration,
}

/// What a contender did, and what that did to the foreground.
#[derive(Clone, Copy, Debug)]
pub(super) struct Harm {
    pub(super) alone: Load,
    pub(super) beside: Load,
    /// Removed, a second.
    pub(super) rows: f64,
}

/// Where it happens.
pub(super) struct Ground {
    pub(super) bed: PostgresBed,
    pub(super) case: Case,
    pub(super) pgbench: PathBuf,
    pub(super) times: Times,
}

/// A phase with all that the foreground did in it.
struct Phase {
    window: Window,
    transactions: Vec<Transaction>,
}

impl Ground {
    /// Every contender `rounds` times, in turn; each round begins with another one.
    pub(super) async fn measure(&mut self, contenders: &[Contender], rounds: usize) -> Result<Vec<Vec<Harm>>, Failure> {
        let mut all = vec![Vec::new(); contenders.len()];
        for round in 0..rounds {
            for turn in 0..contenders.len() {
                let at = (turn + round) % contenders.len();
                let harm = self.turn(&contenders[at]).await?;
                output::talk(&format!(
                    "round {}, {}: {} rows/s; foreground {} -> {} tps, p99 {:.2} -> {:.2} ms",
                    round + 1,
                    contenders[at].name(),
                    thousands(harm.rows),
                    thousands(harm.alone.tps),
                    thousands(harm.beside.tps),
                    harm.alone.p99_ms,
                    harm.beside.p99_ms,
                ));
                all[at].push(harm);
            }
        }
        Ok(all)
    }

    async fn turn(&mut self, contender: &Contender) -> Result<Harm, Failure> {
        let copy = self.bed.copy().await?;
        let before = self.alone(&copy).await?;
        let (beside, rows) = self.beside(&copy, contender).await?;
        let after = self.alone(&copy).await?;
        let left = self.bed.left(&self.case, &copy).await?;
        if left.due + rows != self.case.expired || left.rows < self.case.live() {
            let (name, expired) = (contender.name(), self.case.expired);
            return Err(format!("{name} says that it removed {rows} of {expired} rows, and {left:?} is left").into());
        }
        self.bed.discard(&copy).await?;
        let time = Duration::try_from(beside.window.until.duration_since(beside.window.from))?;
        Ok(Harm {
            alone: Load::within(&[(before.window, &before.transactions), (after.window, &after.transactions)])?,
            beside: Load::within(&[(beside.window, &beside.transactions)])?,
            rows: rate(rows, time),
        })
    }

    async fn alone(&self, url: &str) -> Result<Phase, Failure> {
        let time = WARM_UP + self.times.alone;
        let began = now();
        let transactions = Foreground::start(&self.pgbench, url, &self.case, time)?.transactions().await?;
        Ok(Phase { window: Window { from: began + WARM_UP, until: began + time }, transactions })
    }

    /// The contender begins in the middle of it, and ends before it does, unless it cannot be stopped.
    async fn beside(&self, url: &str, contender: &Contender) -> Result<(Phase, u64), Failure> {
        let clock = SystemClock::new();
        let foreground = Foreground::start(&self.pgbench, url, &self.case, WARM_UP * 2 + self.times.beside)?;
        clock.sleep(WARM_UP).await;
        let cancel = CancellationToken::new();
        let from = now();
        let removed = async {
            let rows = contender.remove(url, cancel.clone()).await;
            (rows, now())
        };
        let limit = async {
            clock.sleep(self.times.beside).await;
            cancel.cancel();
        };
        let mut removed = std::pin::pin!(removed);
        let (rows, until) = tokio::select! {
            done = &mut removed => done,
            () = limit => removed.await,
        };
        let transactions = foreground.transactions().await?;
        Ok((Phase { window: Window { from, until }, transactions }, rows?))
    }
}

fn now() -> Timestamp {
    SystemClock::new().now()
}
