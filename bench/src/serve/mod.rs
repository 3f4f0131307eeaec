//! The daemon's answers, where it looks after a thousand policies, and its leases.
//!
//! Scrapes have no peer: what is asked for is a time. Whoever scrapes does so again and again, and a console asks for all
//! policies each time it is looked at; neither may hold the daemon up. Requests of both kinds take turns over one
//! connection of the loopback interface, each answered in full before the next.

pub(crate) mod connection;
mod estate;
mod household;
mod leases;

use std::time::Duration;

use clap::Args;

use self::connection::Connection;
use self::household::Household;
use crate::account::Account;
use crate::crowd::race;
use crate::failure::Failure;
use crate::report::Comparison;
use crate::statistics::percentile_ms;
use crate::stopwatch::Stopwatch;
use crate::{Common, output, report};

const BENCH: &str = "serve";
const POLICIES: usize = 1_000;
/// The longest that an answer may take.
const LIMIT_MS: f64 = 50.0;

/// How often to ask.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Rounds: one request of each kind.
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
}

/// What is asked for, and how long each answer took.
struct Asked {
    case: &'static str,
    path: &'static str,
    bytes: usize,
    times: Vec<Duration>,
}

impl Asked {
    fn new(case: &'static str, path: &'static str) -> Self {
        Self { case, path, bytes: 0, times: Vec::new() }
    }

    async fn ask(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        let watch = Stopwatch::start();
        self.bytes = connection.get(self.path).await?.len();
        self.times.push(watch.time());
        Ok(())
    }

    fn wait_ms(&self, percent: usize) -> f64 {
        percentile_ms(&self.times, percent).unwrap_or_default()
    }

    fn comparisons(&self) -> [Comparison; 2] {
        [("p50", 50), ("p99", 99)]
            .map(|(what, percent)| Comparison::within_ms(BENCH, self.case, what, self.wait_ms(percent), LIMIT_MS))
    }

    fn row(&self) -> Vec<String> {
        let [p50, p99] = self.comparisons();
        vec![
            self.case.to_owned(),
            format!("{} KiB", self.bytes / 1_024),
            format!("{:.1}", p50.ours),
            format!("**{:.1}**", p99.ours),
            format!("p99 <= {LIMIT_MS} ms"),
            p99.verdict().to_owned(),
        ]
    }
}

/// Runs the bench and prints what it found.
pub(crate) async fn run(options: &Options, common: Common) -> Result<(), Failure> {
    let rounds = options.rounds.unwrap_or(if common.quick { 40 } else { 300 });
    let household = Household::new(POLICIES).await?;
    let mut all = [Asked::new("metrics/1000", "/metrics"), Asked::new("policies/1000", "/api/v1/policies")];
    let mut connection = household.connect().await?;
    for round in 0..rounds + rounds.div_ceil(10) {
        for asked in &mut all {
            asked.ask(&mut connection).await?;
            // The first ones warm up.
            if round < rounds.div_ceil(10) {
                asked.times.clear();
            }
        }
    }
    let (races, versions) = leases::measure(&household, common.quick).await?;
    household.end().await;
    let comparisons: Vec<Comparison> = all.iter().flat_map(Asked::comparisons).collect();
    let mut account = Account::new(common);
    account.add(comparisons.clone())?;
    account.add(race::comparisons(&races, &[]))?;
    if account.close(&versions)? {
        let rows: Vec<Vec<String>> = all.iter().map(Asked::row).collect();
        report::print_table(&["case", "answer", "p50 ms", "p99 ms", "bar", ""], &rows);
        report::print_verdict(&comparisons);
        output::data("");
        race::print(&races, &[]);
    }
    Ok(())
}
