//! The contenders in turn, on equal data.
//!
//! They are interleaved, and each round begins with another one, so that a neighbour that wakes up disturbs all of them
//! alike. What is timed is the work alone; making the data before it and proving the result after it is not.
//!
//! Nothing is cleared away between the turns of a round. ext4 does not give an inode out again for a minute after it was
//! freed, and until then looks past it at every new file: whoever comes after a great removal would make files several
//! times more slowly than who came before it.

use super::case::{Case, Contender};
use super::effort::{Effort, measured};
use super::ground::Ground;
use super::result::{CaseResult, Measured};
use crate::failure::Failure;
use crate::output;
use crate::report::thousands;
use crate::stopwatch::rate;

/// The data of a case, and what is done with it.
pub(crate) trait Bed {
    /// How it is kept alike for all, in one line.
    fn conditions(&self) -> String;
    /// The versions of what takes part.
    fn versions(&self) -> Result<Vec<String>, Failure>;
    /// Makes what the turns of a round need, so that none of them pays for what another one removed.
    fn begin_round(&mut self) -> Result<(), Failure>;
    /// Makes everything ready for a turn.
    fn prepare(&mut self, contender: Contender) -> Result<(), Failure>;
    /// The turn itself. Says where its time went, if it knows.
    fn work(&mut self, contender: Contender) -> Result<Option<String>, Failure>;
    /// Proves that everything was done and nothing else.
    fn prove(&mut self, contender: Contender) -> Result<(), Failure>;
    /// Clears away what the next round must not find; there may be none.
    fn end_round(&mut self, is_last: bool) -> Result<(), Failure>;
}

/// Gives every contender `runs` times its turns.
pub(crate) fn measure(ground: &Ground, bed: &mut dyn Bed, case: &Case, runs: usize) -> Result<CaseResult, Failure> {
    let contenders = case.contenders();
    let mut all: Vec<Measured> = contenders.iter().map(|contender| Measured::new(*contender)).collect();
    let rounds = runs * case.turns;
    for round in 0..rounds {
        bed.begin_round()?;
        for turn in 0..contenders.len() {
            ground.go_on()?;
            let at = (turn + round) % contenders.len();
            let contender = contenders[at];
            bed.prepare(contender)?;
            let (phases, effort) = measured(|| bed.work(contender))?;
            let proved = bed.prove(contender);
            proved.map_err(|failure| format!("after {}: {failure}", contender.name()))?;
            talk_of(case, contender, round, &effort, phases.as_deref());
            all[at].add(case.amount(), effort);
        }
        bed.end_round(round + 1 == rounds)?;
    }
    Ok(CaseResult::new(case.clone(), all, bed.conditions()))
}

fn talk_of(case: &Case, contender: Contender, round: usize, effort: &Effort, phases: Option<&str>) {
    let rate = thousands(rate(case.amount(), effort.time));
    let (time, cpu) = (effort.time.as_secs_f64(), effort.cpu.as_secs_f64());
    let phases = phases.map(|phases| format!(" ({phases})")).unwrap_or_default();
    let (case, name, round, unit) = (case.as_str(), contender.name(), round + 1, case.unit());
    output::talk(&format!(
        "{case}, round {round}, {name}: {rate} {unit} in {time:.3} s, processors {cpu:.2} s{phases}"
    ));
}
