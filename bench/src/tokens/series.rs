//! The contenders in turn, in slices of a fraction of a second.
//!
//! What a commit costs wanders with the disk and its other users, by more than what is measured here. So the turns are
//! short, each round begins with another contender, and the medians of many turns are compared.

use std::mem;

use async_trait::async_trait;
use bygone_sql::{Client, ClientOptions, SourceUrl};
use bygone_tokens::{Naming, ddl};

use super::case::{Case, FEW_LIVE, Work};
use super::result::CaseResult;
use super::{client, ours};
use crate::failure::Failure;
use crate::output;
use crate::report::thousands;
use crate::statistics::median;
use crate::stopwatch::{Stopwatch, rate};

/// One of those that work at once.
#[async_trait]
pub(crate) trait Worker: Send {
    /// Does this so often, one after the other.
    async fn work(&mut self, operations: u64) -> Result<(), Failure>;
}

/// What is done again and again.
#[async_trait]
pub(crate) trait Operation: Send {
    /// Does it once.
    async fn once(&mut self) -> Result<(), Failure>;
}

/// Works by an operation, from a task that does not block.
pub(crate) struct Each<O>(pub(crate) O);

#[async_trait]
impl<O: Operation> Worker for Each<O> {
    async fn work(&mut self, operations: u64) -> Result<(), Failure> {
        for _ in 0..operations {
            self.0.once().await?;
        }
        Ok(())
    }
}

/// All workers of a contender.
pub(crate) type Workers = Vec<Box<dyn Worker>>;

/// A contender, and how quick it was in each of its turns.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    /// The least that ours must reach of it; `None` for ours, and for who runs only to be seen.
    pub(crate) bar: Option<f64>,
    workers: Workers,
    rates: Vec<f64>,
}

impl Contender {
    fn new(name: &'static str, bar: Option<f64>, workers: Workers) -> Self {
        Self { name, bar, workers, rates: Vec::new() }
    }

    /// The median of all turns.
    pub(crate) fn rate(&self) -> f64 {
        median(&self.rates)
    }

    /// All workers at once, until the last of them is done.
    async fn turn(&mut self, operations: u64) -> Result<f64, Failure> {
        let each = operations / self.workers.len() as u64;
        let count = each * self.workers.len() as u64;
        let watch = Stopwatch::start();
        let tasks: Vec<_> = mem::take(&mut self.workers)
            .into_iter()
            .map(|mut worker| tokio::spawn(async move { worker.work(each).await.map(|()| worker) }))
            .collect();
        for task in tasks {
            self.workers.push(task.await??);
        }
        Ok(rate(count, watch.time()))
    }
}

/// The tables of a contender, by what their names begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tables {
    Ours,
    Client,
    Bare,
    Many,
    Few,
}

impl Tables {
    /// All of them.
    pub(crate) const ALL: [Self; 5] = [Self::Ours, Self::Client, Self::Bare, Self::Many, Self::Few];

    /// The prefix.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::Ours => "ours_",
            Self::Client => "client_",
            Self::Bare => "bare_",
            Self::Many => "many_",
            Self::Few => "few_",
        }
    }
}

/// A database to work in.
pub(crate) trait Bed {
    /// The peer that has nothing between it and the driver.
    const BARE: &'static str;
    /// Where these tables are.
    fn url(&self, tables: Tables) -> String;
    /// Workers with the bare driver.
    async fn bare(&self, case: &Case) -> Result<Workers, Failure>;
    /// Lets so many `jti`s live in these tables.
    async fn fill(&mut self, tables: Tables, rows: u64) -> Result<(), Failure>;
    /// Lets the database finish what earlier work has left it to do.
    async fn come_to_rest(&mut self) -> Result<(), Failure>;
}

/// Runs the cases, one after the other.
pub(crate) async fn measure_all<B: Bed>(bed: &mut B, cases: &[Case], runs: usize) -> Result<Vec<CaseResult>, Failure> {
    for tables in Tables::ALL {
        make(bed.url(tables), tables).await?;
    }
    let mut results = Vec::new();
    for case in cases {
        results.push(measure(bed, case, runs).await?);
    }
    Ok(results)
}

/// All contenders have tables of the same statements.
async fn make(url: String, tables: Tables) -> Result<(), Failure> {
    let url = SourceUrl::parse(&url)?;
    let naming = Naming::new(url.engine(), None, Some(tables.prefix().to_owned()))?;
    let mut transaction = Client::open(ClientOptions::new(url)).await?.begin().await?;
    for statement in ddl(&naming) {
        transaction.run(&statement).await?;
    }
    transaction.commit().await?;
    Ok(())
}

async fn contenders<B: Bed>(bed: &mut B, case: &Case) -> Result<Vec<Contender>, Failure> {
    let bar = Some(case.work.bar());
    if let Work::RememberAmong(many) = case.work {
        for (tables, rows) in [(Tables::Many, many), (Tables::Few, FEW_LIVE)] {
            output::talk(&format!("{}: letting {rows} live", case.title()));
            bed.fill(tables, rows).await?;
        }
        let few = ours::workers(&bed.url(Tables::Few), Tables::Few, case).await?;
        let many = ours::workers(&bed.url(Tables::Many), Tables::Many, case).await?;
        return Ok(vec![Contender::new("bygone", None, many), Contender::new("100 thousand live", bar, few)]);
    }
    Ok(vec![
        Contender::new("bygone", None, ours::workers(&bed.url(Tables::Ours), Tables::Ours, case).await?),
        Contender::new(B::BARE, bar, bed.bare(case).await?),
        Contender::new("bygone-sql's client", None, client::workers(&bed.url(Tables::Client), case).await?),
    ])
}

async fn measure<B: Bed>(bed: &mut B, case: &Case, runs: usize) -> Result<CaseResult, Failure> {
    let mut contenders = contenders(bed, case).await?;
    bed.come_to_rest().await?;
    // The first turn connects and prepares.
    for contender in &mut contenders {
        contender.turn(case.slice_operations).await?;
    }
    for round in 0..runs.max(1) * case.slices {
        for turn in 0..contenders.len() {
            let at = (turn + round) % contenders.len();
            let rate = contenders[at].turn(case.slice_operations).await?;
            contenders[at].rates.push(rate);
        }
    }
    for contender in &contenders {
        let (title, name, unit) = (case.title(), contender.name, case.work.unit());
        output::talk(&format!("{title}, {name}: {} {unit}", thousands(contender.rate())));
    }
    Ok(CaseResult::new(case.clone(), contenders))
}
