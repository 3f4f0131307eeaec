//! Leases beside the locks that people keep in Redis and etcd.
//!
//! Everybody answers only when the disk has it. Ours is a library in the process that asks, which is how it is meant to be
//! used; the others are servers on the loopback interface, which is how they are. The last case has no peer: leases that
//! nobody gave back are swept by the engine, and a rate is asked for.

pub(crate) mod case;
pub(crate) mod etcd;
pub(crate) mod ours;
pub(crate) mod redis;
mod sweep;

use bygone_lease::LeaseStore;
use bygone_testkit::{Etcd, Redis};
use clap::Args;

use self::case::Case;
use self::ours::Names;
use crate::account::Account;
use crate::crowd::race::{self, Alone, Race};
use crate::crowd::{Contender, Until};
use crate::failure::Failure;
use crate::report::thousands;
use crate::statistics::median;
use crate::{Common, disk, output, server};

const BENCH: &str = "leases";

/// Which cases to run, and how often.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only cases whose name begins so: `cycle`, `cycle/64`, `sweep`.
    #[arg(long, value_name = "NAME")]
    case: Option<String>,
    /// Runs of each case, whose turns count together.
    #[arg(long, value_name = "N", default_value_t = 1)]
    runs: usize,
}

/// Runs the bench and prints what it found.
pub(crate) async fn run(options: &Options, common: Common) -> Result<(), Failure> {
    let is_chosen = |name: &str| options.case.as_deref().is_none_or(|chosen| name.starts_with(chosen));
    let cases: Vec<Case> = case::all(common.quick).into_iter().filter(|case| is_chosen(case.name)).collect();
    let sweep = Some(case::sweep(common.quick)).filter(|sweep| is_chosen(sweep.name));
    if cases.is_empty() && sweep.is_none() {
        return Err("no case has this name; there are cycle/1, cycle/8, cycle/64, new-keys/64, sweep".into());
    }
    let (directory, runs) = (disk::directory()?, options.runs.max(1));
    let (mut versions, mut races) = (vec![disk::describe(&directory)?], Vec::new());
    if !cases.is_empty() {
        let (redis, redis_version) = server::redis::start().await?;
        let (etcd, etcd_version) = server::etcd::start().await?;
        versions.extend([redis_version, etcd_version]);
        let bed = Bed { store: ours::open(&directory.path().join("leases")).await?, redis, etcd };
        for case in cases {
            races.push(bed.measure(case, runs).await?);
        }
    }
    let mut alone = Vec::new();
    if let Some(case) = sweep {
        let rate = median(&sweep::measure(case, runs, directory.path()).await?);
        alone.push(Alone { bench: BENCH, case: case.name, unit: "leases/s", rate, rate_min: case.rate_min });
    }
    let mut account = Account::new(common);
    account.add(race::comparisons(&races, &alone))?;
    if account.close(&versions)? {
        race::print(&races, &alone);
    }
    Ok(())
}

/// Everybody who takes part.
struct Bed {
    store: LeaseStore,
    redis: Redis,
    etcd: Etcd,
}

impl Bed {
    async fn measure(&self, case: Case, runs: usize) -> Result<Race, Failure> {
        let (names, count) = (Names::new(case.keys), case.clients);
        let mut all = [
            Contender::new("bygone", ours::clients(&self.store, &names, count)?),
            Contender::new("Redis", redis::clients(&self.redis, &names, count).await?),
            Contender::new("etcd", etcd::clients(&self.etcd, &names, count).await?),
        ];
        for contender in &mut all {
            contender.turn(Until::Over(case.turn / 2)).await?;
            contender.forget();
        }
        for round in 0..runs * case.turns {
            for turn in 0..all.len() {
                let at = (turn + round) % all.len();
                all[at].turn(Until::Over(case.turn)).await?;
            }
        }
        for contender in &all {
            let (name, rate, p99) = (contender.name, thousands(contender.rate()), contender.wait_ms(99));
            output::talk(&format!("{}, {name}: {rate} cycles/s, p99 {p99:.2} ms", case.name));
        }
        let [ours, redis, etcd] = all;
        let [redis_bar, etcd_bar] = case.bars;
        let peers = vec![(redis, redis_bar), (etcd, etcd_bar)];
        Ok(Race { bench: BENCH, case: case.name, unit: "cycles/s", ours, peers })
    }
}
