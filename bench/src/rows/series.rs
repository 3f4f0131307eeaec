//! The contenders in turn, on equal copies of one dataset.
//!
//! They are interleaved, and each round begins with another one, so that a neighbour that wakes up, a disk that fills
//! its cache or a processor that gets warm disturbs all of them alike.

use std::time::Duration;

use bygone_core::{Clock, SystemClock};

use super::case::{Case, Contender};
use super::ours;
use super::result::{CaseResult, Measured};
use crate::failure::Failure;
use crate::output;
use crate::report::thousands;
use crate::stopwatch::rate;

/// What one contender did on one copy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    /// From the first connection to the last answer.
    pub(crate) time: Duration,
    /// Each committed step, where there are several.
    pub(crate) pages: Vec<Duration>,
    /// Where the time went, for whoever watches.
    pub(crate) phases: Option<String>,
}

impl Run {
    /// A contender that works in one step, or whose steps cannot be seen.
    pub(crate) fn whole(time: Duration) -> Self {
        Self { time, ..Self::default() }
    }
}

/// What a contender left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    /// Rows in the table.
    pub(crate) rows: u64,
    /// Those of them that should be gone.
    pub(crate) due: u64,
}

/// A database with the dataset of a case in it.
pub(crate) trait Bed {
    /// Where the dataset itself is; nobody changes it.
    fn template(&self) -> String;
    /// Makes a copy, warm and at rest, and says where it is.
    async fn copy(&mut self) -> Result<String, Failure>;
    /// Runs a peer on a copy.
    async fn peer(&mut self, peer: Contender, case: &Case, copy: &str) -> Result<Run, Failure>;
    /// Counts what is left in a copy.
    async fn left(&mut self, case: &Case, copy: &str) -> Result<Left, Failure>;
    /// Throws a copy away.
    async fn discard(&mut self, copy: &str) -> Result<(), Failure>;
    /// Whether this peer can take part here.
    fn has(&self, _peer: Contender) -> bool {
        true
    }
    /// What else is worth knowing of this case, from runs that nobody times.
    async fn remarks(&mut self, _case: &Case) -> Result<Vec<String>, Failure> {
        Ok(Vec::new())
    }
}

/// Runs every contender `runs` times.
pub(crate) async fn measure(bed: &mut impl Bed, case: &Case, runs: usize) -> Result<CaseResult, Failure> {
    let mut contenders: Vec<Contender> = case.bars.iter().map(|bar| bar.peer).filter(|peer| bed.has(*peer)).collect();
    contenders.push(Contender::Bygone);
    let plan = ours::plan(&bed.template(), case.work).await?;
    output::talk(&format!("{}: {plan}", case.title()));
    let mut measured: Vec<Measured> = contenders.iter().map(|contender| Measured::new(*contender)).collect();
    for round in 0..runs {
        for turn in 0..contenders.len() {
            let at = (turn + round) % contenders.len();
            let run = one_run(bed, case, contenders[at]).await?;
            talk_of(case, contenders[at], round, &run);
            measured[at].add(case.expired, run);
        }
    }
    let remarks = bed.remarks(case).await?;
    Ok(CaseResult::new(case.clone(), measured, plan, remarks))
}

/// One contender on one copy, from making the copy to proving that it did the work.
async fn one_run(bed: &mut impl Bed, case: &Case, contender: Contender) -> Result<Run, Failure> {
    let copy = bed.copy().await?;
    let run = match contender {
        Contender::Bygone => ours::sweep(&copy, case.work, case.workers).await?,
        peer => bed.peer(peer, case, &copy).await?,
    };
    let left = bed.left(case, &copy).await?;
    let expected = Left { rows: case.live(), due: 0 };
    if left != expected {
        let (title, name) = (case.title(), contender.name());
        return Err(format!("{title}: after {name} {left:?} is left, and not {expected:?}").into());
    }
    bed.discard(&copy).await?;
    Ok(run)
}

fn talk_of(case: &Case, contender: Contender, round: usize, run: &Run) {
    let rate = thousands(rate(case.expired, run.time));
    let phases = run.phases.as_ref().map(|phases| format!(" ({phases})")).unwrap_or_default();
    let (title, name, round) = (case.title(), contender.name(), round + 1);
    output::talk(&format!("{title}, run {round}, {name}: {rate} rows/s in {:.3} s{phases}", run.time.as_secs_f64()));
}

/// Now, in UTC, as every database here reads it: what peers compare a deadline with.
pub(crate) fn now_text() -> String {
    SystemClock::new().now().strftime("%Y-%m-%d %H:%M:%S").to_string()
}
